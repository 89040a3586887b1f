//! Notifications that a tool sends to its client before it ends: progress and log messages.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use trunkline::{Call, ErrorObject, FromCall};

use crate::era::Era;
use crate::log_level::LogLevel;
use crate::protocol::method;
use crate::request::{Request, is_integer, string};

/// The way of one call's notifications to its client.
#[derive(Debug, Default)]
pub(crate) struct Outlet {
    waiting: Mutex<VecDeque<Vec<u8>>>,
    filled: Notify,
}

/// Notifications are hints: when a client does not take them, the newest are left out.
const WAITING: usize = 256;

#[derive(Serialize)]
struct Notification<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a P,
}

/// The notifications that a call may send. An extension of the call.
#[derive(Debug, Clone)]
struct Notifications {
    outlet: Arc<Outlet>,
    /// JSON.
    token: Option<Bytes>,
    level: Option<LogLevel>,
}

impl Outlet {
    /// Queues a notification. Params that do not serialise are left out.
    fn notify(&self, method: &str, params: &impl Serialize) {
        let notification = Notification { jsonrpc: "2.0", method, params };
        let json = match serde_json::to_vec(&notification) {
            Ok(json) => json,
            Err(error) => {
                return tracing::error!(%error, method, "a notification does not serialise");
            }
        };
        let mut waiting = self.lock();
        if waiting.len() < WAITING {
            waiting.push_back(json);
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

/// The notifications that a request asks for.
pub(crate) struct Wanted {
    token: Option<Bytes>,
    level: Option<LogLevel>,
}

impl Wanted {
    /// `None` if the request asks for none.
    ///
    /// In the stateless era, a request has the level of its log messages. In earlier revisions it is `level`,
    /// which the server chooses until the client sets it.
    pub(crate) fn of(call: &Call, request: &Request, era: Era, level: LogLevel) -> Option<Self> {
        let token = request.meta.progress_token.filter(|token| is_token(call.text(*token)));
        let level = match era {
            Era::Modern => {
                string(call, request.meta.log_level).and_then(|level| LogLevel::parse(&level))
            }
            Era::Legacy => Some(level),
        };
        let is_any = token.is_some() || level.is_some();
        is_any.then(|| Self { token: token.map(|token| call.bytes(token)), level })
    }

    /// Adds the notifications to the extensions of a call.
    pub(crate) fn open(self, call: &mut Call) -> Arc<Outlet> {
        let Self { token, level } = self;
        let outlet = Arc::new(Outlet::default());
        let notifications = Notifications { outlet: Arc::clone(&outlet), token, level };
        call.extensions_mut().insert(notifications);
        outlet
    }
}

/// Extracts a sender of log messages to the client of a call, from the level that it has set. They are not
/// the server's own log.
#[derive(Debug, Clone, Default)]
pub struct Log(Option<(Arc<Outlet>, LogLevel)>);

impl Log {
    /// Sends a message. What does not serialise is left out.
    pub fn send(&self, level: LogLevel, data: &(impl Serialize + ?Sized)) {
        let Some((outlet, least)) = &self.0 else {
            return;
        };
        if level < *least {
            return;
        }
        outlet.notify(method::MESSAGE, &LogMessage { level, data });
    }
}

#[derive(Serialize)]
struct LogMessage<'a, T: ?Sized> {
    level: LogLevel,
    data: &'a T,
}

impl<S> FromCall<S> for Log {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let notifications = call.extensions().get::<Notifications>();
        Ok(Self(notifications.and_then(|all| Some((Arc::clone(&all.outlet), all.level?)))))
    }
}

/// Extracts a reporter of the progress of a call. Clients that did not ask for it
/// (`_meta.progressToken`), and those of other protocols, receive nothing.
///
/// ```
/// # use trunkline::{Operation, Router};
/// # use trunkline_mcp::Progress;
/// let import = Operation::new("import", async |progress: Progress| {
///     progress.report(50.0, Some(100.0), Some("half of it"));
///     "imported"
/// });
/// # Router::<()>::new().operation(import).build().unwrap();
/// ```
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<Arc<Reporter>>);

#[derive(Debug)]
struct Reporter {
    outlet: Arc<Outlet>,
    token: Bytes,
    reached: Mutex<f64>,
}

impl Progress {
    /// Reports that `progress` of `total` is done. It has to increase: values that do not are left out, as
    /// the protocol requires, and so are infinite numbers and NaN.
    pub fn report(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(reporter) = &self.0 else {
            return;
        };
        let mut reached = reporter.reached.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.is_finite() && progress > *reached {
            *reached = progress;
            let total = total.filter(|total| total.is_finite());
            let token = std::str::from_utf8(&reporter.token).ok();
            let progress_token = token.and_then(|token| serde_json::from_str(token).ok());
            let params = ProgressMessage { progress_token, progress, total, message };
            reporter.outlet.notify(method::PROGRESS, &params);
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressMessage<'a> {
    progress_token: Option<&'a RawValue>,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl<S> FromCall<S> for Progress {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let Some(notifications) = call.extensions().get::<Notifications>() else {
            return Ok(Self::default());
        };
        let reporter = notifications.token.clone().map(|token| {
            let outlet = Arc::clone(&notifications.outlet);
            Arc::new(Reporter { outlet, token, reached: Mutex::new(f64::NEG_INFINITY) })
        });
        Ok(Self(reporter))
    }
}
