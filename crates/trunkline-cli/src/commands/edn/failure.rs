//! What went wrong, in words, and as an exit code.

use std::io;
use std::process::ExitCode;

use trunkline_edn::{Error, Position};

use crate::terminal::line;

/// Why not all documents were converted.
pub(super) enum Failure {
    /// The command line is wrong.
    Usage(&'static str),
    Input(io::Error),
    Output(io::Error),
    /// What is wrong with which document, and where in the whole input.
    Document {
        number: usize,
        position: Position,
        wrong: Wrong,
    },
}

/// What is wrong with a document.
pub(super) struct Wrong {
    /// The byte of the text that was converted.
    pub(super) offset: usize,
    /// The way to it in the value, which is empty at first.
    pub(super) path: String,
    pub(super) reason: String,
    /// Whether nothing is wrong with it if more follows.
    pub(super) is_incomplete: bool,
}

impl Wrong {
    pub(super) fn new(offset: usize, reason: impl Into<String>) -> Self {
        Self { offset, path: String::new(), reason: reason.into(), is_incomplete: false }
    }

    /// Of an error in what stands behind so many bytes.
    pub(super) fn of(error: &Error, start: usize) -> Self {
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

    /// For stderr.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Usage(text) => {
                format!("trunkline: {text}\nFor more information, try '--help'.\n")
            }
            Self::Input(error) => format!("trunkline: cannot read stdin: {error}\n"),
            Self::Output(error) => format!("trunkline: cannot print the result: {error}\n"),
            Self::Document { number, position, wrong } => {
                let path = match wrong.path.as_str() {
                    "" => String::new(),
                    path => format!(", in {path}"),
                };
                let text = format!("document {number}, {position}{path}: {}", wrong.reason);
                format!("error: {}\n", line(&text))
            }
        }
    }
}
