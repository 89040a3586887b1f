use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::error::ConnectError;

/// The URL of a database: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE&sslrootcert=FILE`.
///
/// `Display` and `Debug` omit the password and the parameters.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// The parts that the driver reads.
    pub(crate) config: Config,
    pub(crate) ssl_mode: Option<String>,
    pub(crate) ssl_root_cert: Option<PathBuf>,
}

impl PostgresUrl {
    /// Whether a text has the scheme of PostgreSQL.
    #[must_use]
    pub fn has_scheme(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// The name of the database, if the URL contains one.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.config.get_dbname()
    }
}

impl FromStr for PostgresUrl {
    type Err = ConnectError;

    fn from_str(text: &str) -> Result<Self, ConnectError> {
        let invalid = |reason: String| ConnectError::Url { reason };
        if !Self::has_scheme(text) {
            return Err(invalid("it does not begin with postgres:// or postgresql://".to_owned()));
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut ssl_mode, mut ssl_root_cert, mut others) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            // It may be a part of a password.
            if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
                let reason = "the text after `?` is not a list of parameters; write `?` in a password as %3F";
                return Err(invalid(reason.to_owned()));
            }
            let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "sslmode" => ssl_mode = Some(value()),
                "sslrootcert" => ssl_root_cert = Some(PathBuf::from(value())),
                _ => others.push(pair),
            }
        }
        let joint = if others.is_empty() { "" } else { "?" };
        let rest = format!("{base}{joint}{}", others.join("&"));
        let config = rest.parse().map_err(|error: tokio_postgres::Error| {
            // The message of the source names the option, but no value.
            let source = std::error::Error::source(&error);
            invalid(source.map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        Ok(Self { config, ssl_mode, ssl_root_cert })
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(formatter, "{user}@")?;
        }
        let ports = self.config.get_ports();
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match host {
                Host::Tcp(name) => write!(formatter, "{comma}{name}")?,
                #[cfg(unix)]
                Host::Unix(path) => {
                    let path = path.display().to_string().replace('/', "%2F");
                    write!(formatter, "{comma}{path}")?;
                }
            }
            if let Some(port) = ports.get(index).or(ports.first()) {
                write!(formatter, ":{port}")?;
            }
        }
        write!(formatter, "/{}", self.database().unwrap_or_default())
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PostgresUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::PostgresUrl;

    #[test]
    fn passwords_are_not_shown() {
        for (url, expected) in [
            ("postgres://ann:s3cret@db:5433/shop?sslmode=disable", "postgres://ann@db:5433/shop"),
            ("postgres://ann:a/s3cret@db/shop", "postgres://ann@db:5432/shop"),
            ("postgresql://ann@h1,h2:6000/x?password=s3cret", "postgres://ann@h1:5432,h2:6000/x"),
            ("postgres:///shop", "postgres:///shop"),
            ("postgres://%2Ftmp/shop", "postgres://%2Ftmp:5432/shop"),
            ("postgres://ann:a?s3cret@db/shop", "invalid"),
            ("postgres://ann:12?s3cret@db/shop", "invalid"),
            ("postgres://ann:s3cret@db:port/shop", "invalid"),
            ("postgres://ann:s3cret@db/shop?sslmode=x&nothing=s3cret", "invalid"),
            ("mysql://ann:s3cret@db/shop", "invalid"),
        ] {
            let shown = match url.parse::<PostgresUrl>() {
                Ok(url) => {
                    assert!(!format!("{url:?}").contains("s3cret"), "{url:?}");
                    url.to_string()
                }
                Err(error) => {
                    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
                    "invalid".to_owned()
                }
            };
            assert_eq!(shown, expected, "{url}");
        }
    }
}
