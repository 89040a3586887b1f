//! The address of a server: a URL, completed by the environment variables and the password file of PostgreSQL.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::ClientConfig;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::credentials::Credentials;
use crate::error::ConnectError;
use crate::pooling::{Pooling, Sessions};
use crate::target::TargetSession;
use crate::tls::{self, TlsMode};
use crate::url::PostgresUrl;

/// The hosts of a server, the user and the database.
pub struct Address {
    /// The configuration without the password of a file.
    pub(crate) config: Config,
    pub(crate) credentials: Credentials,
    pub(crate) hosts: Vec<(Host, u16)>,
    pub(crate) tls: Option<Tls>,
    pub(crate) target: TargetSession,
    pooling: Pooling,
    /// Whether a connection has shown that sessions are shared.
    has_pooler: AtomicBool,
    /// Whether a connection has shown that transactions can run.
    has_transactions: AtomicBool,
    fresh_session: String,
}

pub(crate) struct Tls {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) is_required: bool,
}

impl Address {
    /// [`new`](Self::new) with a URL as text.
    ///
    /// # Errors
    /// As of [`new`](Self::new), and if the URL is invalid.
    pub fn parse(
        url: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConnectError> {
        Self::new(&url.parse()?, None, variable)
    }

    /// Completes a URL by the variables of PostgreSQL, such as `PGHOST`, and its password file. `variable` looks up the
    /// environment. `ca_file` takes precedence over `sslrootcert`.
    ///
    /// # Errors
    /// If a variable, the password file or the file of certificates is invalid.
    pub fn new(
        url: &PostgresUrl,
        ca_file: Option<&Path>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConnectError> {
        let mut config = url.completed(&variable)?.config;
        let ports = config.get_ports().to_vec();
        let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        let hosts: Vec<_> = (0..)
            .zip(config.get_hosts())
            .map(|(index, host)| (host.clone(), port(index)))
            .collect();
        let tls = tls(url, ca_file, &variable)?;
        // TLS is established before tokio-postgres gets the stream.
        config.ssl_mode(tokio_postgres::config::SslMode::Disable);
        let credentials = Credentials::new(url, config.clone(), &hosts, &variable)?;
        let fresh_session = fresh_session(config.get_application_name().unwrap_or_default());
        let (has_pooler, has_transactions) = (AtomicBool::new(false), AtomicBool::new(false));
        let pooling = url.pooling;
        let target = target(url, &variable)?;
        Ok(Self {
            config,
            credentials,
            hosts,
            tls,
            target,
            pooling,
            has_pooler,
            has_transactions,
            fresh_session,
        })
    }

    /// Sets whether sessions are shared, unless it is [`Pooling::Detect`]. It takes precedence over the URL.
    #[must_use]
    pub fn with_pooling(self, pooling: Pooling) -> Self {
        match pooling {
            Pooling::Detect => self,
            pooling => Self { pooling, ..self },
        }
    }

    /// The sessions of connections that are opened now.
    #[must_use]
    pub fn sessions(&self) -> Sessions {
        let is_shared = match self.pooling {
            Pooling::Detect => self.has_pooler.load(Ordering::Acquire),
            Pooling::Transaction => true,
            Pooling::Session => false,
        };
        if is_shared { Sessions::Shared } else { Sessions::Own }
    }

    /// Whether a new connection is tested. Behind a pooler, only the first one: others would wait for a session without
    /// need, until a call has one for them.
    pub(crate) fn needs_test(&self) -> bool {
        self.sessions() == Sessions::Own || !self.has_transactions.load(Ordering::Acquire)
    }

    /// Notes that a connection has run a transaction, and whether in the process of the server that was reported for it.
    /// Otherwise, it is behind a pooler, and later connections have shared sessions, unless the configuration differs.
    pub(crate) fn note_transaction(&self, is_direct: bool) {
        self.has_transactions.store(true, Ordering::Release);
        if !is_direct
            && self.pooling == Pooling::Detect
            && !self.has_pooler.swap(true, Ordering::AcqRel)
        {
            tracing::info!(address = %self, "{}", Sessions::Shared);
        }
    }

    /// Notes that a prepared statement was missing in a session, which a pooler shares that was not noticed. Later
    /// connections have shared sessions, unless the configuration differs.
    pub fn note_lost_statement(&self) {
        if self.has_pooler.swap(true, Ordering::AcqRel) {
            return;
        }
        match self.pooling {
            Pooling::Detect => tracing::warn!(
                address = %self,
                "a prepared statement is missing in its session, so {}", Sessions::Shared
            ),
            _ => tracing::warn!(
                address = %self,
                "a prepared statement is missing in its session, although `transaction_pooling` is false; \
                 calls are repeated"
            ),
        }
    }

    /// The statements that remove what other clients have left in a shared session, as the first ones of a transaction.
    /// They end with it: a rollback restores what they remove, except for the values of sequences. They need no privileges
    /// and may run in a transaction that is READ ONLY.
    #[must_use]
    pub fn fresh_session(&self) -> &str {
        &self.fresh_session
    }
}

impl PostgresUrl {
    /// Adds what the URL leaves out by the variables of PostgreSQL, such as `PGHOST`, and the defaults.
    ///
    /// # Errors
    /// If a variable is invalid.
    pub fn completed(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConnectError> {
        let mut url = self.clone();
        complete(&mut url.config, &variable)?;
        Ok(url)
    }
}

impl fmt::Debug for Address {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl fmt::Display for Address {
    /// The hosts and the database: `postgres://HOST:PORT/DATABASE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        for (index, (host, port)) in self.hosts.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{separator}{name}:{port}")?,
                #[cfg(unix)]
                Host::Unix(directory) => write!(f, "{separator}{}:{port}", directory.display())?,
            }
        }
        let database = self.config.get_dbname().or(self.config.get_user());
        write!(f, "/{}", database.unwrap_or_default())
    }
}

/// The role, the settings, temporary tables and sequences. Settings return to those that a new connection would have. The
/// encoding is that of the driver, which the server would have learned from a new connection, as it would have the name.
fn fresh_session(application_name: &str) -> String {
    let name = application_name.replace('\\', "\\\\").replace('\'', "''");
    format!(
        "RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL; DISCARD TEMP; DISCARD SEQUENCES; \
         SET client_encoding = 'UTF8'; SET application_name = E'{name}'"
    )
}

/// The parameter `target_session_attrs`, or its variable.
fn target(
    url: &PostgresUrl,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<TargetSession, ConnectError> {
    const VARIABLE: &str = "PGTARGETSESSIONATTRS";
    let of_variable = || variable(VARIABLE).map(|text| text.parse::<TargetSession>()).transpose();
    let target = url.target.map_or_else(of_variable, |target| Ok(Some(target)));
    let setting = |expected: &'static str| ConnectError::Setting {
        setting: VARIABLE,
        reason: expected.to_owned(),
    };
    Ok(target.map_err(setting)?.unwrap_or_default())
}

/// The configuration of TLS. None if it is disabled.
fn tls(
    url: &PostgresUrl,
    ca_file: Option<&Path>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Tls>, ConnectError> {
    let roots = ca_file.map(Path::to_owned).or_else(|| url.ssl_root_cert.clone());
    let roots = roots.or_else(|| variable("PGSSLROOTCERT").map(PathBuf::from));
    // The name that PostgreSQL uses for the certificates of the system.
    let (system, roots) = match roots.as_deref() {
        Some(path) if path == Path::new("system") => (true, None),
        roots => (false, roots),
    };
    let mode = url.ssl_mode.clone().or_else(|| variable("PGSSLMODE"));
    let default = if system { TlsMode::VerifyFull } else { TlsMode::Prefer };
    let mode = mode.as_deref().map_or(Ok(default), TlsMode::parse)?;
    // As in PostgreSQL's own clients: anyone can have a certificate of a public authority.
    if system && mode < TlsMode::VerifyFull {
        let reason =
            "`sslrootcert=system` verifies only with verify-full; set it, or remove `sslrootcert`";
        return Err(ConnectError::Setting { setting: "sslmode", reason: reason.to_owned() });
    }
    if mode == TlsMode::Disable {
        return Ok(None);
    }
    let config = tls::client_config(mode, roots)?;
    Ok(Some(Tls { config, is_required: mode >= TlsMode::Require }))
}

/// Adds what the URL leaves out.
fn complete(
    config: &mut Config,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<(), ConnectError> {
    let has_ports = !config.get_ports().is_empty();
    if config.get_hosts().is_empty() {
        let hosts = variable("PGHOST").unwrap_or_else(|| default_host().to_owned());
        hosts.split(',').for_each(|host| {
            config.host(host);
        });
    }
    if !has_ports && let Some(ports) = variable("PGPORT") {
        for port in ports.split(',') {
            let port = port.parse().map_err(|_| ConnectError::Setting {
                setting: "PGPORT",
                reason: "expected a port number".to_owned(),
            })?;
            config.port(port);
        }
    }
    if config.get_user().is_none() {
        let user = variable("PGUSER").or_else(|| variable("USER"));
        if let Some(user) = user {
            config.user(user);
        }
    }
    if config.get_password().is_none()
        && let Some(password) = variable("PGPASSWORD")
    {
        config.password(password);
    }
    if config.get_dbname().is_none()
        && let Some(name) = variable("PGDATABASE")
    {
        config.dbname(name);
    }
    if config.get_application_name().is_none() {
        config.application_name(variable("PGAPPNAME").unwrap_or_else(|| "trunkline".to_owned()));
    }
    Ok(())
}

/// The directory of Debian's sockets, if it exists.
fn default_host() -> &'static str {
    const SOCKETS: &str = "/var/run/postgresql";
    if Path::new(SOCKETS).is_dir() { SOCKETS } else { "localhost" }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[track_caller]
    fn check(url: &str, environment: &[(&str, &str)], expected: &str) {
        let variable = |name: &str| {
            environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        let shown = match Address::parse(url, variable) {
            Ok(address) => {
                let config = &address.config;
                let password = config.get_password().map(String::from_utf8_lossy);
                format!(
                    "{:?} {:?} {:?} {:?} tls={:?}",
                    address.hosts,
                    config.get_user().unwrap_or_default(),
                    password.unwrap_or_default(),
                    config.get_dbname().unwrap_or_default(),
                    address.tls.map(|tls| tls.is_required),
                )
            }
            Err(error) => error.to_string().split(';').next().unwrap_or_default().to_owned(),
        };
        assert_eq!(shown, expected, "{url}");
    }

    #[test]
    fn addresses() {
        let none: &[(&str, &str)] = &[("PGPASSFILE", "/nonexistent")];
        check(
            "postgres://ann:s%20t@db:5433/shop?sslmode=disable",
            none,
            r#"[(Tcp("db"), 5433)] "ann" "s t" "shop" tls=None"#,
        );
        check(
            "postgresql://a@h1,h2:5434/x?sslmode=require&application_name=y",
            none,
            r#"[(Tcp("h1"), 5432), (Tcp("h2"), 5434)] "a" "" "x" tls=Some(true)"#,
        );
        check(
            "postgres:///x",
            &[("PGHOST", "/tmp"), ("PGPORT", "6000"), ("PGUSER", "u"), ("PGPASSWORD", "p")],
            r#"[(Unix("/tmp"), 6000)] "u" "p" "x" tls=Some(false)"#,
        );
        check(
            "postgres://h/x?sslmode=on",
            none,
            "setting `sslmode`: expected disable, prefer, require, verify-ca or verify-full",
        );
        check(
            "postgres://h/x?nonsense=1",
            none,
            "invalid PostgreSQL URL: unknown option `nonsense`",
        );
        // Hosted servers.
        let system = "setting `sslmode`: `sslrootcert=system` verifies only with verify-full";
        for (parameters, environment, expected) in [
            ("?sslmode=verify-full&sslrootcert=system", none, Ok(Some(true))),
            ("?sslrootcert=system", none, Ok(Some(true))),
            ("?sslrootcert=system&sslmode=require", none, Err(system)),
            ("?sslrootcert=system&sslmode=disable", none, Err(system)),
            ("?sslmode=prefer", &[("PGSSLROOTCERT", "system")], Err(system)),
            ("", &[("PGSSLROOTCERT", "system")], Ok(Some(true))),
            ("?sslmode=require&channel_binding=require", none, Ok(Some(true))),
            ("?sslmode=require&options=endpoint%3Dep-a-1", none, Ok(Some(true))),
            ("?sslmode=require&connect_timeout=10&application_name=a", none, Ok(Some(true))),
            ("?pgbouncer=true&connect_timeout=15", none, Ok(Some(false))),
            ("?gssencmode=disable&client_encoding=UTF8", none, Ok(Some(false))),
            ("?target_session_attrs=read-write", none, Ok(Some(false))),
            ("", &[("PGTARGETSESSIONATTRS", "primary")], Ok(Some(false))),
            (
                "",
                &[("PGTARGETSESSIONATTRS", "x")],
                Err(
                    "setting `PGTARGETSESSIONATTRS`: expected any, read-write, read-only, primary, standby or prefer-standby",
                ),
            ),
        ] {
            let url = format!("postgres://u.ref:p%23@h/x{parameters}");
            let address = Address::parse(&url, |name| {
                environment
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            });
            match (address, expected) {
                (Ok(address), Ok(tls)) => {
                    assert_eq!(address.tls.map(|tls| tls.is_required), tls, "{parameters}");
                }
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (found, _) => panic!("{parameters}: {found:?}"),
            }
        }
        check(
            "mysql://h/x",
            none,
            "invalid PostgreSQL URL: it does not begin with postgres:// or postgresql://",
        );
    }
}
