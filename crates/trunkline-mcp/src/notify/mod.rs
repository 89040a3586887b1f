//! What a tool tells its client before it ends: progress, and log messages.

mod log;
mod progress;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use trunkline::Call;

use crate::era::Era;
use crate::log_level::LogLevel;
use crate::request::{Request, is_integer, string};

pub use log::Log;
pub use progress::Progress;

/// The way of one call's notifications to its client.
#[derive(Debug, Default)]
pub(crate) struct Outlet {
    waiting: Mutex<VecDeque<Vec<u8>>>,
    filled: Notify,
}

/// Notifications are hints: when a client does not take them, the newest are left out.
const WAITING: usize = 256;

/// What a call may tell its client. An extension of the call.
#[derive(Debug, Clone)]
struct Notifications {
    outlet: Arc<Outlet>,
    /// JSON.
    token: Option<Bytes>,
    level: Option<LogLevel>,
}

impl Outlet {
    fn put(&self, notification: Vec<u8>) {
        let mut waiting = self.lock();
        if waiting.len() < WAITING {
            waiting.push_back(notification);
            self.filled.notify_one();
        } else {
            tracing::debug!("a notification is left out: its client takes none");
        }
    }

    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The next notification, if one waits.
    pub(crate) fn take(&self) -> Option<Vec<u8>> {
        self.lock().pop_front()
    }

    /// Waits until there is one.
    pub(crate) async fn filled(&self) {
        while self.is_empty() {
            self.filled.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Vec<u8>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A token is a string or an integer; what is neither asks for nothing.
fn is_token(text: &[u8]) -> bool {
    text.starts_with(b"\"") || std::str::from_utf8(text).is_ok_and(is_integer)
}

/// Lets the handler of a call tell its client what the request asked for. None if that is nothing.
///
/// In the stateless era a request says which log messages it wants. Before it, `level` holds, which
/// the server chooses until the client does.
pub(crate) fn open(
    call: &mut Call,
    request: &Request,
    era: Era,
    level: LogLevel,
) -> Option<Arc<Outlet>> {
    let token = request.meta.progress_token.filter(|token| is_token(call.text(*token)));
    let token = token.map(|token| call.bytes(token));
    let level = match era {
        Era::Modern => {
            string(call, request.meta.log_level).and_then(|level| LogLevel::parse(&level))
        }
        Era::Legacy => Some(level),
    };
    if token.is_none() && level.is_none() {
        return None;
    }
    let outlet = Arc::new(Outlet::default());
    let notifications = Notifications { outlet: Arc::clone(&outlet), token, level };
    call.extensions_mut().insert(notifications);
    Some(outlet)
}
