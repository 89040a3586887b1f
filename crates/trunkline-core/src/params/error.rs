//! Errors of params (-32602).

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::error::{ErrorObject, code, excerpt};

/// The reason why params are invalid for a method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// A param without a default is missing.
    #[error("missing param")]
    Missing {
        /// The param's name.
        param: String,
    },
    /// A value has the wrong type or is out of range.
    #[error("{reason}")]
    Invalid {
        /// The param's name.
        param: String,
        /// The message of serde.
        reason: String,
    },
    /// The method does not declare a named param. Such params are rejected because a misspelled optional param would
    /// be lost silently.
    #[error("unknown param")]
    Unknown {
        /// The first unknown names: 10 at most, with 100 characters each.
        params: Vec<String>,
        /// The names that the method declares.
        declared: Vec<&'static str>,
    },
    /// A named param is duplicated.
    #[error("duplicate param")]
    Duplicate {
        /// The param's name.
        param: &'static str,
    },
    /// More positional params than the method declares.
    #[error("too many params: {given} given, at most {} expected", declared.len())]
    TooMany {
        /// The number of params that were sent.
        given: usize,
        /// The names that the method declares.
        declared: Vec<&'static str>,
    },
    /// The params are invalid as a whole: the method accepts them only by name, only by position, or in another
    /// number.
    #[error("{0}")]
    Shape(String),
}

/// The maximum number of unknown names in an error.
const MAX_UNKNOWN: usize = 10;

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

/// Errors of derived `Deserialize` implementations.
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
    /// An error of the value of `param`.
    pub(crate) fn invalid(param: &str, error: &serde_json::Error) -> Self {
        Self::Invalid { param: param.to_owned(), reason: reason(error) }
    }

    /// Names that are not declared. The first of them are listed.
    pub fn unknown<'a>(
        names: impl Iterator<Item = Cow<'a, str>>,
        declared: &[&'static str],
    ) -> Self {
        let params = names.take(MAX_UNKNOWN).map(|name| excerpt(&name, 100).into_owned());
        Self::Unknown { params: params.collect(), declared: declared.to_vec() }
    }

    /// More positions were sent than the tuple has.
    #[must_use]
    pub fn longer_than_tuple(given: usize, taken: usize) -> Self {
        Self::Shape(format!("too many params: {given} given, at most {taken} expected"))
    }

    /// An error of the params as a whole.
    pub(crate) fn whole(error: &serde_json::Error) -> Self {
        Self::Shape(reason(error))
    }
}

/// The message without the position, which is relative to a single value and useless to the client.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) if error.line() > 0 => reason.to_owned(),
        _ => text,
    }
}
