//! The connection to a server, from the command line.

use std::time::Duration;

use clap::Args;
use http::header::{ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue};

use trunkline::client::Http;
use trunkline::client::http::{BearerError, HttpClientConfig, Url, UrlError};

use crate::client::CallError;
use crate::terminal::Failure;

pub(crate) const NOTES: &str = "\
Redirects are not followed, and proxies are not used. https trusts the certificates of this machine;
SSL_CERT_FILE names others, or a server's own self-signed certificate.

Exit codes:
  0  it has a result
  1  the answer is an error, or the result could not be printed
  2  the command line is wrong
  3  no answer: no connection, TLS failed, it broke off, or time ran out
  4  what answered does not keep to the protocol, or refused on the HTTP level";

/// How a server is reached, and how its answers are printed.
#[derive(Args)]
pub(crate) struct Connection {
    /// Print the result as JSON on one line, as it was received; an error as JSON on stderr.
    #[arg(long)]
    pub(crate) json: bool,
    /// The token to send. Prefer the variable: other users of the machine can read command lines.
    // Not the server's variable: its token must not go wherever one calls from the same shell.
    #[arg(long, value_name = "TOKEN", env = "TRUNKLINE_TOKEN", hide_env_values = true)]
    bearer: Option<String>,
    /// A header to send. Repeats.
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// The longest that one request may take, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    timeout_ms: u64,
}

impl Connection {
    /// # Errors
    ///
    /// What is wrong with the arguments. Clap would print values that may be secrets.
    pub(crate) fn connect(&self, url: Url) -> Result<Http, Failure> {
        self.connect_with(url, HttpClientConfig::default())
    }

    /// The same for replies without end, whose reader bounds what it keeps of them.
    pub(crate) fn connect_to_stream(&self, url: Url) -> Result<Http, Failure> {
        self.connect_within(url, usize::MAX)
    }

    /// The same for replies of at most so many bytes.
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
        // A name that resolves slowly may take the time that the call has.
        settings.connect_timeout = self.timeout();
        let http = Http::with_config(url, settings);
        http.map_err(|error| CallError::new(error, None).into())
    }

    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

pub(crate) fn url(text: &str) -> Result<Url, String> {
    text.parse().map_err(|error| match error {
        UrlError::UserInfo => "it holds a user or a password; use --bearer or --header".to_owned(),
        error => error.to_string(),
    })
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    const OURS: [HeaderName; 5] =
        [ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING];
    let (name, value) = text.split_once(':').ok_or("a header is like `Name: value`")?;
    let name: HeaderName =
        name.trim().parse().map_err(|_| format!("{name:?} is not the name of a header"))?;
    let mut value: HeaderValue =
        value.trim().parse().map_err(|_| format!("the value of {name} cannot be in a header"))?;
    if OURS.contains(&name) || name.as_str().starts_with("mcp-") {
        return Err(format!("{name} is set by the protocol"));
    }
    value.set_sensitive(true);
    Ok((name, value))
}
