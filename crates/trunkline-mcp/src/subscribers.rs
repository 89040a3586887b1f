use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

/// The clients that are notified when the list of tools changes.
#[derive(Debug, Default)]
pub(crate) struct Subscribers(Mutex<Vec<Weak<Notify>>>);

impl Subscribers {
    /// Notifies all connected clients. A client that has not read the last notification gets no second one.
    pub(crate) fn notify(&self) {
        for member in self.members().iter().filter_map(Weak::upgrade) {
            member.notify_one();
        }
    }

    /// Adds a client, unless it is subscribed already.
    pub(super) fn add(&self, client: &Arc<Notify>) {
        let client = Arc::downgrade(client);
        let mut members = self.members();
        members.retain(|member| member.strong_count() > 0 && !member.ptr_eq(&client));
        members.push(client);
    }

    fn members(&self) -> MutexGuard<'_, Vec<Weak<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
