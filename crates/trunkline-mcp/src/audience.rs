use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

/// The clients that are told when there are other tools.
#[derive(Debug, Default)]
pub(crate) struct Audience(Mutex<Vec<Weak<Notify>>>);

impl Audience {
    /// Tells all clients that are still there. Whoever has not read it yet is told once.
    pub(crate) fn tell(&self) {
        for member in self.members().iter().filter_map(Weak::upgrade) {
            member.notify_one();
        }
    }

    /// Adds a client, if it is not there.
    pub(super) fn join(&self, client: &Arc<Notify>) {
        let client = Arc::downgrade(client);
        let mut members = self.members();
        members.retain(|member| member.strong_count() > 0 && !member.ptr_eq(&client));
        members.push(client);
    }

    fn members(&self) -> MutexGuard<'_, Vec<Weak<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
