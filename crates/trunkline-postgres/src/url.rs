use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::error::ConnectError;
use crate::keywords;
use crate::pooling::Pooling;
use crate::target::TargetSession;

/// The URL of a database: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE&sslrootcert=FILE`, or the same as
/// a list of keywords: `host=HOST user=USER dbname=DATABASE`. The parameter `transaction_pooling`, or `pgbouncer`, is
/// `true` or `false` instead of [`Pooling::Detect`].
///
/// `Display` and `Debug` omit the password and the parameters, and no error contains a part of the password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// The parts that the driver reads.
    pub(crate) config: Config,
    pub(crate) ssl_mode: Option<String>,
    pub(crate) ssl_root_cert: Option<PathBuf>,
    pub(crate) pooling: Pooling,
    pub(crate) target: Option<TargetSession>,
    pub(crate) password_file: Option<PathBuf>,
    source: Option<Source>,
}

/// The place of a URL that may change.
#[derive(Clone)]
struct Source(Arc<dyn Fn() -> Result<String, String> + Send + Sync>);

/// A URL is the same wherever it is read.
impl PartialEq for Source {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Source {}

/// The parameters that this crate reads itself.
#[derive(Default)]
struct Parameters {
    ssl_mode: Option<String>,
    ssl_root_cert: Option<PathBuf>,
    pooling: Option<Pooling>,
    target: Option<TargetSession>,
    password_file: Option<PathBuf>,
    default_application_name: Option<String>,
}

impl PostgresUrl {
    /// Whether a text is meant as a URL or a list of keywords of PostgreSQL. It may be invalid.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        without_scheme(text).is_some() || keywords::are_meant(text)
    }

    /// The name of the database, if the URL contains one.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.config.get_dbname()
    }

    /// Reads the URL again for each new connection, such as from a file whose password is rotated: `read` returns its text,
    /// or an error without parts of it. The user and the password are used; if other parts have changed, those of the
    /// previous URL remain in use.
    #[must_use]
    pub fn with_source(
        self,
        read: impl Fn() -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        Self { source: Some(Source(Arc::new(read))), ..self }
    }

    /// Whether the URL is read again.
    pub(crate) fn has_source(&self) -> bool {
        self.source.is_some()
    }

    /// Reads the URL again, if it has a source. Blocks.
    pub(crate) fn read_again(&self) -> Option<Result<Self, ConnectError>> {
        let Source(read) = self.source.as_ref()?;
        Some(read().map_err(invalid).and_then(|text| text.parse()))
    }

    /// A text of all parts except for the user and the password, to compare URLs. It may contain other secrets.
    #[must_use]
    pub fn without_credentials(&self) -> String {
        let Self { config, ssl_mode, ssl_root_cert, pooling, target, password_file, source: _ } =
            self;
        let mut config = config.clone();
        config.user("").password("");
        format!(
            "{config:?} {ssl_mode:?} {ssl_root_cert:?} {pooling:?} {target:?} {password_file:?}"
        )
    }

    /// A configuration in the syntax of the driver, with the other parameters.
    fn new(text: &str, parameters: Parameters) -> Result<Self, ConnectError> {
        let mut config: Config = text.parse().map_err(|error: tokio_postgres::Error| {
            // The message of the source names the option, but no value.
            let source = std::error::Error::source(&error);
            let message = source.map_or_else(|| error.to_string(), ToString::to_string);
            let remedy = keywords::remedy_for_unknown(&message);
            invalid(message + remedy)
        })?;
        // Otherwise, it may be a part of a password that is looked up and printed.
        if !config.get_hosts().iter().all(is_valid_host) {
            let reason = "the host contains characters that no host has; write `@`, `/`, `?`, `#`, `:` and `%` in \
                          passwords as %40, %2F, %3F, %23, %3A and %25";
            return Err(invalid(reason));
        }
        let Parameters { ssl_mode, ssl_root_cert, pooling, target, password_file, .. } = parameters;
        if let (None, Some(name)) =
            (config.get_application_name(), parameters.default_application_name)
        {
            config.application_name(name);
        }
        let pooling = pooling.unwrap_or(Pooling::Detect);
        Ok(Self { config, ssl_mode, ssl_root_cert, pooling, target, password_file, source: None })
    }
}

impl Parameters {
    /// Takes a parameter. Returns false if it is one of the driver.
    fn take(&mut self, name: &str, value: impl Fn() -> String) -> Result<bool, ConnectError> {
        match name {
            "sslmode" => self.ssl_mode = Some(value()),
            "sslrootcert" => self.ssl_root_cert = Some(PathBuf::from(value())),
            "passfile" => self.password_file = Some(PathBuf::from(value())),
            "fallback_application_name" => self.default_application_name = Some(value()),
            "target_session_attrs" => {
                let target = value().parse();
                let target = target.map_err(|expected| invalid(format!("`{name}`: {expected}")))?;
                self.target = Some(target);
            }
            // The values that this client has anyway.
            "client_encoding" if is_utf8(&value()) => {}
            "client_encoding" => {
                return Err(invalid("`client_encoding`: the only supported encoding is UTF8"));
            }
            "gssencmode" if matches!(&*value(), "disable" | "prefer") => {}
            "gssencmode" => return Err(invalid("`gssencmode`: GSSAPI is not supported")),
            "transaction_pooling" | "pgbouncer" => {
                let given = value().parse();
                let given = given.map_err(|expected| invalid(format!("`{name}`: {expected}")))?;
                if self.pooling.replace(given).is_some_and(|other| other != given) {
                    return Err(invalid(
                        "`transaction_pooling` and `pgbouncer` contradict each other",
                    ));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl FromStr for PostgresUrl {
    type Err = ConnectError;

    fn from_str(text: &str) -> Result<Self, ConnectError> {
        match without_scheme(text) {
            Some(rest) => of_url(rest),
            None if keywords::are_meant(text) => of_keywords(text),
            None => Err(invalid("it does not begin with postgres:// or postgresql://")),
        }
    }
}

/// The text after the scheme, which may have a driver, as in other libraries: `postgresql+psycopg2://`,
/// `jdbc:postgresql://`.
fn without_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let scheme = scheme.strip_prefix("jdbc:").unwrap_or(&scheme);
    let (engine, driver) = scheme.split_once('+').unwrap_or((scheme, ""));
    let is_driver = driver.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (matches!(engine, "postgres" | "postgresql") && is_driver).then_some(rest)
}

/// Reads a URL without its scheme. The driver splits it at the first `@`, wherever that is, and other libraries at
/// other ones, so what is ambiguous is refused: a part of the password would become the host.
fn of_url(rest: &str) -> Result<PostgresUrl, ConnectError> {
    let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
    let base = match base.split_once('@') {
        Some((_, host)) if host.contains('@') => {
            let reason = "it has more than one `@`; write `@` in a user, password or database as %40, and the user \
                          and password once, before the first host";
            return Err(invalid(reason));
        }
        // In the name of the database.
        Some((host, _)) if host.contains('/') && !host.contains(':') => base.replace('@', "%40"),
        _ => base.to_owned(),
    };
    let is_cut = query.contains('@') && !base.contains(['@', '/']);
    let mut parameters = Parameters::default();
    let mut others = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        // It may be a part of a password.
        let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if is_cut || !is_name || (query.contains('@') && !keywords::is_known(name)) {
            let reason =
                "the text after `?` is not a list of parameters; write `?` in a password as %3F";
            return Err(invalid(reason));
        }
        let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
        if !parameters.take(name, value)? {
            // The driver would split the URL there.
            others.push(pair.replace('@', "%40"));
        }
    }
    let joint = if others.is_empty() { "" } else { "?" };
    PostgresUrl::new(&format!("postgres://{base}{joint}{}", others.join("&")), parameters)
}

/// Reads a list of keywords.
fn of_keywords(text: &str) -> Result<PostgresUrl, ConnectError> {
    let mut parameters = Parameters::default();
    let mut others = String::new();
    let pairs = keywords::parse(text).ok_or_else(|| {
        invalid(
            "it is not a list KEYWORD=VALUE; write values with spaces in single quotes, and \' and \\ in them",
        )
    })?;
    let has_host = pairs.iter().any(|(name, _)| *name == "host");
    for (name, value) in pairs {
        let name = match name {
            "hostaddr" if has_host => {
                return Err(invalid("`hostaddr` is not supported together with `host`"));
            }
            "hostaddr" => "host",
            name => name,
        };
        if !parameters.take(name, || value.clone())? {
            let value = value.replace('\\', "\\\\").replace('\'', "\\'");
            others.push_str(&format!("{name}='{value}' "));
        }
    }
    PostgresUrl::new(&others, parameters)
}

fn is_utf8(encoding: &str) -> bool {
    matches!(&*encoding.to_ascii_lowercase(), "utf8" | "utf-8" | "unicode" | "auto")
}

fn is_valid_host(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name.chars().all(|character| character.is_alphanumeric() || ".-_:%".contains(character))
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn invalid(reason: impl Into<String>) -> ConnectError {
    ConnectError::Url { reason: reason.into() }
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

    #[track_caller]
    fn check_same_server(one: &str, other: &str, expected: bool) {
        let read = |text: &str| text.parse::<PostgresUrl>().unwrap().without_credentials();
        assert_eq!(read(one) == read(other), expected, "{one} {other}");
    }

    #[test]
    fn urls_that_differ_only_in_credentials() {
        let url = "postgres://ann:one@db/shop?sslmode=require";
        check_same_server(url, "postgres://ann:two@db/shop?sslmode=require", true);
        check_same_server(url, "postgres://bob:two@db/shop?sslmode=require", true);
        check_same_server(url, "postgres://db/shop?sslmode=require&password=two", true);
        for other in [
            "postgres://ann:one@db2/shop?sslmode=require",
            "postgres://ann:one@db:5433/shop?sslmode=require",
            "postgres://ann:one@db/other?sslmode=require",
            "postgres://ann:one@db/shop",
            "postgres://ann:one@db/shop?sslmode=require&options=-csearch_path%3Da",
            "postgres://ann:one@db/shop?sslmode=require&pgbouncer=true",
            "postgres://ann:one@db/shop?sslmode=require&target_session_attrs=primary",
            "postgres://ann:one@db/shop?sslmode=require&passfile=a",
        ] {
            check_same_server(url, other, false);
        }
    }

    #[test]
    fn forms_of_other_libraries() {
        for (text, expected) in [
            ("POSTGRES://ann@db/shop", "postgres://ann@db:5432/shop"),
            ("postgresql+psycopg2://ann:p@db/shop", "postgres://ann@db:5432/shop"),
            ("postgres+asyncpg://ann:p@db/shop", "postgres://ann@db:5432/shop"),
            ("jdbc:postgresql://db:5433/shop?user=ann&password=p", "postgres://ann@db:5433/shop"),
            ("host=db port=5433 user=ann dbname=shop", "postgres://ann@db:5433/shop"),
            ("host=h1,h2 port=1,2 dbname=shop", "postgres://h1:1,h2:2/shop"),
            ("dbname = 'a b' host = /tmp", "postgres://%2Ftmp/a b"),
            ("hostaddr=10.0.0.1 dbname=x sslmode=require", "postgres://10.0.0.1/x"),
            ("dbname=shop", "postgres:///shop"),
            ("postgres://db/sales@2", "postgres://db:5432/sales@2"),
            ("postgres://db/shop?user=ann@corp", "postgres://ann@corp@db:5432/shop"),
            ("postgres://[::1]:5433/shop", "postgres://::1:5433/shop"),
            ("host=db dbname=shop passfile=/a target_session_attrs=primary", "postgres://db/shop"),
            (
                "postgres://db/shop?fallback_application_name=a&gssencmode=prefer",
                "postgres://db:5432/shop",
            ),
            ("postgres://ann@müller.example/shop", "postgres://ann@müller.example:5432/shop"),
        ] {
            assert!(PostgresUrl::is_meant(text), "{text}");
            assert_eq!(text.parse::<PostgresUrl>().unwrap().to_string(), expected, "{text}");
        }
        for text in
            ["shop.db", "user=users.db", "host=h.db", "a b=c", "pgsql://h/x", "x://host=h port=1"]
        {
            assert!(!PostgresUrl::is_meant(text), "{text}");
        }
    }

    #[test]
    fn invalid_urls_have_a_remedy() {
        for (text, remedy) in [
            ("postgres://app:p@s3cret@127.0.0.1/shop", "as %40"),
            ("postgres://app:s3cret@@db/shop", "as %40"),
            ("postgres://app:p@s3cret/x@db/shop", "as %40"),
            ("postgres://app:s3cret@h1,app:s3cret@h2/shop", "before the first host"),
            ("postgres://app:p?s3cret@db/shop", "as %3F"),
            ("postgres://app:12?s3cret=1@db/shop", "as %3F"),
            ("postgres://app:12?user=s3cret@db/shop", "as %3F"),
            ("postgres://app:12/x?s3cret=1@db/shop", "as %3F"),
            ("postgres://app:p@s3cret#/shop", "%23"),
            ("postgres://app:p@s3cret word/shop", "%40"),
            ("host=db password=a s3cret dbname=shop", "single quotes"),
            ("host=db password='s3cret dbname=shop", "single quotes"),
            ("host=db password=s3cret s3cret=1", "single quotes"),
            ("host=db password=s3cret service=x", "unknown option `service`"),
            ("host=db hostaddr=10.0.0.1 password=s3cret", "not supported together"),
            ("postgres://a:s3cret@db/shop?ssl=true", "unknown option `ssl`; use `sslmode=require`"),
            ("postgres://a:s3cret@db/shop?schema=public", "search path of the role"),
            ("postgres://a:s3cret@db/shop?connection_limit=1", "limit of connections"),
            ("postgres://a:s3cret@db/shop?supa=x", "unknown option `supa`; remove it"),
            ("postgres://a:s3cret@db/shop?target_session_attrs=x", "or prefer-standby"),
            ("postgres://a:s3cret@db/shop?client_encoding=LATIN1", "UTF8"),
            ("postgres://a:s3cret@db/shop?gssencmode=require", "GSSAPI"),
        ] {
            let error = text.parse::<PostgresUrl>().unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(remedy) && !shown.contains("s3cret"), "{text}: {shown}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        for (url, expected) in [
            ("postgres://ann:s3cret@db:5433/shop?sslmode=disable", "postgres://ann@db:5433/shop"),
            ("postgres://ann:a/s3cret@db/shop", "postgres://ann@db:5432/shop"),
            ("postgresql://ann@h1,h2:6000/x?password=s3cret", "postgres://ann@h1:5432,h2:6000/x"),
            ("postgres:///shop", "postgres:///shop"),
            ("postgres://ann:a#s3cret@db/shop", "postgres://ann@db:5432/shop"),
            ("postgres://ann:a:s3cret@db/shop", "postgres://ann@db:5432/shop"),
            ("postgres://ann:a%s3cret@db/shop", "postgres://ann@db:5432/shop"),
            ("postgres://ann:a%40s3cret@db/shop", "postgres://ann@db:5432/shop"),
            ("postgres://ann@db/shop?password=a@s3cret", "postgres://ann@db:5432/shop"),
            ("host=db user=ann password='a s3cret' dbname=shop", "postgres://ann@db/shop"),
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
