//! Errors: their text and exit code.

use std::io;
use std::process::ExitCode;

use trunkline_edn::{Error, Position};

use crate::terminal::line;

/// The reason why a document was not converted.
pub(super) enum Failure {
    /// The command line is invalid.
    Usage(&'static str),
    Input(io::Error),
    Output(io::Error),
    /// A document is invalid. The position is that in the whole input.
    Document {
        number: usize,
        position: Position,
        problem: Problem,
    },
}

/// The error of a document.
pub(super) struct Problem {
    /// The position in the text that was converted, in bytes.
    pub(super) offset: usize,
    /// The path in the value; empty for the whole document.
    pub(super) path: String,
    pub(super) reason: String,
    /// Whether more text may make the document valid.
    pub(super) is_incomplete: bool,
}

impl Problem {
    pub(super) fn new(offset: usize, reason: impl Into<String>) -> Self {
        Self { offset, path: String::new(), reason: reason.into(), is_incomplete: false }
    }

    /// The error of a document that begins at this byte.
    pub(super) fn from_error(error: &Error, start: usize) -> Self {
        let offset = error.position().map_or(0, |position| position.offset);
        let path = error.path().to_string();
        Self { path, ..Self::new(start + offset, error.reason().to_string()) }
    }
}

impl Failure {
    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }

    /// The text for stderr.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Usage(text) => {
                format!("trunkline: {text}\nFor more information, try '--help'.\n")
            }
            Self::Input(error) => format!("trunkline: cannot read stdin: {error}\n"),
            Self::Output(error) => format!("trunkline: cannot print the result: {error}\n"),
            Self::Document { number, position, problem } => {
                let path = match problem.path.as_str() {
                    "" => String::new(),
                    path => format!(", in {path}"),
                };
                let text = format!("document {number}, {position}{path}: {}", problem.reason);
                format!("error: {}\n", line(&text))
            }
        }
    }
}
