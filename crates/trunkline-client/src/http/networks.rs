//! The networks that a client may connect to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The networks that a client may connect to. Clients that read URLs from untrusted replies use it so that these
/// URLs do not lead to hosts that only the client can reach (server-side request forgery).
///
/// The addresses of a host are checked when the connection is opened, after name resolution.
///
/// ```
/// use trunkline::client::http::Networks;
///
/// assert_eq!(Networks::of("10.0.0.1".parse()?), Networks::Private);
/// assert!(!Networks::Private.permit("127.0.0.1".parse()?));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Networks {
    /// Globally reachable addresses only.
    Public,
    /// Globally reachable addresses and those of private networks: RFC 1918, RFC 6598 (shared address space) and
    /// RFC 4193 (unique local addresses).
    Private,
    /// All addresses, including those of this machine and link-local ones. The default.
    #[default]
    Any,
}

/// The error for a host whose addresses are not permitted.
#[derive(Debug, thiserror::Error)]
#[error("address {address} is not in a permitted network")]
pub(super) struct NotPermitted {
    pub(super) address: IpAddr,
}

impl Networks {
    /// The smallest set of networks that contains `address`. Addresses that embed an IPv4 address count as that
    /// address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => embedded(address).map_or_else(|| of_v6(address), of_v4),
        }
    }

    /// Whether connections to `address` are permitted.
    #[must_use]
    pub fn permit(self, address: IpAddr) -> bool {
        Self::of(address) <= self
    }
}

fn of_v4(address: Ipv4Addr) -> Networks {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => Networks::Private,
        // This network, loopback, link-local, protocol assignments, 6to4 relays, benchmarks, documentation, multicast,
        // reserved (RFC 6890).
        (0 | 127 | 224.., ..)
        | (169, 254, _)
        | (192, 0, 0 | 2)
        | (192, 88, 99)
        | (198, 18..=19, _)
        | (198, 51, 100)
        | (203, 0, 113) => Networks::Any,
        _ => Networks::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> Networks {
    match address.segments() {
        [0xfc00..=0xfdff, ..] => Networks::Private,
        // Protocol assignments and documentation, which are part of the global range.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Networks::Any,
        [0x2000..=0x3fff, ..] => Networks::Public,
        _ => Networks::Any,
    }
}

/// The IPv4 address in an IPv4-mapped, NAT64 (RFC 6052) or 6to4 (RFC 3056) address.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [high, low] = match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => [high, low],
        [0x2002, high, low, ..] => [high, low],
        _ => return None,
    };
    Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: Networks, addresses: &[&str]) {
        for address in addresses {
            assert_eq!(Networks::of(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn classifies_addresses() {
        check(
            Networks::Public,
            &[
                "1.1.1.1",
                "100.63.0.1",
                "100.128.0.1",
                "172.15.0.1",
                "172.32.0.1",
                "192.0.1.1",
                "198.20.0.1",
                "2606:4700::1111",
                "::ffff:8.8.8.8",
                "64:ff9b::808:808",
                "2002:808:808::1",
            ],
        );
        check(
            Networks::Private,
            &[
                "10.1.2.3",
                "172.16.0.1",
                "172.31.255.255",
                "192.168.1.1",
                "100.64.0.1",
                "fd00::1",
                "::ffff:10.0.0.1",
                "64:ff9b::a00:1",
                "2002:a00:1::1",
            ],
        );
        check(
            Networks::Any,
            &[
                "127.0.0.1",
                "0.0.0.0",
                "169.254.169.254",
                "192.0.0.1",
                "192.0.2.1",
                "198.18.0.1",
                "203.0.113.9",
                "224.0.0.1",
                "255.255.255.255",
                "::",
                "::1",
                "::ffff:127.0.0.1",
                "fe80::1",
                "ff02::1",
                "2001:db8::1",
                "64:ff9b:1::1",
                "2002:7f00:1::1",
            ],
        );
    }

    #[test]
    fn sets_are_ordered() {
        let [public, private, local] =
            ["1.1.1.1", "10.0.0.1", "127.0.0.1"].map(|address| address.parse().unwrap());
        for (networks, expected) in [
            (Networks::Public, [true, false, false]),
            (Networks::Private, [true, true, false]),
            (Networks::Any, [true, true, true]),
        ] {
            assert_eq!([public, private, local].map(|ip| networks.permit(ip)), expected);
        }
    }
}
