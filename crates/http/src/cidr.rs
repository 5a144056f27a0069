//! IP address ranges in CIDR notation: `10.0.0.0/8`, `fd00::/8`, or a single address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of IP addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    bits: u8,
}

impl Cidr {
    /// Builds a range of our own tables without a check; a test parses them all.
    pub(crate) const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Self {
        Self { network: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    pub(crate) const fn v6(first: [u16; 4], bits: u8) -> Self {
        let [a, b, c, d] = first;
        Self { network: IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)), bits }
    }

    /// Whether the range contains this address. An IPv4 range contains no IPv6 address, and the reverse.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                (network.to_bits() ^ address.to_bits()).checked_shr(32 - u32::from(self.bits)).unwrap_or(0)
                    == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                (network.to_bits() ^ address.to_bits()).checked_shr(128 - u32::from(self.bits)).unwrap_or(0)
                    == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("`{text}` is not a range of addresses such as 10.0.0.0/8 or fd00::/8");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().map_err(|_| invalid())?;
        let max_bits = if network.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(max_bits), str::parse).map_err(|_| invalid())?;
        if bits > max_bits {
            return Err(invalid());
        }
        let lowest = Self { network, bits };
        // Host bits in the network address, as in `10.1.2.3/8`, are more likely a mistake than intended.
        let has_host_bits = match network {
            IpAddr::V4(address) => address.to_bits().checked_shl(u32::from(bits)).unwrap_or(0) != 0,
            IpAddr::V6(address) => address.to_bits().checked_shl(u32::from(bits)).unwrap_or(0) != 0,
        };
        if has_host_bits { Err(format!("`{text}` has bits beyond its prefix")) } else { Ok(lowest) }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(range: &str, address: &str) -> bool {
        range.parse::<Cidr>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_range_holds_what_shares_its_prefix() {
        assert!(holds("10.0.0.0/8", "10.255.1.2") && !holds("10.0.0.0/8", "11.0.0.0"));
        assert!(holds("0.0.0.0/0", "203.0.113.9") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("fd00::/8", "fdff::1") && !holds("fd00::/8", "fe80::1"));
        assert!(holds("127.0.0.1", "127.0.0.1") && !holds("127.0.0.1", "127.0.0.2"));
        assert!(holds("::/0", "2001:db8::1"));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for invalid in ["", "10.0.0.0/33", "10.0.0.1/8", "fd00::1/8", "ten/8", "10.0.0.0/", "::1/129"] {
            assert!(invalid.parse::<Cidr>().is_err(), "{invalid}");
        }
    }
}
