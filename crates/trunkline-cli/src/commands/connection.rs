//! The connection to a server, from the command line.

use std::env;
use std::ops::RangeInclusive;
use std::time::Duration;

use clap::Args;
use http::header::{ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue};

use trunkline::client::Http;
use trunkline::client::http::{BearerError, HttpClientConfig, Url, UrlError, redact_url};

use crate::client::CallError;
use crate::config::milliseconds;
use crate::terminal::{Failure, Format, Renderer, Sensitive};

/// The end of the short help.
pub(crate) const MORE: &str = "--help shows more details, and the exit codes";

/// The end of the long help.
pub(crate) const NOTES: &str = "\
Redirects are not followed, and proxies are not used. https trusts the certificates of this machine; set \
SSL_CERT_FILE to trust others, such as a server's self-signed certificate.

Exit codes:
  0  success
  1  the server returned an error, or the output could not be written
  2  invalid command line
  3  no response: connection or TLS failed, the connection broke, or the timeout expired
  4  protocol error: the response is invalid, or an HTTP error";

/// The address where neither the command line nor `TRUNKLINE_URL` has one.
const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// The address of the server, where no other argument can be mistaken for one.
#[derive(Args)]
pub(crate) struct Address {
    /// Server URL or HOST:PORT [env: TRUNKLINE_URL] [default: http://127.0.0.1:8080]
    #[arg(value_parser = URL)]
    address: Option<Url>,
}

/// How to reach a server, and whether the output is JSON.
#[derive(Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Connection {
    /// Print results and errors as JSON, each on one line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Bearer token
    ///
    /// Prefer the variable: other users of the machine can read command lines.
    // Not the server's variable: its token must not be sent to every server called from the same shell.
    #[arg(long, value_name = "TOKEN", env = "TRUNKLINE_TOKEN", hide_env_values = true)]
    bearer: Option<String>,
    /// Additional HTTP header (repeatable)
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// Timeout of one request in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 30_000, value_parser = milliseconds(TIMEOUT_RANGE))]
    timeout_ms: u64,
}

/// The format of results that may be tables.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFormat {
    /// Format of the result
    ///
    /// The default is a table if the result is one, else a text or indented JSON.
    #[arg(long, value_enum, conflicts_with = "json")]
    format: Option<Format>,
}

/// The format of results that may be tables with several pages.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    #[command(flatten)]
    format: OutputFormat,
    /// Print all pages: follow the cursors of the result
    #[arg(long)]
    pub(crate) all: bool,
}

impl OutputFormat {
    pub(crate) fn renderer(&self, connection: &Connection) -> Renderer {
        Renderer::for_streams(connection.json, self.format)
    }
}

impl Output {
    pub(crate) fn renderer(&self, connection: &Connection) -> Renderer {
        self.format.renderer(connection)
    }
}

impl Address {
    /// # Errors
    ///
    /// When `TRUNKLINE_URL` is not a URL.
    pub(crate) fn url(&self) -> Result<Url, Failure> {
        self.address.clone().map_or_else(url_of_environment, Ok)
    }

    /// Returns the address of the command line with a blank after it, or an empty text.
    pub(crate) fn argument(&self) -> String {
        self.address.as_ref().map(|url| format!("{url} ")).unwrap_or_default()
    }
}

/// Splits the arguments of a command into the address of the server, which may be missing, and the rest.
///
/// # Errors
///
/// When the address, or `TRUNKLINE_URL` in its place, is not a URL.
pub(crate) fn split_address<'a>(
    arguments: impl IntoIterator<Item = &'a str>,
) -> Result<(Url, Vec<&'a str>), Failure> {
    let mut arguments = arguments.into_iter().peekable();
    let url = match arguments.next_if(|first| is_address(first)) {
        Some(address) => url(address).map_err(|reason| {
            Failure::Usage(format!("invalid address `{}`: {reason}", redact_url(address)))
        })?,
        None => url_of_environment()?,
    };
    Ok((url, arguments.collect()))
}

fn url_of_environment() -> Result<Url, Failure> {
    const VARIABLE: &str = "TRUNKLINE_URL";
    let text = env::var(VARIABLE).ok().filter(|text| !text.is_empty());
    url(text.as_deref().unwrap_or(DEFAULT_URL))
        .map_err(|reason| Failure::Usage(format!("invalid {VARIABLE}: {reason}")))
}

/// Whether an argument has a scheme or a port, as no method, tool or JSON text has.
pub(super) fn is_address(argument: &str) -> bool {
    let authority = argument.split(['/', '?', '#']).next().unwrap_or_default();
    let has_port = authority.rsplit_once(':').is_some_and(|(host, port)| {
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let is_json = host.starts_with(['{', '[']) && !host.ends_with(']');
        is_number && !host.is_empty() && !is_json
    });
    has_port || argument.contains("://") && !argument.starts_with(['{', '['])
}

impl Connection {
    /// # Errors
    ///
    /// When an argument is invalid. Clap would print its value, which may be a secret.
    pub(crate) fn connect(&self, url: Url) -> Result<Http, Failure> {
        self.connect_with(url, HttpClientConfig::default())
    }

    /// Connects for endless replies; the reader limits what it buffers.
    pub(crate) fn connect_to_stream(&self, url: Url) -> Result<Http, Failure> {
        self.connect_within(url, usize::MAX)
    }

    /// Connects for replies of up to `max_reply` bytes.
    pub(crate) fn connect_within(&self, url: Url, max_reply: usize) -> Result<Http, Failure> {
        self.connect_with(url, HttpClientConfig { max_reply, ..HttpClientConfig::default() })
    }

    fn connect_with(&self, url: Url, mut settings: HttpClientConfig) -> Result<Http, Failure> {
        for text in &self.header {
            let (name, value) = header(text).map_err(Failure::Usage)?;
            settings.headers.append(name, value);
        }
        let bearer = self.bearer.as_deref().map(str::parse).transpose();
        settings.bearer = bearer.map_err(|error: BearerError| Failure::Usage(error.to_string()))?;
        // Slow name resolution may use the whole timeout of the call.
        settings.connect_timeout = self.timeout();
        let http = Http::with_config(url, settings);
        http.map_err(|error| CallError::new(error, None).into())
    }

    /// Whether there is a token, or another credential in its place.
    pub(crate) fn has_bearer(&self) -> bool {
        let is_credential = |header: &String| {
            let name = header.split(':').next().unwrap_or_default().trim();
            name.eq_ignore_ascii_case("authorization")
        };
        self.bearer.is_some() || self.header.iter().any(is_credential)
    }

    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// Reads the URL of a server, which may have a password.
pub(crate) const URL: Sensitive<Url> = Sensitive(|value| url(&value.to_string_lossy()));

/// A URL; `HOST:PORT` is one of `http`.
pub(crate) fn url(text: &str) -> Result<Url, String> {
    let parsed = match text.parse::<Url>() {
        Err(UrlError::NoScheme(address)) if is_address(text) => format!("http://{address}").parse(),
        parsed => parsed,
    };
    parsed.map_err(|error| match error {
        UrlError::UserInfo => "it has a user or a password; use --bearer or --header".to_owned(),
        error => error.to_string(),
    })
}

/// The range of timeouts, in milliseconds: up to a day.
pub(super) const TIMEOUT_RANGE: RangeInclusive<u64> = 1..=86_400_000;

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    const RESERVED: [HeaderName; 5] =
        [ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING];
    let (name, value) = text.split_once(':').ok_or("invalid --header; write `Name: value`")?;
    let name: HeaderName =
        name.trim().parse().map_err(|_| format!("{name:?} is not a valid header name"))?;
    let mut value: HeaderValue =
        value.trim().parse().map_err(|_| format!("header `{name}` has an invalid value"))?;
    if RESERVED.contains(&name) || name.as_str().starts_with("mcp-") {
        return Err(format!("header `{name}` is set by the protocol"));
    }
    value.set_sensitive(true);
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &[&str], expected: Result<(&str, &[&str]), &str>) {
        match (split_address(arguments.iter().copied()), expected) {
            (Ok((url, rest)), Ok((expected, expected_rest))) => {
                assert_eq!((url.origin().as_str(), &*rest), (expected, expected_rest));
            }
            (Err(Failure::Usage(found)), Err(part)) => assert!(found.contains(part), "{found}"),
            (found, _) => panic!("{arguments:?}: {found:?}"),
        }
    }

    #[test]
    fn addresses_are_told_from_other_arguments() {
        check(&[], Ok((DEFAULT_URL, &[])));
        check(&["db.list_tables", "a=b:1"], Ok((DEFAULT_URL, &["db.list_tables", "a=b:1"])));
        check(&[r#"{"url": "http://a:1"}"#], Ok((DEFAULT_URL, &[r#"{"url": "http://a:1"}"#])));
        check(&["-"], Ok((DEFAULT_URL, &["-"])));
        check(&["https://a/b", "m"], Ok(("https://a", &["m"])));
        check(&["localhost:80", "m"], Ok(("http://localhost:80", &["m"])));
        check(&["localhost:80/rpc?a=b"], Ok(("http://localhost:80", &[])));
        check(&["[::1]:8080", "{}"], Ok(("http://[::1]:8080", &["{}"])));
        check(&["::1:8080"], Ok(("http://[::1]:8080", &[])));
        check(&["localhost:99999", "m"], Err("invalid address `localhost:99999`"));
        check(&["ftp://a", "m"], Err("ftp://"));
        check(&["http://u:p@a"], Err("--bearer"));
    }
}
