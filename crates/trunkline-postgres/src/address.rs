//! The address of a server: a URL, completed by the environment variables and the password file of PostgreSQL.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::ClientConfig;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::error::ConnectError;
use crate::pgpass;
use crate::tls::{self, TlsMode};

/// The hosts of a server, the user and the database.
pub struct Address {
    pub(crate) config: Config,
    pub(crate) hosts: Vec<(Host, u16)>,
    pub(crate) tls: Option<Tls>,
}

pub(crate) struct Tls {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) is_required: bool,
}

/// The parameters that tokio-postgres does not have, or reads differently.
#[derive(Default)]
struct TlsParameters {
    mode: Option<String>,
    roots: Option<PathBuf>,
}

impl Address {
    /// Parses a URL: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE&sslrootcert=FILE`. Missing parts come
    /// from the variables of PostgreSQL, such as `PGHOST`, and its password file. `variable` looks up the environment.
    ///
    /// # Errors
    /// If the URL, a variable, the password file or the file of certificates is invalid.
    pub fn parse(
        url: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConnectError> {
        let (url, mut parameters) = split_parameters(url)?;
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            // The message of the source names the option, but no value.
            let source = std::error::Error::source(&error);
            let reason = source.map_or_else(|| error.to_string(), ToString::to_string);
            ConnectError::Url { reason }
        })?;
        complete(&mut config, &variable)?;
        parameters.mode = parameters.mode.or_else(|| variable("PGSSLMODE"));
        parameters.roots =
            parameters.roots.or_else(|| variable("PGSSLROOTCERT").map(PathBuf::from));
        let ports = config.get_ports().to_vec();
        let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        let hosts: Vec<_> = (0..)
            .zip(config.get_hosts())
            .map(|(index, host)| (host.clone(), port(index)))
            .collect();
        if config.get_password().is_none()
            && let Some(password) = pgpass::find(&config, &hosts, &variable)?
        {
            config.password(password);
        }
        let tls = parameters.tls()?;
        // TLS is established before tokio-postgres gets the stream.
        config.ssl_mode(tokio_postgres::config::SslMode::Disable);
        Ok(Self { config, hosts, tls })
    }
}

impl fmt::Debug for Address {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl TlsParameters {
    fn tls(&self) -> Result<Option<Tls>, ConnectError> {
        let mode = self.mode.as_deref().map_or(Ok(TlsMode::Prefer), TlsMode::parse)?;
        if mode == TlsMode::Disable {
            return Ok(None);
        }
        // The name that PostgreSQL uses for the certificates of the system.
        let roots = self.roots.as_deref().filter(|path| *path != Path::new("system"));
        let config = tls::client_config(mode, roots)?;
        Ok(Some(Tls { config, is_required: mode >= TlsMode::Require }))
    }
}

/// Takes the parameters of TLS out of a URL.
fn split_parameters(url: &str) -> Result<(String, TlsParameters), ConnectError> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        let reason = "it does not begin with postgres:// or postgresql://".to_owned();
        return Err(ConnectError::Url { reason });
    }
    let mut parameters = TlsParameters::default();
    let Some((base, query)) = url.split_once('?') else {
        return Ok((url.to_owned(), parameters));
    };
    let mut others = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
        match name {
            "sslmode" => parameters.mode = Some(value()),
            "sslrootcert" => parameters.roots = Some(PathBuf::from(value())),
            _ => others.push(pair),
        }
    }
    let joint = if others.is_empty() { "" } else { "?" };
    Ok((format!("{base}{joint}{}", others.join("&")), parameters))
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
        check(
            "mysql://h/x",
            none,
            "invalid PostgreSQL URL: it does not begin with postgres:// or postgresql://",
        );
    }
}
