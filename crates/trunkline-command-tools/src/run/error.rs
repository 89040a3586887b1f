use std::io;

use serde_json::{Map, Value, json};
use trunkline::layers::validation::Faults;
use trunkline::protocol::excerpt;
use trunkline::{ErrorDescription, ErrorObject, RpcError, code};

/// The error of running a tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The process could not be started in [time](crate::ToolConfig::max_wait), since too many are running.
    #[error("the limit of {concurrency} concurrent tools is reached")]
    Busy {
        /// The maximum number of concurrent tools.
        concurrency: usize,
    },
    /// The process could not be started.
    #[error("the tool could not be started")]
    NotStarted(#[source] io::Error),
    /// The tool timed out and was killed.
    #[error("the tool timed out after {timeout_ms} ms and was killed")]
    TimedOut {
        /// The timeout.
        timeout_ms: u64,
        /// The end of its stderr.
        stderr: String,
    },
    /// The call was cancelled, and the tool was killed.
    #[error("the call was cancelled and the tool was killed")]
    Cancelled,
    /// The exit code is not 0.
    #[error("the tool failed with exit code {exit_code}{}", LastLine(stderr))]
    Failed {
        /// The code.
        exit_code: i32,
        /// The end of its stderr.
        stderr: String,
    },
    /// A signal ended it.
    #[error("signal {signal} ended the tool{}{}", SignalMeaning(*signal), LastLine(stderr))]
    Killed {
        /// The signal's number.
        signal: i32,
        /// The end of its stderr.
        stderr: String,
    },
    /// The tool wrote more to stdout than allowed, and was killed.
    #[error("the output of the tool exceeded {max_output_bytes} bytes; the tool was killed")]
    OutputTooLarge {
        /// The maximum size of stdout.
        max_output_bytes: usize,
    },
    /// The exit code is 0, and stdout is not one JSON value.
    #[error("the output of the tool is not one JSON value: {reason}")]
    NotJson {
        /// The reason.
        reason: String,
        /// The end of its stderr.
        stderr: String,
    },
    /// The result does not match the output schema.
    #[error("the result of the tool does not match its output schema: {}", first_fault(faults))]
    InvalidResult {
        /// The places and the reasons.
        faults: Faults,
    },
}

impl RunError {
    /// The error code, the message and the kind.
    fn kind(&self) -> (i64, &'static str, &'static str) {
        match self {
            Self::Busy { .. } => (code::BUSY, "Too many running tools", "busy"),
            Self::NotStarted(_) => (code::TOOL_EXECUTION, TOOL_FAILED, "unstarted"),
            Self::TimedOut { .. } => (code::TIMEOUT, "The tool timed out", "timeout"),
            Self::Cancelled => (code::CANCELLED, "The call was cancelled", "cancelled"),
            Self::Failed { .. } => (code::TOOL_EXECUTION, TOOL_FAILED, "exit_code"),
            Self::Killed { .. } => (code::TOOL_EXECUTION, TOOL_FAILED, "signal"),
            Self::OutputTooLarge { .. } => (code::TOOL_EXECUTION, TOOL_FAILED, "too_much_output"),
            Self::NotJson { .. } => (code::TOOL_EXECUTION, TOOL_FAILED, "not_json"),
            Self::InvalidResult { .. } => (code::TOOL_EXECUTION, TOOL_FAILED, "misfit"),
        }
    }

    /// The further members of `data`.
    fn details(&self) -> Value {
        match self {
            Self::Busy { concurrency } => json!({ "concurrency": concurrency }),
            Self::NotStarted(_) | Self::Cancelled => json!({}),
            Self::TimedOut { timeout_ms, stderr } => {
                json!({ "timeout_ms": timeout_ms, "stderr": stderr })
            }
            Self::Failed { exit_code, stderr } => {
                json!({ "exit_code": exit_code, "stderr": stderr })
            }
            Self::Killed { signal, stderr } => json!({ "signal": signal, "stderr": stderr }),
            Self::OutputTooLarge { max_output_bytes } => {
                json!({ "max_output_bytes": max_output_bytes })
            }
            Self::NotJson { stderr, .. } => json!({ "stderr": stderr }),
            Self::InvalidResult { faults } => json!({ "errors": faults.as_slice() }),
        }
    }
}

const TOOL_FAILED: &str = "The tool failed";

/// `data.kind` is the kind of error, `data.reason` the message.
impl RpcError for RunError {
    fn into_error_object(self) -> ErrorObject {
        if let Self::NotStarted(error) = &self {
            tracing::error!(%error, "failed to start a tool");
        }
        let (code, message, kind) = self.kind();
        let mut data = Map::new();
        data.insert("kind".to_owned(), kind.into());
        data.insert("reason".to_owned(), self.to_string().into());
        if let Value::Object(details) = self.details() {
            data.extend(details);
        }
        ErrorObject::new(code, message).with_data(&data)
    }

    fn from_error_object(_: &ErrorObject) -> Option<Self> {
        None
    }

    fn descriptions() -> Vec<ErrorDescription> {
        vec![
            ErrorDescription::new(code::TOOL_EXECUTION, TOOL_FAILED),
            ErrorDescription::new(code::TIMEOUT, "The tool timed out"),
            ErrorDescription::new(code::BUSY, "Too many running tools"),
        ]
    }
}

/// The last line of stderr, which often has the reason.
struct LastLine<'s>(&'s str);

impl std::fmt::Display for LastLine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        /// The maximum number of its characters.
        const MAX_CHARS: usize = 200;
        let line = self.0.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let Some(line) = line else { return Ok(()) };
        write!(f, ": {}", excerpt(line, MAX_CHARS))
    }
}

/// The meaning of a signal from a limit or a crash. The numbers are those of Linux, macOS and the BSDs.
struct SignalMeaning(i32);

impl std::fmt::Display for SignalMeaning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            6 => " (SIGABRT: it aborted)",
            9 => " (SIGKILL: it was killed)",
            11 => " (SIGSEGV: it crashed)",
            15 => " (SIGTERM: it was terminated)",
            24 => " (SIGXCPU: it exceeded the limit of CPU time)",
            25 => " (SIGXFSZ: it exceeded the limit of file size)",
            _ => "",
        })
    }
}

fn first_fault(faults: &Faults) -> String {
    faults.as_slice().first().map_or_else(String::new, ToString::to_string)
}
