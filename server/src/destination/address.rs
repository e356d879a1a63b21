//! Which addresses may be connected to. What a name resolves to is checked, and that very address is connected to, so that
//! a name cannot lead elsewhere a moment later.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// An address that this destination may not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{host} is at {address}, which is not a public address; set private_allowed for this destination if that is meant"
)]
pub struct Forbidden {
    /// The name.
    pub host: String,
    /// What it resolves to.
    pub address: IpAddr,
}

/// The addresses that may be connected to, in their order; an error where there are some and none may be.
pub(super) fn allowed(host: &str, found: Vec<SocketAddr>, private_allowed: bool) -> Result<Vec<SocketAddr>, Forbidden> {
    let refused = found.iter().find(|address| !private_allowed && !is_public(address.ip())).map(SocketAddr::ip);
    let allowed: Vec<SocketAddr> =
        found.into_iter().filter(|address| private_allowed || is_public(address.ip())).collect();
    match refused {
        Some(address) if allowed.is_empty() => Err(Forbidden { host: host.to_owned(), address }),
        _ => Ok(allowed),
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => address.to_ipv4_mapped().map_or_else(|| is_public_v6(address), is_public_v4),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    // Shared (RFC 6598), protocol assignments, benchmarking, reserved.
    let is_special = (first == 100 && second & 0xc0 == 64)
        || (first == 192 && second == 0 && third == 0)
        || (first == 198 && second & 0xfe == 18)
        || first >= 240;
    !(is_special
        || first == 0
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let first = address.segments()[0];
    let is_translated = first == 0x64 && address.segments()[1] == 0xff9b;
    !(address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || is_translated
        || first == 0x2002
        || (first == 0x2001 && address.segments()[1] == 0xdb8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "ff02::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in ["1.1.1.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn a_private_address_is_refused_by_name_and_passed_over_beside_a_public_one() {
        let at = |text: &str| -> SocketAddr { text.parse().unwrap() };
        let error = allowed("db.internal", vec![at("10.0.0.1:443")], false).unwrap_err();
        assert!(error.to_string().contains("db.internal is at 10.0.0.1"), "{error}");
        let mixed = vec![at("10.0.0.1:443"), at("1.1.1.1:443")];
        assert_eq!(allowed("x", mixed.clone(), false).unwrap(), [at("1.1.1.1:443")]);
        assert_eq!(allowed("x", mixed.clone(), true).unwrap(), mixed);
    }
}
