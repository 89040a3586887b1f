//! The requests and notifications of a server.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Notify;
use trunkline_mcp::client::{Change, ClientHandler, HandlerError, HandlerFeatures, LogMessage};
use trunkline_mcp::{ElicitRequest, ElicitResult, LogLevel, Root};

use super::questions::Questions;
use crate::terminal::{StatusLine, cut, line};

/// Answers the requests of a server on the terminal, and prints its log messages on stderr.
pub(super) struct Handler {
    /// `None` where the user cannot be asked.
    pub(super) questions: Option<Arc<Questions>>,
    pub(super) roots: Vec<Root>,
    pub(super) status: Arc<StatusLine>,
    /// The minimum level of log messages.
    pub(super) level: LogLevel,
    /// Is notified of changes of subscribed resources.
    pub(super) updated: Arc<Notify>,
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, HandlerError>> + Send + 'a>>;

impl ClientHandler for Handler {
    fn features(&self) -> HandlerFeatures {
        let mut features = HandlerFeatures::default();
        features.forms = self.questions.is_some();
        features.urls = self.questions.is_some();
        features.roots = !self.roots.is_empty();
        features
    }

    fn elicit(&self, elicitation: ElicitRequest) -> Answer<'_, ElicitResult> {
        match &self.questions {
            Some(questions) => Box::pin(questions.ask(elicitation)),
            None => Box::pin(ready(Err(HandlerError::Unsupported))),
        }
    }

    fn roots(&self) -> Answer<'_, Vec<Root>> {
        Box::pin(ready(Ok(self.roots.clone())))
    }

    fn log(&self, message: LogMessage) {
        if message.level >= self.level {
            self.status.message(&log_text(&message));
        }
    }

    fn changed(&self, change: Change) {
        if let Change::Resource(_) = change {
            self.updated.notify_one();
        }
    }
}

/// A log message in one line.
fn log_text(message: &LogMessage) -> String {
    /// The maximum width, in columns.
    const MAX_WIDTH: usize = 2_000;
    let logger = message.logger.as_deref().filter(|logger| !logger.is_empty());
    let logger = logger.map(|logger| format!("{}: ", line(logger))).unwrap_or_default();
    let text = match &message.data {
        Value::String(text) => line(text).into_owned(),
        // A control character in JSON text is escaped as such.
        other => line(&other.to_string()).into_owned(),
    };
    cut(&format!("[{}] {logger}{text}", message.level.name()), MAX_WIDTH).into_owned() + "\n"
}
