//! The address guard (rule J15): decides which addresses may be dialled, after DNS and just before the connect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::cidr::Cidr;

#[cfg(test)]
mod tests;

/// The addresses to which unencrypted HTTP is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlainHttp {
    Never,
    /// Only to addresses on the allow list.
    #[default]
    Allowed,
    Always,
}

/// The addresses that may be dialled: public ones, and those on the allow list.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    pub allow: Vec<Cidr>,
    pub plain_http: PlainHttp,
}

impl Guard {
    /// Returns a guard that allows every address, and plain HTTP.
    /// For services that the operator configured (a secret store, a metadata server).
    pub fn allow_all() -> Self {
        let all = |text: &str| text.parse().expect("the whole range is a range");
        Self { allow: vec![all("0.0.0.0/0"), all("::/0")], plain_http: PlainHttp::Always }
    }

    /// Returns why this address may not be dialled, `None` if it may.
    pub fn refuses(&self, address: IpAddr, secure: bool) -> Option<&'static str> {
        let inner = embedded(address);
        let listed = self.allow.iter().any(|range| range.contains(address) || range.contains(inner));
        if !listed && let Some(kind) = special(address).or_else(|| special(inner)) {
            return Some(kind);
        }
        let plain = match self.plain_http {
            PlainHttp::Never => false,
            PlainHttp::Allowed => listed,
            PlainHttp::Always => true,
        };
        (!secure && !plain).then_some("plain http is not allowed there")
    }
}

/// Returns the IPv4 address embedded in an IPv6 address; otherwise the address itself.
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let from = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)).into();
    match v6.segments() {
        // IPv4-mapped, NAT64 (RFC 6052), 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => from(high, low),
        // IPv4-compatible (RFC 4291).
        [0, 0, 0, 0, 0, 0, high, low] if v6 != Ipv6Addr::LOCALHOST && v6 != Ipv6Addr::UNSPECIFIED => {
            from(high, low)
        }
        _ => address,
    }
}

fn special(address: IpAddr) -> Option<&'static str> {
    if let Some((_, kind)) = SPECIAL.iter().find(|(range, _)| range.contains(address)) {
        return Some(kind);
    }
    // All other public IPv6 addresses are in 2000::/3, except forms that embed an IPv4 address.
    let is_global = address.is_ipv4() || embedded(address) != address || GLOBAL_V6.contains(address);
    (!is_global).then_some("not a public address")
}

const GLOBAL_V6: Cidr = Cidr::v6([0x2000, 0, 0, 0], 3);

/// IANA's special-purpose registries, and the metadata addresses of cloud providers.
const SPECIAL: [(Cidr, &str); 33] = [
    (Cidr::v4(0, 0, 0, 0, 8), "an address of this host"),
    (Cidr::v4(10, 0, 0, 0, 8), "a private address"),
    (Cidr::v4(100, 64, 0, 0, 10), "a shared address (CGNAT)"),
    (Cidr::v4(127, 0, 0, 0, 8), "a loopback address"),
    (Cidr::v4(168, 63, 129, 16, 32), "a cloud's metadata address"),
    (Cidr::v4(169, 254, 0, 0, 16), "a link-local or metadata address"),
    (Cidr::v4(172, 16, 0, 0, 12), "a private address"),
    (Cidr::v4(192, 0, 0, 0, 24), "a special address"),
    (Cidr::v4(192, 0, 2, 0, 24), "a documentation address"),
    (Cidr::v4(192, 31, 196, 0, 24), "a special address"),
    (Cidr::v4(192, 52, 193, 0, 24), "a special address"),
    (Cidr::v4(192, 88, 99, 0, 24), "a relay address"),
    (Cidr::v4(192, 168, 0, 0, 16), "a private address"),
    (Cidr::v4(192, 175, 48, 0, 24), "a special address"),
    (Cidr::v4(198, 18, 0, 0, 15), "a benchmarking address"),
    (Cidr::v4(198, 51, 100, 0, 24), "a documentation address"),
    (Cidr::v4(203, 0, 113, 0, 24), "a documentation address"),
    (Cidr::v4(224, 0, 0, 0, 4), "a multicast address"),
    (Cidr::v4(240, 0, 0, 0, 4), "a reserved address"),
    (Cidr::v6([0x64, 0xff9b, 1, 0], 48), "a local translation address (NAT64)"),
    (Cidr::v6([0x100, 0, 0, 0], 64), "a discard address"),
    (Cidr::v6([0x100, 0, 0, 1], 64), "a special address"),
    (Cidr::v6([0x2001, 0, 0, 0], 23), "a special or tunnel address"),
    (Cidr::v6([0x2001, 0xdb8, 0, 0], 32), "a documentation address"),
    (Cidr::v6([0x2002, 0, 0, 0], 16), "a tunnel address (6to4)"),
    (Cidr::v6([0x2620, 0x4f, 0x8000, 0], 48), "a special address"),
    (Cidr::v6([0x3fff, 0, 0, 0], 20), "a documentation address"),
    (Cidr::v6([0x5f00, 0, 0, 0], 16), "a special address"),
    (Cidr::v6([0xfc00, 0, 0, 0], 7), "a private address"),
    (Cidr::v6([0xfe80, 0, 0, 0], 10), "a link-local address"),
    (Cidr::v6([0xfec0, 0, 0, 0], 10), "a private address"),
    (Cidr::v6([0xff00, 0, 0, 0], 8), "a multicast address"),
    (Cidr::v6([0, 0, 0, 0], 127), "a loopback address or none"),
];
