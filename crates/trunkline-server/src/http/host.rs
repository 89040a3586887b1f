//! The name of a host, as lists hold it.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// A name or an address under which clients may call a server, for [`Hosts`](super::Hosts): without
/// a port, in lower case, an IPv6 address in brackets and in its shortest form.
///
/// ```
/// use trunkline::http::{Host, Hosts};
///
/// let mut hosts = Hosts::default();
/// hosts.allow("API.example.com".parse::<Host>()?);
/// let error = "api.example.com:8080".parse::<Host>().unwrap_err();
/// assert_eq!(error.to_string(), "a host is listed for all its ports: write api.example.com");
/// # Ok::<(), trunkline::http::HostError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Host(String);

/// Why a text is no host that a request could name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// There is no text.
    #[error("the host is empty")]
    Empty,
    /// A port follows the host.
    #[error("a host is listed for all its ports: write {host}")]
    Port {
        /// The host without it.
        host: Host,
    },
    /// A scheme stands before the host, or a path follows it.
    #[error("a host is listed without a scheme and a path: write {host}")]
    Url {
        /// The host without them.
        host: Host,
    },
    /// An IPv6 address without brackets, whose end might be meant as a port.
    #[error("an IPv6 address stands in brackets: write [{0}]")]
    Brackets(Ipv6Addr),
    /// A character or a bracket that is in no host; patterns are not understood.
    #[error(
        "write a name like example.com (in ASCII: xn--… where it has other letters) \
         or an address like 192.0.2.1 or [::1]"
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

/// The host of an authority, and what follows its colon.
pub(super) fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        // The colons of an address in brackets are its own.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// Whether a text is a port of TCP.
pub(super) fn is_port(text: &[u8]) -> bool {
    let number = text.iter().try_fold(0_u32, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    });
    !text.is_empty() && number.is_some_and(|number| number <= u32::from(u16::MAX))
}
