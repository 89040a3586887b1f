use std::path::PathBuf;
use std::time::Duration;

use trunkline_postgres::Pooling;

use super::role_rule::RoleRule;
use crate::model::limits::QueryLimits;
use crate::model::visibility::VisibilityRules;

/// Configuration of [`Postgres`](super::Postgres). The defaults suit a server whose callers are not trusted.
#[derive(Clone, Debug)]
pub struct PostgresConfig {
    /// The limits of each call.
    pub limits: QueryLimits,
    /// The tables that callers see, and the columns that are masked. By default, all tables are visible.
    pub rules: VisibilityRules,
    /// Whether callers may change the database. Default false: every transaction is `READ ONLY`.
    pub writable: bool,
    /// File of root certificates in PEM, for `sslmode` `verify-ca` and `verify-full`. Default: that of the URL, of
    /// `PGSSLROOTCERT`, or the certificates of the system.
    pub ca_file: Option<PathBuf>,
    /// Maximum number of connections, which is the number of calls that run at the same time. At least 1. Default 8.
    pub connections: usize,
    /// Maximum number of calls that wait for a connection. Further calls fail with `Busy`. Default 64.
    pub queue: usize,
    /// Maximum wait for a connection before a call fails with `Busy`. Default 2 s.
    pub queue_wait: Duration,
    /// Maximum time for opening a connection to the server. Default 5 s.
    pub connect_timeout: Duration,
    /// Whether transactions share the sessions of the server, as behind PgBouncer in transaction mode. Then no statement
    /// is kept prepared, each transaction begins with the settings of a new session, and the statement of a lost caller
    /// ends at its timeout instead of being cancelled. Default: that of the URL, or [`Pooling::Detect`].
    pub pooling: Pooling,
    /// Number of reading statements of callers that each connection keeps prepared. Zero disables it, as do shared
    /// sessions, `role` and `role_rule`. Lookups in the system catalogs are kept prepared in addition, unless this is zero
    /// or sessions are shared. Default 64.
    pub statement_cache: usize,
    /// Maximum wait for a lock of another session before a call fails with `Locked`. Default 1 s.
    pub lock_wait: Duration,
    /// Maximum size of one message of the server, in bytes. A row is one message. A larger row ends its connection and
    /// its call. Default 16 MiB.
    pub max_message: usize,
    /// The role of callers, which each transaction sets with `SET LOCAL ROLE`. The role of the connection must be a
    /// member of it. Default: the role of the connection.
    pub role: Option<String>,
    /// The rule for the roles of callers, which takes precedence over `role`. Default: all callers have the same role.
    pub role_rule: Option<RoleRule>,
    /// Whether to serve with a role that can read or write files of the server, or run programs there: a superuser, or
    /// a member of `pg_read_server_files`, `pg_write_server_files` or `pg_execute_server_program`. Default false.
    pub allow_privileged_role: bool,
}

impl Default for PostgresConfig {
    fn default() -> Self {
        Self {
            limits: QueryLimits::default(),
            rules: VisibilityRules::default(),
            writable: false,
            ca_file: None,
            connections: 8,
            queue: 64,
            queue_wait: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(5),
            pooling: Pooling::Detect,
            statement_cache: 64,
            lock_wait: Duration::from_secs(1),
            max_message: 16 << 20,
            role: None,
            role_rule: None,
            allow_privileged_role: false,
        }
    }
}
