//! Why params do not fit a method (-32602).

use std::fmt;

use serde::Serialize;

use crate::error::{ErrorObject, code};

/// Params that a method cannot take, and which of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// A param without a default is not there.
    #[error("missing param")]
    Missing {
        /// The param's name.
        param: String,
    },
    /// A param has a value of the wrong type, or one out of range.
    #[error("{reason}")]
    Invalid {
        /// The param's name.
        param: String,
        /// What serde said of the value.
        reason: String,
    },
    /// A named param that the method does not declare. A typo in the name of an optional param
    /// would lose data in silence, so it is refused.
    #[error("unknown param")]
    Unknown {
        /// The names, as sent.
        params: Vec<String>,
        /// The names that the method declares.
        declared: Vec<&'static str>,
    },
    /// A named param stands twice.
    #[error("duplicate param")]
    Duplicate {
        /// The param's name.
        param: &'static str,
    },
    /// More positional params than the method declares.
    #[error("too many params: {given} given, at most {} expected", declared.len())]
    TooMany {
        /// How many were sent.
        given: usize,
        /// The names that the method declares.
        declared: Vec<&'static str>,
    },
    /// The params do not fit as a whole: the method takes them by name only, or by position only,
    /// or as another number of them.
    #[error("{0}")]
    Shape(String),
}

impl From<ParamsError> for ErrorObject {
    fn from(error: ParamsError) -> Self {
        let mut data =
            Data { reason: error.to_string(), param: None, params: None, declared: None };
        match error {
            ParamsError::Missing { param } | ParamsError::Invalid { param, .. } => {
                data.param = Some(param);
            }
            ParamsError::Duplicate { param } => data.param = Some(param.to_owned()),
            ParamsError::Unknown { params, declared } => {
                data.params = Some(params);
                data.declared = Some(declared);
            }
            ParamsError::TooMany { declared, .. } => data.declared = Some(declared),
            ParamsError::Shape(_) => {}
        }
        Self::new(code::INVALID_PARAMS, "Invalid params").with_data(&data)
    }
}

#[derive(Serialize)]
struct Data {
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared: Option<Vec<&'static str>>,
}

/// What serde-derived code reports while it reads the params as a whole.
impl serde::de::Error for ParamsError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::Shape(reason.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing { param: field.to_owned() }
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::Duplicate { param: field }
    }
}

impl ParamsError {
    /// `error` arose in the value of `param`.
    pub(crate) fn invalid(param: &str, error: &serde_json::Error) -> Self {
        Self::Invalid { param: param.to_owned(), reason: reason(error) }
    }

    /// More positions were sent than a tuple has.
    pub(crate) fn longer_than_tuple(given: usize, taken: usize) -> Self {
        Self::Shape(format!("too many params: {given} given, at most {taken} expected"))
    }

    /// `error` arose in the params as a whole.
    pub(crate) fn whole(error: &serde_json::Error) -> Self {
        Self::Shape(reason(error))
    }
}

/// The error's text without its position, which is relative to a value that the client never sees
/// alone.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) if error.line() > 0 => reason.to_owned(),
        _ => text,
    }
}
