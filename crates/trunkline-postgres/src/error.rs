use std::path::PathBuf;

use tokio_postgres::error::Severity;

/// The reason why a PostgreSQL database cannot be served. For the operator: it may name hosts, files and roles, but no
/// password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The URL cannot be parsed.
    #[error(
        "invalid PostgreSQL URL: {reason}; expected postgres://USER@HOST:PORT/DATABASE?sslmode=MODE"
    )]
    Url {
        /// The problem, without the URL, which may contain a password.
        reason: String,
    },
    /// A setting is invalid.
    #[error("setting `{setting}`: {reason}")]
    Setting {
        /// The parameter of the URL, the environment variable, or the field of the configuration.
        setting: &'static str,
        /// The problem.
        reason: String,
    },
    /// A file with certificates or passwords cannot be used.
    #[error("cannot use {}: {reason}", .path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// No host accepts connections.
    #[error(
        "cannot connect to {host}; check that the server is running, and the host and port of the URL"
    )]
    Io {
        /// The last host.
        host: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// TLS could not be established: the certificate is invalid or of another host, or the protocols differ.
    #[error(
        "cannot establish TLS with {host}; check `sslmode`, the file of root certificates, and the name of the host"
    )]
    Tls {
        /// The host.
        host: String,
        /// The error of the handshake.
        source: std::io::Error,
    },
    /// TLS is required, and the server does not support it.
    #[error("{host} does not support TLS, which `sslmode` requires")]
    NoTls {
        /// The host.
        host: String,
    },
    /// The server refused the connection: an unknown database, a wrong password, too many connections.
    #[error("{host} refused the connection: {message}")]
    Refused {
        /// The host.
        host: String,
        /// The message of the server.
        message: String,
    },
    /// The connection was not established in time.
    #[error("{host} did not accept the connection within {} ms; check the host and port of the URL, and firewalls",
        .limit.as_millis())]
    Timeout {
        /// The host.
        host: String,
        /// The time limit.
        limit: std::time::Duration,
    },
    /// The sessions of the server change between the statements of a transaction.
    #[error(
        "{host} is a connection pooler in statement mode, in which no transaction can run; set its `pool_mode` to \
         transaction or session, or connect to the PostgreSQL server itself"
    )]
    StatementPooling {
        /// The host.
        host: String,
    },
    /// The server is too old.
    #[error("PostgreSQL {version} is not supported; the oldest supported version is 12")]
    Version {
        /// The version of the server.
        version: String,
    },
    /// The role can read or write files of the server, or run programs there.
    #[error(
        "role `{role}` is not safe for callers: {reason}; set `allow_privileged_role`, or connect \
         with another role, for example one made by\n{remedy}"
    )]
    PrivilegedRole {
        /// The role.
        role: String,
        /// The privilege.
        reason: String,
        /// SQL that creates a role without it.
        remedy: String,
    },
}

/// Whether an error ends the connection: its stream failed, or the server or a pooler closes it.
///
/// Errors of statements can have the same SQLSTATEs: a function raises one, or the server of a foreign table cannot be
/// reached. They name their place in the source of PostgreSQL, and the session goes on. Those of poolers do not.
#[must_use]
pub fn is_connection_lost(error: &tokio_postgres::Error) -> bool {
    match error.as_db_error() {
        Some(found) => {
            let is_fatal =
                matches!(found.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
            let code = found.code().code();
            let is_of_connection = code.starts_with("08") || code.starts_with("57P");
            is_fatal || (is_of_connection && found.file().is_none())
        }
        None => {
            // A stream may end within a message.
            let source = std::error::Error::source(error);
            error.is_closed() || source.is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
        }
    }
}

impl ConnectError {
    /// Whether the server runs, and has reached its maximum number of connections.
    #[must_use]
    pub fn is_connection_limit(&self) -> bool {
        // PgBouncer has a message, and no code.
        const LIMITS: [&str; 3] =
            ["too many", "connection slots are reserved", "no more connections"];
        let Self::Refused { message, .. } = self else { return false };
        LIMITS.iter().any(|limit| message.contains(limit))
    }
}
