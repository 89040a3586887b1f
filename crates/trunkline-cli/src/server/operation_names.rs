//! The names that patterns of rules and roles refer to.

use trunkline::Pattern;
use trunkline::protocol::may_match_prefix;
use trunkline_sql::saved_query::SavedQuery;

/// The namespace of saved queries.
pub(super) const QUERIES: &str = "queries";

/// The name of access to the history and the logs.
pub(super) const HISTORY: &str = "history";

/// The name of `POST /admin/reload`.
pub(super) const RELOAD: &str = "admin.reload";

/// The names of what can be permitted and is not an operation.
const PERMISSIONS: [&str; 3] = [HISTORY, RELOAD, trunkline_command_tools::RELOAD_PERMISSION];

/// The names of all operations, and of what else can be permitted.
pub(crate) struct OperationNames {
    names: Vec<String>,
    /// The prefixes of operations that are added while the server runs, except for those of upstreams.
    dynamic: Vec<String>,
    /// The prefixes of upstreams.
    upstreams: Vec<String>,
    /// The prefixes of all operations except those of the agent, for messages.
    pub(super) prefixes: Vec<String>,
}

impl OperationNames {
    /// The names of operations, the namespaces of those that are added while the server runs, and prefixes for
    /// messages.
    pub(super) fn new(
        operations: impl Iterator<Item = String>,
        dynamic: impl Iterator<Item = String>,
        upstreams: impl Iterator<Item = String>,
        prefixes: Vec<String>,
    ) -> Self {
        let names = operations.chain(PERMISSIONS.map(str::to_owned)).collect();
        let dynamic = dynamic.map(|namespace| namespace + ".").collect();
        let upstreams = upstreams.map(|namespace| namespace + ".").collect();
        Self { names, dynamic, upstreams, prefixes }
    }

    /// The same, with these upstreams instead of the present ones. The error is a name that is the prefix of other
    /// methods.
    pub(super) fn with_upstreams(
        &self,
        upstreams: impl Iterator<Item = String>,
    ) -> Result<Self, String> {
        let is_other = |prefix: &&String| !self.upstreams.contains(prefix);
        let others: Vec<_> = self.prefixes.iter().filter(is_other).cloned().collect();
        let upstreams: Vec<_> = upstreams.map(|namespace| namespace + ".").collect();
        if let Some(taken) = upstreams.iter().find(|prefix| others.contains(prefix)) {
            return Err(taken.trim_end_matches('.').to_owned());
        }
        let prefixes = others.into_iter().chain(upstreams.iter().cloned()).collect();
        let (names, dynamic) = (self.names.clone(), self.dynamic.clone());
        Ok(Self { names, dynamic, upstreams, prefixes })
    }

    /// The same, with these saved queries instead of the present ones.
    pub(super) fn with_queries(&self, queries: &[SavedQuery]) -> Self {
        let prefix = format!("{QUERIES}.");
        let queries = queries.iter().map(|query| format!("{prefix}{}", query.name));
        let others = self.names.iter().filter(|name| !name.starts_with(&prefix)).cloned();
        let names = others.chain(queries).collect();
        let (dynamic, upstreams) = (self.dynamic.clone(), self.upstreams.clone());
        Self { names, dynamic, upstreams, prefixes: self.prefixes.clone() }
    }

    /// Whether the pattern matches a name, or one that may be added.
    pub(super) fn has_match(&self, pattern: &str) -> bool {
        let may_match = |prefix: &String| may_match_prefix(pattern, prefix);
        let matcher = Pattern::new(pattern);
        let mut dynamic = self.dynamic.iter().chain(&self.upstreams);
        self.names.iter().any(|name| matcher.matches(name)) || dynamic.any(may_match)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        self.names.iter().map(String::as_str)
    }
}
