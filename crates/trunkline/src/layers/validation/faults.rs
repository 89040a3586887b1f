use std::fmt::{self, Display};

use serde::Serialize;
use trunkline_core::error::{ErrorObject, code, excerpt};

/// The faults of the params of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    faults: Vec<Fault>,
    more: bool,
}

/// One place in params that does not match the schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fault {
    /// The place: a JSON Pointer (RFC 6901) into the params by name. Empty for the params as a whole.
    pub pointer: String,
    /// The reason.
    pub reason: String,
}

/// The reason in large params, whose parts are not searched for faults.
const NO_MATCH: &str = "does not match the schema";
/// The maximum number of listed faults.
pub(super) const MAX_LISTED: usize = 5;
/// The maximum length of a place or a reason, in characters: both can contain names from the caller.
const MAX_CHARS: usize = 200;

impl Faults {
    /// The first faults in the order of their discovery, 5 at most.
    #[must_use]
    pub fn as_slice(&self) -> &[Fault] {
        &self.faults
    }

    /// Whether there are more than the listed ones.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.more
    }

    pub(super) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    pub(super) fn whole(reason: String) -> Self {
        Self { faults: vec![Fault { pointer: String::new(), reason }], more: false }
    }
}

impl Fault {
    pub(super) fn new(pointer: &impl Display, reason: &impl Display) -> Self {
        let shortened = |text: &dyn Display| excerpt(&text.to_string(), MAX_CHARS).into_owned();
        Self { pointer: shortened(pointer), reason: shortened(reason) }
    }

    pub(super) fn of_param(name: &str) -> Self {
        Self::new(&format_args!("/{}", escaped(name)), &NO_MATCH)
    }
}

/// One line: `/count: 0 is less than the minimum of 1`.
impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, reason } = self;
        match (&**pointer, &**reason) {
            ("", _) => f.write_str(reason),
            (_, NO_MATCH) => write!(f, "{pointer} {reason}"),
            _ => write!(f, "{pointer}: {reason}"),
        }
    }
}

/// Takes the listed faults, and one more to know whether there are more.
impl FromIterator<Fault> for Faults {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> Self {
        let mut faults = faults.into_iter();
        let listed = faults.by_ref().take(MAX_LISTED).collect();
        Self { faults: listed, more: faults.next().is_some() }
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self { faults: vec![fault], more: false }
    }
}

/// -32602 with `data.errors`, and `data.more` if there are more.
impl From<Faults> for ErrorObject {
    fn from(faults: Faults) -> Self {
        #[derive(Serialize)]
        struct Data {
            errors: Vec<Fault>,
            #[serde(skip_serializing_if = "is_false")]
            more: bool,
        }
        let data = Data { errors: faults.faults, more: faults.more };
        Self::new(code::INVALID_PARAMS, "Invalid params").with_data(&data)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A name as a part of a JSON Pointer (RFC 6901, section 3).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
