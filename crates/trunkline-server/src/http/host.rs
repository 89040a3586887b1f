//! Host names for lists of accepted hosts.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// A host name or address of a server, for [`Hosts`](super::Hosts): without a port, in lower case, IPv6
/// addresses in brackets and in their shortest form, and without the dot at the end of a fully qualified name.
///
/// ```
/// use trunkline::http::{Host, Hosts};
///
/// let mut hosts = Hosts::default();
/// hosts.allow("API.example.com".parse::<Host>()?);
/// let error = "api.example.com:8080".parse::<Host>().unwrap_err();
/// assert_eq!(error.to_string(), "host must not have a port; use `api.example.com`");
/// # Ok::<(), trunkline::http::HostError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Host(String);

/// The error for an invalid [`Host`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The text is empty.
    #[error("host is empty")]
    Empty,
    /// The host has a port. A host is accepted on all ports.
    #[error("host must not have a port; use `{host}`")]
    Port {
        /// The host without the port.
        host: Host,
    },
    /// The host has a scheme or a path.
    #[error("host must not have a scheme or path; use `{host}`")]
    Url {
        /// The host without scheme and path.
        host: Host,
    },
    /// An IPv6 address without brackets, whose last group could be mistaken for a port.
    #[error("IPv6 address must be in brackets; use `[{0}]`")]
    Brackets(Ipv6Addr),
    /// The host contains an invalid character. Patterns are not supported.
    #[error(
        "invalid host; expected a name such as `example.com` (in Punycode, `xn--…`, for non-ASCII letters) \
         or an address such as `192.0.2.1` or `[::1]`"
    )]
    Malformed,
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Err(HostError::Brackets(address));
        }
        let after_scheme = text.split_once("://").map_or(text, |(_, rest)| rest);
        let authority = after_scheme.split(['/', '?', '#']).next().unwrap_or_default();
        let (host, port) = split_port(authority);
        let host = Self::bare(host).ok_or(HostError::Malformed)?;
        if authority.len() < text.len() {
            return Err(HostError::Url { host });
        }
        match port {
            Some(_) => Err(HostError::Port { host }),
            None => Ok(host),
        }
    }
}

impl Host {
    fn bare(host: &str) -> Option<Self> {
        if let Some(rest) = host.strip_prefix('[') {
            let address: Ipv6Addr = rest.strip_suffix(']')?.parse().ok()?;
            return Some(Self(format!("[{address}]")));
        }
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let host = relative(host);
        let is_name = !host.is_empty() && host.bytes().all(is_part);
        is_name.then(|| Self(host.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Host> for String {
    fn from(host: Host) -> Self {
        host.0
    }
}

/// A host without the dot at the end of a fully qualified name, which is the same host (RFC 3986, section 3.2.2).
pub(super) fn relative(host: &str) -> &str {
    host.strip_suffix('.').filter(|rest| !rest.is_empty()).unwrap_or(host)
}

/// Splits an authority into the host and the text after its colon.
pub(super) fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        // Colons inside brackets are part of the address.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// Whether a text is a TCP port.
pub(super) fn is_port(text: &[u8]) -> bool {
    let number = text.iter().try_fold(0_u32, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    });
    !text.is_empty() && number.is_some_and(|number| number <= u32::from(u16::MAX))
}
