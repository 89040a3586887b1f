//! The check of the origin of web pages (RFC 6454).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use http::header::ORIGIN;
use http::request::Parts;
use http::{HeaderValue, Uri};

use super::config::HttpConfig;
use super::fields::Fields;
use super::host::{Host, HostError, is_port, split_port};
use super::refusal::Refusal;

/// An origin for [`HttpConfig`]: a scheme, a host, and a port unless it is the default port of the scheme, in
/// lower case as sent by browsers; or `*` for any origin. A dot at the end of the host is left out.
///
/// ```
/// use trunkline::http::{HttpConfig, Origin};
///
/// let mut settings = HttpConfig::default();
/// settings.cors_origins.push("https://App.example.com".parse::<Origin>()?.into());
/// let error = "https://app.example.com/".parse::<Origin>().unwrap_err();
/// let message = "origin must not have a path; use `https://app.example.com`";
/// assert_eq!(error.to_string(), message);
/// # Ok::<(), trunkline::http::OriginError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin(String);

/// The error for an invalid [`Origin`], which no browser sends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OriginError {
    /// The text is empty.
    #[error("origin is empty")]
    Empty,
    /// `null`, which browsers send for untrusted pages such as sandboxed frames.
    #[error("origin `null` is not allowed; browsers send it for sandboxed pages of any site")]
    Null,
    /// The scheme is missing.
    #[error("origin must have a scheme; use `https://{0}`")]
    NoScheme(String),
    /// The host is invalid.
    #[error("invalid host in the origin")]
    Host(#[from] HostError),
    /// The port is not a number from 0 to 65535, or has leading zeros.
    #[error("invalid port in the origin; the maximum is 65535")]
    Port,
    /// The default port of the scheme, which browsers omit.
    #[error("origin must not have the default port; use `{0}`")]
    DefaultPort(Origin),
    /// A path, even if it is a single slash, a query or a fragment.
    #[error("origin must not have a path; use `{0}`")]
    Path(Origin),
}

impl FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        match text {
            "" => return Err(OriginError::Empty),
            "*" => return Ok(Self(text.to_owned())),
            "null" => return Err(OriginError::Null),
            _ => {}
        }
        let no_scheme = || OriginError::NoScheme(text.trim_start_matches('/').to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(no_scheme)?;
        if !is_scheme(scheme) {
            return Err(no_scheme());
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let origin = Self::of(&scheme.to_ascii_lowercase(), &rest[..end])?;
        if end < rest.len() { Err(OriginError::Path(origin)) } else { Ok(origin) }
    }
}

impl Origin {
    fn of(scheme: &str, authority: &str) -> Result<Self, OriginError> {
        if let Ok(address) = authority.parse() {
            return Err(HostError::Brackets(address).into());
        }
        let (host, port) = split_port(authority);
        let host: Host = host.parse()?;
        let Some(port) = port else {
            return Ok(Self(format!("{scheme}://{host}")));
        };
        if !is_port(port.as_bytes()) || (port.starts_with('0') && port != "0") {
            return Err(OriginError::Port);
        }
        match (scheme, port) {
            ("http", "80") | ("https", "443") => {
                Err(OriginError::DefaultPort(Self(format!("{scheme}://{host}"))))
            }
            _ => Ok(Self(format!("{scheme}://{host}:{port}"))),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.0
    }
}

/// RFC 3986, section 3.1.
fn is_scheme(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(is_part)
}

/// Accepts requests without `Origin`, from pages of this server, and from listed origins.
pub(super) fn check(fields: &Fields<'_>, uri: &Uri, settings: &HttpConfig) -> Result<(), Refusal> {
    let Some(origin) = fields.origin.first else {
        return Ok(());
    };
    if fields.origin.is_repeated {
        return Err(Refusal::Malformed("duplicate Origin header"));
    }
    if same_origin(origin, fields, uri)
        || lists(&settings.allow_origins, origin)
        || lists(&settings.cors_origins, origin)
    {
        return Ok(());
    }
    Err(Refusal::Origin(String::from_utf8_lossy(origin.as_bytes()).into_owned()))
}

/// Whether a list contains an origin. An empty entry matches nothing.
pub(super) fn lists(list: &[String], origin: &HeaderValue) -> bool {
    let origin = relative(origin.as_bytes());
    let is_named = |listed: &String| origin.eq_ignore_ascii_case(&relative(listed.as_bytes()));
    !origin.is_empty() && list.iter().any(|listed| listed == "*" || is_named(listed))
}

/// An origin or authority without the dot at the end of its host.
fn relative(authority: &[u8]) -> Cow<'_, [u8]> {
    let colon = authority.iter().rposition(|byte| *byte == b':');
    // A colon may also be that of a scheme.
    let end = colon.filter(|colon| authority[..*colon].ends_with(b".")).unwrap_or(authority.len());
    match authority[..end].strip_suffix(b".") {
        Some(host) => Cow::Owned([host, &authority[end..]].concat()),
        None => Cow::Borrowed(authority),
    }
}

/// Whether a request was sent by a page of this server, as opposed to a page of a listed origin or another program, for
/// forms and for credentials that browsers send by themselves.
///
/// Pages with forms must not have the referrer policy `no-referrer`, with which browsers send `Origin: null`; use
/// `same-origin`.
#[must_use]
pub fn is_own_origin(request: &Parts) -> bool {
    let fields = Fields::of(&request.headers);
    let origin = fields.origin.first.filter(|_| !fields.origin.is_repeated);
    origin.is_some_and(|origin| same_origin(origin, &fields, &request.uri))
}

/// Whether a request was sent by a page of another origin.
pub(super) fn is_foreign(request: &Parts) -> bool {
    request.headers.contains_key(ORIGIN) && !is_own_origin(request)
}

/// Whether the origin has the same host as the request. Either scheme is accepted, since the scheme is unknown
/// behind a TLS-terminating proxy. The host has been checked before.
fn same_origin(origin: &HeaderValue, fields: &Fields<'_>, uri: &Uri) -> bool {
    let host = match uri.authority() {
        Some(authority) => authority.as_str().as_bytes(),
        None => fields.host.first.map_or(b"".as_slice(), HeaderValue::as_bytes),
    };
    let origin = origin.as_bytes();
    match (origin.strip_prefix(b"http://"), origin.strip_prefix(b"https://")) {
        (Some(authority), _) => same_authority(authority, host, b":80"),
        (_, Some(authority)) => same_authority(authority, host, b":443"),
        _ => false,
    }
}

fn same_authority(one: &[u8], other: &[u8], default_port: &[u8]) -> bool {
    let bare = |authority: &[u8]| {
        let authority = relative(authority);
        authority.strip_suffix(default_port).unwrap_or(&authority).to_ascii_lowercase()
    };
    !other.is_empty() && bare(one) == bare(other)
}
