//! The authority of a request (RFC 9110, section 7.2) and the accepted host names.

use std::net::IpAddr;

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderValue, Version};

use super::fields::Field;
use super::host::{is_port, relative, split_port};
use super::refusal::Refusal;

/// The accepted host names of a server, compared without case and without a dot at their end.
///
/// An invalid name, such as `example.com:8080`, matches no request. Parse a [`Host`](super::Host) to validate a
/// name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    /// Any name, for servers protected by a proxy.
    Any,
    /// These names, on any port. IPv6 addresses are in brackets.
    Listed(Vec<String>),
    /// These names and every IP address, on any port, for servers bound to all addresses of a machine. (DNS
    /// rebinding attacks need a name.)
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

    /// Adds the address that a server is bound to, or all addresses if it is bound to an unspecified address.
    ///
    /// [`Server::serve`](crate::Server::serve) does this automatically. Call it for a service in HTTP layers
    /// that [`Server::serve_http`](crate::Server::serve_http) serves.
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
                let is_same = |listed: &String| relative(listed).eq_ignore_ascii_case(host);
                // An empty name that is listed by mistake matches nothing.
                !host.is_empty() && hosts.iter().any(is_same)
            }
        }
    }

    /// Whether the text is a listed name, with or without a port.
    fn list_with_port(&self, text: &[u8]) -> bool {
        let is_listed = |listed: &String| {
            let parts = text.split_at_checked(listed.len()).filter(|_| !listed.is_empty());
            parts.is_some_and(|(host, port)| {
                let is_same = host.eq_ignore_ascii_case(listed.as_bytes());
                let has_port = port.is_empty() || port.strip_prefix(b":").is_some_and(is_port);
                // A listed text with a port is not a valid name.
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

/// Checks the host of a request: exactly one `Host` header in HTTP/1.1, at most one in HTTP/1.0, with an
/// accepted name. The authority of an absolute or HTTP/2 target is checked too.
pub(super) fn check(parts: &Parts, host: Field<'_>, hosts: &Hosts) -> Result<(), Refusal> {
    let header = host.first;
    if host.is_repeated {
        return Err(Refusal::Malformed("duplicate Host header"));
    }
    let target = parts.uri.authority();
    if header.is_none() && target.is_none() {
        return match parts.version {
            Version::HTTP_09 | Version::HTTP_10 => Ok(()),
            _ => Err(Refusal::Malformed("missing Host header")),
        };
    }
    if let Some(target) = target {
        allowed(target, hosts)?;
    }
    match header {
        // A listed name is valid and needs no parsing.
        Some(header) if hosts.list_with_port(header.as_bytes()) => Ok(()),
        Some(header) => allowed(&authority(header)?, hosts),
        None => Ok(()),
    }
}

fn authority(header: &HeaderValue) -> Result<Authority, Refusal> {
    let malformed = Refusal::Malformed("malformed Host header");
    Authority::try_from(header.as_bytes()).map_err(|_| malformed)
}

fn allowed(authority: &Authority, hosts: &Hosts) -> Result<(), Refusal> {
    // RFC 9110, section 4.2.4: user information may be used to deceive.
    if authority.as_str().contains('@') {
        return Err(Refusal::Malformed("user information in the host"));
    }
    // The port may be empty (RFC 3986, section 3.2.3).
    if let (_, Some(port)) = split_port(authority.as_str())
        && !(port.is_empty() || is_port(port.as_bytes()))
    {
        return Err(Refusal::Malformed("invalid port in the host; the maximum is 65535"));
    }
    let host = relative(authority.host());
    if hosts.allows(host) {
        return Ok(());
    }
    Err(Refusal::Host(host.to_owned()))
}
