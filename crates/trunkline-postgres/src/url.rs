use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::error::ConnectError;
use crate::pooling::Pooling;

/// The URL of a database: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE&sslrootcert=FILE`. The parameter
/// `transaction_pooling`, or `pgbouncer`, is `true` or `false` instead of [`Pooling::Detect`].
///
/// `Display` and `Debug` omit the password and the parameters.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// The parts that the driver reads.
    pub(crate) config: Config,
    pub(crate) ssl_mode: Option<String>,
    pub(crate) ssl_root_cert: Option<PathBuf>,
    pub(crate) pooling: Pooling,
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
        let mut pooling = Pooling::Detect;
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
                "transaction_pooling" | "pgbouncer" => {
                    let given = value()
                        .parse()
                        .map_err(|expected| invalid(format!("`{name}`: {expected}")))?;
                    if pooling != Pooling::Detect && pooling != given {
                        let reason = "`transaction_pooling` and `pgbouncer` contradict each other";
                        return Err(invalid(reason.to_owned()));
                    }
                    pooling = given;
                }
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
        Ok(Self { config, ssl_mode, ssl_root_cert, pooling })
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
    use crate::pooling::Pooling;

    #[track_caller]
    fn check_pooling(parameters: &str, expected: Result<Pooling, &str>) {
        let url = format!("postgres://app@db/shop{parameters}").parse::<PostgresUrl>();
        let found = url.map(|url| url.pooling).map_err(|error| error.to_string());
        match (&found, &expected) {
            (Err(error), Err(part)) => assert!(error.contains(part), "{parameters}: {error}"),
            _ => assert_eq!(found.as_ref().ok(), expected.as_ref().ok(), "{parameters}: {found:?}"),
        }
    }

    #[test]
    fn pooling() {
        check_pooling("", Ok(Pooling::Detect));
        check_pooling("?pgbouncer=true", Ok(Pooling::Transaction));
        check_pooling("?sslmode=disable&transaction_pooling=true", Ok(Pooling::Transaction));
        check_pooling("?transaction_pooling=false&sslmode=disable", Ok(Pooling::Session));
        check_pooling("?pgbouncer=true&transaction_pooling=true", Ok(Pooling::Transaction));
        check_pooling("?pgbouncer=true&transaction_pooling=false", Err("contradict each other"));
        check_pooling("?pgbouncer=yes", Err("`pgbouncer`: expected true or false"));
        check_pooling("?pgbouncer", Err("`pgbouncer`: expected true or false"));
    }

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
