//! One document, as we and Clojure have it.

use std::fmt;

use trunkline_edn::{Error, Value};

use crate::json;
use crate::notation::{normal, notation};
use crate::oracle::Answer;

/// A document, and what we make of it.
pub(crate) struct Case {
    pub(crate) document: String,
    pub(crate) ours: Result<Value, Error>,
    /// What we write of the value, if there is one: on one line, and indented.
    written: Vec<String>,
}

/// How we and Clojure differ.
#[derive(Debug)]
pub(crate) enum Disagreement {
    /// We refuse what it reads.
    Refused,
    /// We read what it refuses: why it does.
    Accepted(String),
    /// The values differ.
    Value,
    /// One has JSON where the other has none, or other JSON: ours.
    Json(#[expect(dead_code, reason = "shown by `Debug`")] Result<String, Error>),
    /// What we write is read there as another value, or not at all.
    Written,
}

impl Case {
    pub(crate) fn of(document: String) -> Self {
        let ours: Result<Value, Error> = document.parse();
        let written = match &ours {
            Ok(value) => vec![value.to_string(), format!("{value:#}")],
            Err(_) => Vec::new(),
        };
        Self { document, ours, written }
    }

    /// What Clojure is asked about: the document, and what we write of it.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        std::iter::once(&self.document).chain(&self.written).cloned()
    }

    /// Compares what we make of the document with what Clojure does of our texts.
    pub(crate) fn compare(&self, theirs: &[Answer]) -> Result<(), Disagreement> {
        let (answer, written) = theirs.split_first().expect("every document is answered");
        let (value, expected, json) = match (&self.ours, answer) {
            (Ok(value), Answer::Form { notation, json }) => (value, notation, json),
            (Ok(_), Answer::Refusal(why)) => return Err(Disagreement::Accepted(why.clone())),
            (Err(_), Answer::Form { .. }) => return Err(Disagreement::Refused),
            (Err(_), Answer::Refusal(_)) => return Ok(()),
        };
        if notation(value) != *expected {
            return Err(Disagreement::Value);
        }
        let is_expected = |answer: &Answer| match answer {
            Answer::Form { notation, .. } => notation == expected,
            Answer::Refusal(_) => false,
        };
        if !written.iter().all(is_expected) {
            return Err(Disagreement::Written);
        }
        let ours = trunkline_edn::json::to_string(&normal(value));
        match (&ours, json) {
            (Err(_), Err(_)) => Ok(()),
            (Ok(ours), Ok(expected)) if json::is_like(ours, expected) => Ok(()),
            _ => Err(Disagreement::Json(ours)),
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}\n  here: ", self.document)?;
        match &self.ours {
            Ok(value) => write!(f, "{value}"),
            Err(error) => write!(f, "{error}"),
        }
    }
}
