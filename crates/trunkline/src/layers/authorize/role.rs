//! Roles: the methods and databases of callers.

use std::sync::Arc;

use serde_json::{Map, json};
use trunkline_access::Principal;
use trunkline_core::call::{Call, Description, Effect};
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extract::FromCall;
use trunkline_core::operation::Pattern;

use super::requirement::Requirement;
use crate::layers::call_database::CallDatabase;
use crate::layers::rate_limit::Rate;

/// A role: the methods, and the databases, that its members may use. Callers with several roles may call what one of
/// them permits.
///
/// ```
/// use trunkline::layers::authorize::{Role, Rules, claim};
///
/// let mut reader = Role::new("reader", ["db.*", "queries.*"]);
/// reader.members = Some(claim("role", "reader"));
/// reader.read_only = true;
/// let rules = Rules::new().role(reader);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Role {
    /// The name, for the operator.
    pub name: String,
    /// The callers with this role. Default: all, also those without a principal.
    pub members: Option<Requirement>,
    /// The methods: names, or prefixes and `*`.
    pub operations: Vec<Pattern>,
    /// Exceptions of `operations`. They concern this role only. Default: none.
    pub deny: Vec<Pattern>,
    /// Whether only calls are permitted whose [effect](Call::effect) is read-only. Default: false.
    pub read_only: bool,
    /// The names of databases, for [operations on databases](crate::layers::audit::DatabaseOperation). Case is ignored.
    /// `None`, the default: all databases.
    pub databases: Option<Vec<String>>,
    /// The rate limit of each member. The highest one of a caller's roles counts. Default: none.
    pub rate: Option<Rate>,
}

/// The databases that the roles of a caller permit in a call. Operations that list databases extract it.
#[derive(Debug, Clone, Default)]
pub struct PermittedDatabases(Option<Arc<[String]>>);

impl Role {
    /// A role of all callers for methods that match one of the patterns, on all databases.
    pub fn new<'p>(name: impl Into<String>, operations: impl IntoIterator<Item = &'p str>) -> Self {
        Self {
            name: name.into(),
            members: None,
            operations: operations.into_iter().map(Pattern::new).collect(),
            deny: Vec::new(),
            read_only: false,
            databases: None,
            rate: None,
        }
    }

    pub(super) fn has(&self, principal: Option<&Principal>) -> bool {
        match &self.members {
            None => true,
            Some(members) => principal.is_some_and(|principal| members.is_met_by(principal)),
        }
    }

    /// Whether members may use the method, or something else, of this name.
    pub(super) fn permits(&self, name: &str) -> bool {
        Pattern::any(&self.operations, name) && !Pattern::any(&self.deny, name)
    }

    pub(super) fn permits_database(&self, database: Option<&str>) -> bool {
        match (&self.databases, database) {
            (None, _) => true,
            (Some(permitted), Some(database)) => contains(permitted, database),
            (Some(_), None) => false,
        }
    }

    fn permits_effect(&self, effect: Option<Effect>) -> bool {
        !self.read_only || effect == Some(Effect::ReadOnly)
    }
}

/// An operation, as far as roles refer to it.
#[derive(Debug, Clone)]
pub(super) struct RoleTarget {
    database: Option<CallDatabase>,
    /// Whether a call without params is read-only. Members of a role that is read-only see no other operations.
    is_read_only: bool,
}

impl RoleTarget {
    /// An unknown method, which is like an operation without a declared effect.
    pub(super) const UNKNOWN: Self = Self { database: None, is_read_only: false };

    pub(super) fn of(description: &Description) -> Self {
        Self {
            database: description.extensions.get().cloned(),
            is_read_only: description.effect_of(&Map::new()) == Some(Effect::ReadOnly),
        }
    }

    /// Whether a role permits calls of the operation of this name.
    pub(super) fn is_visible<'r>(
        &self,
        name: &str,
        mut roles: impl Iterator<Item = &'r Role>,
    ) -> bool {
        let database = self.database.as_ref().and_then(CallDatabase::fixed);
        roles.any(|role| {
            role.permits(name)
                && (!role.read_only || self.is_read_only)
                && database.is_none_or(|database| role.permits_database(Some(database)))
        })
    }

    /// Checks that a role permits a call, and adds the [`PermittedDatabases`].
    pub(super) fn check<'r>(
        &self,
        name: &str,
        roles: impl Iterator<Item = &'r Role>,
        call: &mut Call,
    ) -> Result<(), ErrorObject> {
        let mut roles: Vec<&Role> = roles.filter(|role| role.permits(name)).collect();
        let refuse = |what: &str| {
            let reason = format!("no role of the caller permits `{name}`{what}");
            let error = ErrorObject::new(code::FORBIDDEN, "Forbidden");
            Err(error.with_data(&json!({ "reason": reason })))
        };
        if roles.is_empty() {
            return refuse("");
        }
        // The effect of some calls depends on their params.
        let effect = roles.iter().any(|role| role.read_only).then(|| call.effect()).flatten();
        roles.retain(|role| role.permits_effect(effect));
        if roles.is_empty() {
            return refuse(" for calls that may change data");
        }
        if let Some(database) = &self.database {
            let database = database.of_call(call);
            if !roles.iter().any(|role| role.permits_database(database.as_deref())) {
                return refuse(match &database {
                    Some(_) => " on this database",
                    None => {
                        " on an unknown database: send params by name, and `database` once, as a string"
                    }
                });
            }
        }
        let databases: Option<Vec<_>> = roles.iter().map(|role| role.databases.as_ref()).collect();
        if let Some(databases) = databases {
            let permitted = databases.into_iter().flatten().cloned().collect();
            call.extensions_mut().insert(PermittedDatabases(Some(permitted)));
        }
        Ok(())
    }
}

impl PermittedDatabases {
    /// Whether the database of this name is permitted.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|permitted| contains(permitted, name))
    }
}

impl<S> FromCall<S> for PermittedDatabases {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(call.extensions().get().cloned().unwrap_or_default())
    }
}

fn contains(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}
