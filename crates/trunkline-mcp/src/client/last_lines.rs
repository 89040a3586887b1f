//! The last output of a process, for error messages.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline::client::Cause;

use crate::lock::Lock;

/// The last four lines that a process has written to stderr, and to stdout if they are not messages, each cut after 200
/// characters. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct LastLines {
    lines: Arc<Lock<VecDeque<String>>>,
    /// Cancelled when stderr has ended.
    pub(super) ended: CancellationToken,
}

/// The end of a process.
#[derive(Debug, thiserror::Error)]
#[error("{exit}; output: {output}")]
struct Exit {
    exit: Cause,
    output: String,
}

/// The output of a process that does not reply.
#[derive(Debug, thiserror::Error)]
#[error("output: {0}")]
struct Output(String);

impl LastLines {
    /// Adds a line.
    pub fn add(&self, line: &str) {
        const COUNT: usize = 4;
        const LENGTH: usize = 200;
        let mut lines = self.lines.lock();
        if lines.len() == COUNT {
            lines.pop_front();
        }
        lines.push_back(line.chars().take(LENGTH).collect());
    }

    /// Removes the lines.
    pub fn clear(&self) {
        self.lines.lock().clear();
    }

    /// The lines, separated by ` / `. `None` if the process has not written any.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let lines = self.lines.lock();
        let text = lines.iter().map(String::as_str).collect::<Vec<_>>().join(" / ");
        (!text.is_empty()).then_some(text)
    }

    /// The lines as the cause of an error.
    pub(super) fn cause(&self) -> Option<Cause> {
        Some(Arc::new(Output(self.text()?)))
    }

    /// Adds the lines to the end of a process. The last ones may be read after it has ended.
    pub(super) async fn describe(&self, exit: Cause) -> Cause {
        /// Other processes may keep stderr open.
        const MAX_WAIT: Duration = Duration::from_millis(200);
        // Without its end, the lines so far are used.
        let _ = timeout(MAX_WAIT, self.ended.cancelled()).await;
        match self.text() {
            Some(output) => Arc::new(Exit { exit, output }),
            None => exit,
        }
    }
}
