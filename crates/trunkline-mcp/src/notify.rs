//! Notifications that a tool sends to its client before it ends: progress and log messages.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use trunkline::{Call, ErrorObject, FromCall, Id};

use crate::call_progress::CallProgress;
use crate::era::Era;
use crate::lock::Lock;
use crate::log_level::LogLevel;
use crate::message_queue::MessageQueue;
use crate::model::{LogMessage, ProgressUpdate};
use crate::protocol::method;
use crate::request::{Request, is_mcp_id, string};
use crate::task::LiveTask;

/// The notifications that a call may send. An extension of the call.
#[derive(Debug, Clone)]
struct Notifications {
    queue: Arc<MessageQueue>,
    level: Option<LogLevel>,
}

/// The notifications that a request enables.
pub(crate) struct RequestedNotifications {
    token: Option<Bytes>,
    level: Option<LogLevel>,
}

impl RequestedNotifications {
    /// `None` if the request enables none.
    ///
    /// In the stateless era, a request contains the level of its log messages. In earlier revisions it is `level`,
    /// which the server chooses until the client sets it.
    pub(crate) fn of(call: &Call, request: &Request, era: Era, level: LogLevel) -> Option<Self> {
        // Tokens have the types of ids. Others are ignored.
        let token = request.meta.progress_token.map(|token| call.bytes(token));
        let token = token.filter(|token| is_mcp_id(&Id::from_raw(token.clone())));
        let level = match era {
            Era::Modern => {
                string(call, request.meta.log_level).and_then(|level| LogLevel::parse(&level))
            }
            Era::Legacy => Some(level),
        };
        let is_any = token.is_some() || level.is_some();
        is_any.then_some(Self { token, level })
    }

    /// Adds the notifications to the extensions of a call. While it is silent, its progress is repeated after each
    /// `heartbeat`.
    pub(crate) fn attach(self, call: &mut Call, heartbeat: Duration) -> Arc<MessageQueue> {
        let Self { token, level } = self;
        let progress = token.map(|token| CallProgress::new(token, heartbeat));
        let queue = Arc::new(MessageQueue::new(progress));
        let notifications = Notifications { queue: Arc::clone(&queue), level };
        call.extensions_mut().insert(notifications);
        queue
    }
}

/// Extracts a sender of log messages to the client of a call. Messages below the level that the client has set are
/// dropped. The server's own log does not contain them.
#[derive(Debug, Clone, Default)]
pub struct Log(Option<(Arc<MessageQueue>, LogLevel)>);

impl Log {
    /// Sends a message. One that does not serialize is dropped.
    pub fn send(&self, level: LogLevel, data: &(impl Serialize + ?Sized)) {
        self.notify(&LogMessage { level, logger: None, data });
    }

    /// Like [`send`](Self::send), with the name of the logger.
    pub fn send_from(&self, logger: &str, level: LogLevel, data: &(impl Serialize + ?Sized)) {
        self.notify(&LogMessage { level, logger: Some(logger.to_owned()), data });
    }

    /// The minimum level of messages. `None` if the client receives none.
    #[must_use]
    pub fn level(&self) -> Option<LogLevel> {
        self.0.as_ref().map(|(_, level)| *level)
    }

    fn notify(&self, message: &LogMessage<impl Serialize>) {
        if let Some((queue, least)) = &self.0
            && message.level >= *least
        {
            queue.notify(method::MESSAGE, message);
        }
    }
}

impl<S> FromCall<S> for Log {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let notifications = call.extensions().get::<Notifications>();
        Ok(Self(notifications.and_then(|all| Some((Arc::clone(&all.queue), all.level?)))))
    }
}

/// Extracts a reporter of the progress of a call. Clients that did not request it (`_meta.progressToken`), and those
/// of other protocols, receive nothing. While the handler reports nothing, the last progress is
/// [repeated](crate::McpConfig::heartbeat). The message, or the numbers without one, is the status message of a
/// [task](crate::McpOperation::task), which clients receive when they poll.
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
    /// The messages to a client that has requested the progress.
    stream: Option<Arc<MessageQueue>>,
    task: Option<Arc<LiveTask>>,
    reached: Lock<f64>,
}

impl Progress {
    /// Whether the client has requested the progress of the call.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.is_some()
    }

    /// Reports that `progress` of `total` is done. Values that do not increase are dropped, as the protocol requires,
    /// and so are infinite numbers and NaN.
    pub fn report(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(reporter) = &self.0 else {
            return;
        };
        let mut reached = reporter.reached.lock();
        if progress.is_finite() && progress > *reached {
            *reached = progress;
            let total = total.filter(|total| total.is_finite());
            if let Some(queue) = &reporter.stream {
                let message = message.map(str::to_owned);
                queue.report(ProgressUpdate { progress, total, message });
            }
            if let Some(task) = &reporter.task {
                task.set_message(&status_message(progress, total, message));
            }
        }
    }
}

impl<S> FromCall<S> for Progress {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let notifications = call.extensions().get::<Notifications>();
        let stream = notifications.map(|all| &all.queue).filter(|queue| queue.has_progress());
        let stream = stream.cloned();
        let task = call.extensions().get::<Arc<LiveTask>>().cloned();
        if stream.is_none() && task.is_none() {
            return Ok(Self::default());
        }
        let reached = Lock::new(f64::NEG_INFINITY);
        Ok(Self(Some(Arc::new(Reporter { stream, task, reached }))))
    }
}

/// The progress of a task as its status message.
fn status_message(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    match (message, total) {
        (Some(message), _) => message.to_owned(),
        (None, Some(total)) => format!("{progress} of {total}"),
        (None, None) => progress.to_string(),
    }
}
