//! Completion of arguments: the targets, and the values.

use serde::{Deserialize, Serialize};
use trunkline::{IntoOutcome, Outcome};

use super::lenient;

/// The prompt or the resource whose argument is completed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Reference", into = "Reference")]
pub enum CompletionTarget {
    /// The prompt with this name.
    Prompt(String),
    /// The resource template with this text, or the resource with this URI.
    Resource(String),
}

/// A target as in the protocol. An enum with tags would make values of its unknown members.
#[derive(Serialize, Deserialize)]
struct Reference {
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
}

impl TryFrom<Reference> for CompletionTarget {
    type Error = &'static str;

    fn try_from(reference: Reference) -> Result<Self, Self::Error> {
        match (&*reference.kind, reference.name, reference.uri) {
            ("ref/prompt", Some(name), _) => Ok(Self::Prompt(name)),
            ("ref/resource", _, Some(uri)) => Ok(Self::Resource(uri)),
            _ => Err("it is neither a ref/prompt with a name nor a ref/resource with a URI"),
        }
    }
}

impl From<CompletionTarget> for Reference {
    fn from(target: CompletionTarget) -> Self {
        let (kind, name, uri) = match target {
            CompletionTarget::Prompt(name) => ("ref/prompt", Some(name), None),
            CompletionTarget::Resource(uri) => ("ref/resource", None, Some(uri)),
        };
        Self { kind: kind.to_owned(), name, uri }
    }
}

impl CompletionTarget {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Prompt(name) => name,
            Self::Resource(uri) => uri,
        }
    }
}

/// Values for an argument. An operation that completes may also return an array of all values, of which the client
/// receives the first 100.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompletionValues {
    /// The values, the most relevant first. Those after the first 100 are omitted.
    pub values: Vec<String>,
    /// The number of all values, if known.
    #[serde(default, deserialize_with = "lenient::count", skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are further values.
    #[serde(default, deserialize_with = "lenient::nullable")]
    pub has_more: bool,
}

/// The maximum number of values in a result, as specified.
const MAX_VALUES: usize = 100;

impl CompletionValues {
    /// These values, of which only the first 100 are kept.
    pub fn new<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let values = values.into_iter().map(T::into).collect();
        Self { values, total: None, has_more: false }.limited()
    }

    /// Limits the values as specified.
    pub(crate) fn limited(mut self) -> Self {
        let count = self.values.len();
        self.has_more |= count > MAX_VALUES;
        self.values.truncate(MAX_VALUES);
        // A total that is smaller than the number of values is wrong.
        if !self.has_more || count > MAX_VALUES {
            self.total = Some(self.total.unwrap_or(0).max(count as u64));
        }
        self
    }

    /// The values in the result of an operation: an array, or an object of this type.
    pub(crate) fn of_result(result: &[u8]) -> Option<Self> {
        if result.starts_with(b"[") {
            return serde_json::from_slice::<Vec<String>>(result).ok().map(Self::new);
        }
        serde_json::from_slice::<Self>(result).ok().map(Self::limited)
    }
}

impl IntoOutcome for CompletionValues {
    fn into_outcome(self) -> Outcome {
        Outcome::result(&self)
    }
}
