//! The target of a request: a URL, parsed and checked once.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use url::{Host, Url};

use crate::error::{Error, ErrorKind};

/// Scheme, host and port: the key of pooled connections, breakers and limits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub secure: bool,
    /// Lower case, A-labels; an IPv6 address without brackets.
    pub host: Arc<str>,
    pub port: u16,
}

/// Maximum length of a URL in bytes.
const MAX_URL_LENGTH: usize = 2048;

/// A parsed `http` or `https` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub(crate) origin: Origin,
    /// The address, if the host is an address and not a name.
    pub(crate) literal: Option<IpAddr>,
    /// `host[:port]`, the value of `Host` and `:authority`.
    pub(crate) authority: String,
    /// Path and query, at least `/`.
    pub(crate) path: String,
}

impl Target {
    /// Parses an absolute `http` or `https` URL with a host and without credentials.
    /// The error never repeats the URL: its query may contain a token.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |what: &str| Error::new(ErrorKind::Url, format!("the target URL {what}"));
        if text.len() > MAX_URL_LENGTH {
            return Err(invalid("has more than 2048 characters"));
        }
        // The URL library would silently drop these characters and dial another URL than the row has.
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(invalid("contains a blank or a control character"));
        }
        let url = Url::parse(text).map_err(|error| invalid(&format!("is not a URL: {error}")))?;
        let secure = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(invalid("must begin with https:// or http://")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("contains credentials, which belong to a service account"));
        }
        let (host, literal) = match url.host() {
            Some(Host::Domain(name)) if !name.is_empty() => (name.to_owned(), None),
            Some(Host::Ipv4(address)) => (address.to_string(), Some(address.into())),
            Some(Host::Ipv6(address)) => (address.to_string(), Some(address.into())),
            _ => return Err(invalid("has no host")),
        };
        let port = url.port_or_known_default().ok_or_else(|| invalid("has no port"))?;
        if port == 0 {
            return Err(invalid("has port 0"));
        }
        let host_text = url.host_str().unwrap_or_default();
        let authority = url.port().map_or_else(|| host_text.to_owned(), |port| format!("{host_text}:{port}"));
        let path =
            url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        Ok(Self { origin: Origin { secure, host: host.into(), port }, literal, authority, path })
    }

    /// Returns the host in lower case; an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        &self.origin.host
    }

    /// Returns `https://host:port`, the key of breakers, holds and limits, without path and query.
    pub fn origin(&self) -> String {
        self.origin.to_string()
    }

    /// Whether the scheme is `https`.
    pub fn is_secure(&self) -> bool {
        self.origin.secure
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let target = Target::parse("HTTPS://Bücher.example:8443/a/b?c=d#e").unwrap();
        assert_eq!(target.origin(), "https://xn--bcher-kva.example:8443");
        assert_eq!(target.authority, "xn--bcher-kva.example:8443");
        assert_eq!(target.path, "/a/b?c=d");
        assert_eq!(Target::parse("http://[::1]").unwrap().origin(), "http://[::1]:80");
        assert_eq!(Target::parse("http://[::1]:81").unwrap().authority, "[::1]:81");
        assert_eq!(Target::parse("https://a.example").unwrap().authority, "a.example");
    }

    #[test]
    fn j15_addresses_in_disguise_are_seen() {
        for disguise in ["http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/"] {
            assert_eq!(Target::parse(disguise).unwrap().literal, Some([127, 0, 0, 1].into()), "{disguise}");
        }
    }

    #[test]
    fn what_can_not_be_dialled_is_refused_without_being_repeated() {
        for invalid in [
            "",
            "example.com",
            "/relative",
            "ftp://a.example",
            "https://",
            "https://user:hunter2@a.example",
            "https://a.example/\r\nX: y",
            "https://a.example/a b",
            "https://a.example:0/",
            "https://a.example:99999",
            "\thttps://a.example",
            "file:///etc/passwd",
            "https://[::1",
            "gopher://a.example/hunter2",
        ] {
            let error = Target::parse(invalid).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Url, "{invalid}");
            assert!(!error.message.contains("hunter2"), "{invalid}");
        }
    }
}
