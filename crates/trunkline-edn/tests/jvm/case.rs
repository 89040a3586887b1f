//! The comparison of one document with Clojure.

use std::fmt;

use trunkline_edn::{Error, Value};

use crate::json;
use crate::notation::{normal, notation};
use crate::oracle::Answer;

/// A document, with the result of this crate.
pub(crate) struct Case {
    pub(crate) document: String,
    pub(crate) ours: Result<Value, Error>,
    /// The value written by this crate, on one line and indented. Empty for an invalid document.
    written: Vec<String>,
}

/// A difference between this crate and Clojure.
#[derive(Debug)]
pub(crate) enum Disagreement {
    /// Only Clojure accepts the document.
    Refused,
    /// Only this crate accepts the document. Contains the error of Clojure.
    Accepted(String),
    /// The values differ.
    Value,
    /// The JSON differs. Contains the result of this crate.
    Json(#[expect(dead_code, reason = "shown by `Debug`")] Result<String, Error>),
    /// Clojure reads the written value as another value, or rejects it.
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

    /// The texts to send to Clojure: the document, and the written values.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        std::iter::once(&self.document).chain(&self.written).cloned()
    }

    /// Compares the result of this crate with the answers of Clojure.
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
