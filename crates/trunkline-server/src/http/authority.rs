//! Whom a request is addressed to (RFC 9110, section 7.2) and which names are ours.

use std::net::IpAddr;

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderValue, Version};

use super::fields::Field;
use super::host::{is_port, split_port};
use super::refusal::Refusal;

/// The names under which a server answers. Their case does not matter.
///
/// A text that is no host, like `example.com:8080`, matches no request; parse a
/// [`Host`](super::Host) to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    /// Any name. For servers that a proxy in front of them guards.
    Any,
    /// These names, on any port. IPv6 addresses stand in brackets.
    Listed(Vec<String>),
    /// These names and every IP address, on any port: for servers bound to all addresses of a
    /// machine. (An attack by DNS rebinding needs a name.)
    ListedAndAddresses(Vec<String>),
}

impl Default for Hosts {
    fn default() -> Self {
        Self::Listed(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec())
    }
}

impl Hosts {
    /// Adds a name.
    pub fn allow(&mut self, host: impl Into<String>) {
        match self {
            Self::Any => {}
            Self::Listed(hosts) | Self::ListedAndAddresses(hosts) => hosts.push(host.into()),
        }
    }

    /// Adds the address that a server is bound to; all addresses, if it is bound to all of them.
    ///
    /// [`Server::serve`](crate::Server::serve) does so by itself. A service in HTTP layers, which
    /// [`Server::serve_http`](crate::Server::serve_http) serves, has to be told.
    pub fn allow_address(&mut self, ip: IpAddr) {
        if !ip.is_unspecified() {
            return self.allow(if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() });
        }
        if let Self::Listed(hosts) = self {
            *self = Self::ListedAndAddresses(std::mem::take(hosts));
        }
    }

    fn allows(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Listed(_) => self.lists(host),
            Self::ListedAndAddresses(_) => self.lists(host) || is_address(host),
        }
    }

    fn lists(&self, host: &str) -> bool {
        match self {
            Self::Any => false,
            Self::Listed(hosts) | Self::ListedAndAddresses(hosts) => {
                // An empty name, should one be listed by mistake, is nobody's.
                !host.is_empty() && hosts.iter().any(|listed| listed.eq_ignore_ascii_case(host))
            }
        }
    }

    /// Whether the text is a listed name, and perhaps a port.
    fn list_with_port(&self, text: &[u8]) -> bool {
        let is_listed = |listed: &String| {
            let parts = text.split_at_checked(listed.len()).filter(|_| !listed.is_empty());
            parts.is_some_and(|(host, port)| {
                let is_same = host.eq_ignore_ascii_case(listed.as_bytes());
                let has_port = port.is_empty() || port.strip_prefix(b":").is_some_and(is_port);
                // A listed text with a port is not a name.
                is_same && has_port && split_port(listed).1.is_none()
            })
        };
        match self {
            Self::Any => false,
            Self::Listed(hosts) | Self::ListedAndAddresses(hosts) => hosts.iter().any(is_listed),
        }
    }
}

fn is_address(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().is_ok()
}

/// Checks the Host of a request: exactly one in HTTP/1.1, none or one in HTTP/1.0, and one of
/// ours. The authority of an absolute or HTTP/2 target counts too.
pub(super) fn check(parts: &Parts, host: Field<'_>, hosts: &Hosts) -> Result<(), Refusal> {
    let header = host.first;
    if host.is_repeated {
        return Err(Refusal::Malformed("the Host header stands twice"));
    }
    let target = parts.uri.authority();
    if header.is_none() && target.is_none() {
        return match parts.version {
            Version::HTTP_09 | Version::HTTP_10 => Ok(()),
            _ => Err(Refusal::Malformed("the Host header is missing")),
        };
    }
    if let Some(target) = target {
        allowed(target, hosts)?;
    }
    match header {
        // What is listed is well formed, and needs no allocation to be read.
        Some(header) if hosts.list_with_port(header.as_bytes()) => Ok(()),
        Some(header) => allowed(&authority(header)?, hosts),
        None => Ok(()),
    }
}

fn authority(header: &HeaderValue) -> Result<Authority, Refusal> {
    let malformed = Refusal::Malformed("the Host header is not a host and a port");
    Authority::try_from(header.as_bytes()).map_err(|_| malformed)
}

fn allowed(authority: &Authority, hosts: &Hosts) -> Result<(), Refusal> {
    // RFC 9110, section 4.2.4: what looks like a host here may be meant to deceive.
    if authority.as_str().contains('@') {
        return Err(Refusal::Malformed("a user stands before the host"));
    }
    // The port may be empty (RFC 3986, section 3.2.3).
    if let (_, Some(port)) = split_port(authority.as_str())
        && !(port.is_empty() || is_port(port.as_bytes()))
    {
        return Err(Refusal::Malformed("the port of the host is not a number up to 65535"));
    }
    if hosts.allows(authority.host()) {
        return Ok(());
    }
    Err(Refusal::Host(authority.host().to_owned()))
}
