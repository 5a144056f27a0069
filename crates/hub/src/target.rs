//! Checks of target URLs. Only the URL itself is checked here. The addresses of host names are checked in `dns`, and
//! again by the same guard when they are dialled, because they may change in between.

mod dns;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use postrider_http::{Guard, PlainHttp};
use url::{Host, Url};

pub(crate) use dns::TargetDns;

/// Checks the URL of a target; the error says what is wrong and reveals nothing that the caller does not know.
pub fn check(guard: &Guard, text: &str) -> Result<(), String> {
    if text.len() > 2000 {
        return Err("must have at most 2000 bytes".to_owned());
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("must be ASCII without spaces and control characters".to_owned());
    }
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return Err("must start with https:// or http://".to_owned());
    }
    // The URL library reads these as slashes, and so may find a different host than other parsers.
    if text.contains('\\') || text.contains(":///") {
        return Err("must have its host after //, and no backslash".to_owned());
    }
    let url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
    if url.port() == Some(0) {
        return Err("must not have port 0".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain a user or a password: use a service account for credentials".to_owned());
    }
    if url.fragment().is_some() {
        return Err("must not have a fragment, which is never sent".to_owned());
    }
    let secure = url.scheme() == "https";
    let refused = match url.host().ok_or("names no host")? {
        Host::Ipv4(address) => guard.refuses(IpAddr::V4(address), secure),
        Host::Ipv6(address) => guard.refuses(IpAddr::V6(address), secure),
        Host::Domain(name) => refused_name(guard, name, secure),
    };
    refused.map_or(Ok(()), |why| Err(format!("is not an allowed target: {why}")))
}

/// Returns why a host name is refused; `None` if any address that it may resolve to could be allowed.
fn refused_name(guard: &Guard, name: &str, secure: bool) -> Option<&'static str> {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    if name.len() > 253 || name.split('.').any(|part| part.is_empty() || part.len() > 63) {
        return Some("an invalid host name");
    }
    if name == "localhost" || name.ends_with(".localhost") {
        let [v4, v6] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        return guard.refuses(v4, secure).and(guard.refuses(v6, secure));
    }
    let plain = match guard.plain_http {
        PlainHttp::Never => false,
        PlainHttp::Allowed => !guard.allow.is_empty(),
        PlainHttp::Always => true,
    };
    (!secure && !plain).then_some("http is not allowed for this target")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j15_special_addresses_are_refused_however_they_are_written() {
        let guard = Guard { plain_http: PlainHttp::Always, ..Guard::default() };
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.0.0.1/",
            "http://0177.0.0.1/",
            "http://localhost/",
            "http://LOCALHOST./",
            "http://a.localhost/",
            "http://10.1.2.3/",
            "http://172.31.255.255/",
            "http://192.168.0.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://100.100.100.200/",
            "http://0.0.0.0/",
            "http://[::1]/",
            "http://[::]/",
            "http://[::ffff:10.0.0.1]/",
            "http://[64:ff9b::a00:1]/",
            "http://[fe80::1]/",
            "http://[fd00:ec2::254]/",
            "http://[2002:a00:1::]/",
            "http://255.255.255.255/",
        ] {
            assert!(check(&guard, url).is_err(), "{url}");
        }
        for url in ["http://93.184.216.34/", "https://example.com/hook?x=1", "https://[2606:2800:220:1::1]/"]
        {
            assert_eq!(check(&guard, url), Ok(()), "{url}");
        }
    }

    #[test]
    fn j15_allowed_ranges_accept_names_and_plain_http() {
        let allow = vec!["10.0.0.0/8".parse().expect("a range"), "::1".parse().expect("an address")];
        let guard = Guard { allow, plain_http: PlainHttp::Allowed };
        for url in ["http://10.1.2.3/", "http://[::1]:8080/", "http://localhost/", "https://example.com/"] {
            assert_eq!(check(&guard, url), Ok(()), "{url}");
        }
        for url in ["http://11.1.2.3/", "http://127.0.0.1/", "https://192.168.1.1/"] {
            assert!(check(&guard, url).is_err(), "{url}");
        }
    }

    #[test]
    fn j15_a_url_must_be_one_that_can_be_sent_to() {
        let guard = Guard::default();
        for url in [
            "",
            "example.com",
            "ftp://example.com/",
            "https://",
            "https://user@example.com/",
            "https://:secret@example.com/",
            "https://example.com/#part",
            "https://example.com/\r\nHost: evil",
            "https://example.com:0/",
            "https:///example.com",
            "https://example.com\\@127.0.0.1/",
            "https://a..example.com/",
            "https://.example.com/",
            "http://example.com/",
        ] {
            assert!(check(&guard, url).is_err(), "{url:?}");
        }
    }
}
