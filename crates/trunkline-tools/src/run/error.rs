use std::io;

use serde_json::{Map, Value, json};
use trunkline::layers::validation::Faults;
use trunkline::protocol::excerpt;
use trunkline::{ErrorDescription, ErrorObject, RpcError, code};

/// Why a tool gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// No process might be started in [time](crate::ToolConfig::max_wait). Nothing was run.
    #[error("{concurrency} tools run already, which are as many as may")]
    Busy {
        /// How many may.
        concurrency: usize,
    },
    /// The process could not be started.
    #[error("the tool could not be started")]
    Unstarted(#[source] io::Error),
    /// Its time was over, and it was killed.
    #[error("the tool was not done after {timeout_ms} ms, and was killed")]
    TimedOut {
        /// How long it had.
        timeout_ms: u64,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// Whoever called it has gone, and it was killed.
    #[error("the call was cancelled, and the tool was killed")]
    Cancelled,
    /// It exited with another code than 0.
    #[error("the tool failed with exit code {exit_code}{}", Last(stderr))]
    Failed {
        /// The code.
        exit_code: i32,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// A signal ended it.
    #[error("signal {signal} ended the tool{}{}", Meaning(*signal), Last(stderr))]
    Killed {
        /// The signal's number.
        signal: i32,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// It wrote more to stdout than it may, and was killed.
    #[error("the tool wrote more than {max_output_bytes} bytes, and was killed")]
    TooMuchOutput {
        /// How many it may write.
        max_output_bytes: usize,
    },
    /// It exited with code 0, and what stands on stdout is not one JSON value.
    #[error("what the tool wrote is not one JSON value: {reason}")]
    NotJson {
        /// Why not.
        reason: String,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// The result does not fit the output schema.
    #[error("the tool's result does not fit its output schema: {}", first(faults))]
    Misfit {
        /// Where, and why.
        faults: Faults,
    },
}

impl RunError {
    /// The code of the product-wide table, and a message.
    fn kind(&self) -> (i64, &'static str, &'static str) {
        match self {
            Self::Busy { .. } => (code::BUSY, "Too many tools run", "busy"),
            Self::Unstarted(_) => (code::TOOL_EXECUTION, TOOL_FAILED, "unstarted"),
            Self::TimedOut { .. } => (code::TIMEOUT, "The tool took too long", "timeout"),
            Self::Cancelled => (code::CANCELLED, "The call was cancelled", "cancelled"),
            Self::Failed { .. } => (code::TOOL_EXECUTION, TOOL_FAILED, "exit_code"),
            Self::Killed { .. } => (code::TOOL_EXECUTION, TOOL_FAILED, "signal"),
            Self::TooMuchOutput { .. } => (code::TOOL_EXECUTION, TOOL_FAILED, "too_much_output"),
            Self::NotJson { .. } => (code::TOOL_EXECUTION, TOOL_FAILED, "not_json"),
            Self::Misfit { .. } => (code::TOOL_EXECUTION, TOOL_FAILED, "misfit"),
        }
    }

    /// What programs may want to know.
    fn details(&self) -> Value {
        match self {
            Self::Busy { concurrency } => json!({ "concurrency": concurrency }),
            Self::Unstarted(_) | Self::Cancelled => json!({}),
            Self::TimedOut { timeout_ms, stderr } => {
                json!({ "timeout_ms": timeout_ms, "stderr": stderr })
            }
            Self::Failed { exit_code, stderr } => {
                json!({ "exit_code": exit_code, "stderr": stderr })
            }
            Self::Killed { signal, stderr } => json!({ "signal": signal, "stderr": stderr }),
            Self::TooMuchOutput { max_output_bytes } => {
                json!({ "max_output_bytes": max_output_bytes })
            }
            Self::NotJson { stderr, .. } => json!({ "stderr": stderr }),
            Self::Misfit { faults } => json!({ "errors": faults.as_slice() }),
        }
    }
}

const TOOL_FAILED: &str = "The tool failed";

/// `data.kind` names the variant, `data.reason` says it in words.
impl RpcError for RunError {
    fn into_error_object(self) -> ErrorObject {
        if let Self::Unstarted(error) = &self {
            tracing::error!(%error, "a tool could not be started");
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
            ErrorDescription::new(code::TIMEOUT, "The tool took too long"),
            ErrorDescription::new(code::BUSY, "Too many tools run"),
        ]
    }
}

/// The last line of stderr, which often says why.
struct Last<'s>(&'s str);

impl std::fmt::Display for Last<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        /// The most characters of it.
        const ENOUGH: usize = 200;
        let line = self.0.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let Some(line) = line else { return Ok(()) };
        write!(f, ": {}", excerpt(line, ENOUGH))
    }
}

/// What a signal means that a limit sends, or a crash. The numbers are those of Linux, macOS and the BSDs.
struct Meaning(i32);

impl std::fmt::Display for Meaning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            6 => " (SIGABRT: it gave up)",
            9 => " (SIGKILL: it was killed)",
            11 => " (SIGSEGV: it crashed)",
            15 => " (SIGTERM: it was told to end)",
            24 => " (SIGXCPU: its CPU time is used up)",
            25 => " (SIGXFSZ: a file is larger than it may write)",
            _ => "",
        })
    }
}

fn first(faults: &Faults) -> String {
    faults.as_slice().first().map_or_else(String::new, ToString::to_string)
}
