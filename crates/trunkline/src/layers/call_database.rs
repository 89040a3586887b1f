//! The database of a call, which the audit log records and roles refer to.

use std::borrow::Cow;
use std::sync::Arc;

use trunkline_core::call::Call;
use trunkline_core::operation::Operation;

/// The database of the calls of an operation. An extension of its description.
#[derive(Debug, Clone)]
pub(super) enum CallDatabase {
    /// All calls have this one.
    Fixed(Arc<str>),
    /// The param `database` selects it.
    Selected { default: Arc<str> },
}

/// Names the database of an operation, for the audit log and for the databases of
/// [roles](super::authorize::Role::databases).
pub trait DatabaseOperation: Sized {
    /// Sets the database of all calls.
    #[must_use]
    fn database(self, name: &str) -> Self;

    /// Sets the database of calls without the param `database`, which selects another one by its name. That of calls
    /// with params by position is unknown, so roles with [databases](super::authorize::Role::databases) refuse them.
    #[must_use]
    fn default_database(self, name: &str) -> Self;
}

impl<S> DatabaseOperation for Operation<S> {
    fn database(self, name: &str) -> Self {
        self.extension(CallDatabase::Fixed(name.into()))
    }

    fn default_database(self, name: &str) -> Self {
        self.extension(CallDatabase::Selected { default: name.into() })
    }
}

/// The param that selects a database.
const PARAM: &str = "database";

impl CallDatabase {
    /// The database of a call. `None` if it is unknown: the param is duplicated or not a string, or the params have
    /// positions, of which the handler may use any as the database.
    pub(super) fn of_call(&self, call: &Call) -> Option<Cow<'_, str>> {
        let default = match self {
            Self::Fixed(name) => return Some(Cow::Borrowed(name)),
            Self::Selected { default } => default,
        };
        if call.params().is_some_and(has_positions) {
            return None;
        }
        let ([named], []) = call.find_members(&[PARAM], ("", &[])).ok()?;
        let Some(named) = named else { return Some(Cow::Borrowed(default)) };
        match serde_json::from_slice::<Option<String>>(call.text(named)).ok()? {
            Some(name) => Some(Cow::Owned(name)),
            None => Some(Cow::Borrowed(default)),
        }
    }

    /// The database, if it is the same for all calls.
    pub(super) fn fixed(&self) -> Option<&str> {
        match self {
            Self::Fixed(name) => Some(name),
            Self::Selected { .. } => None,
        }
    }
}

/// Whether params are an array with elements.
fn has_positions(params: &[u8]) -> bool {
    params.starts_with(b"[") && serde_json::from_slice::<[u8; 0]>(params).is_err()
}
