//! Parses the URL of a target: several hosts, a user, options.
//!
//! Written by hand, because standard URLs have one host only. Must not: repeat the URL in a message, because it may
//! contain a password.

use std::fmt;

use percent_encoding::percent_decode_str;
use postrider_seams::Secret;

use crate::{OptionMistake, UrlOptions};

#[cfg(test)]
mod tests;

/// One of a target's hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// A name, or an address without brackets.
    pub name: String,
    pub port: u16,
}

impl Host {
    /// Whether this name or address is certainly this machine.
    pub fn is_loopback(&self) -> bool {
        self.name == "localhost"
            || self.name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

/// Returns why credentials may not be sent over this connection, `None` if they may.
/// Plain text is allowed only to this machine, or if the settings say so explicitly.
pub fn plaintext_credentials_mistake(
    tls: bool,
    allowed: bool,
    hosts: &[Host],
    scheme: &str,
) -> Option<OptionMistake> {
    let safe = tls || allowed || hosts.iter().all(Host::is_loopback);
    (!safe).then(|| {
        let remedy = format!("use {scheme}://, or allow_plaintext_auth=true in a network that you trust");
        OptionMistake::from("credentials in plain text").with_remedy(remedy)
    })
}

/// Returns the mistake of a connection without TLS that has certificates, which it would not use.
pub fn certificates_without_tls(ca_file: bool, certificate: bool, scheme: &str) -> Option<OptionMistake> {
    let option = if ca_file { "ca_file" } else { "cert_file" };
    let mistake = || OptionMistake::of(option, "needs TLS").with_remedy(format!("use {scheme}://"));
    (ca_file || certificate).then(mistake)
}

/// A parsed URL.
#[derive(Debug)]
pub struct TargetUrl {
    pub scheme: String,
    pub user: Option<String>,
    pub password: Option<Secret>,
    pub hosts: Vec<Host>,
    /// Percent-decoded path without the first slash; `None` if the URL has no slash after the hosts.
    pub path: Option<String>,
    pub options: UrlOptions,
}

impl TargetUrl {
    /// Parses a URL; `port` is the default of its hosts.
    /// Options in `overrides` override those of the URL; `user` and `password` may be among them. `options.finish()`
    /// returns what is wrong, together with all other mistakes.
    pub fn parse(text: &str, overrides: &[(String, String)], port: u16) -> Self {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, Some(path)),
            None => (rest, None),
        };
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(login), hosts),
            None => (None, authority),
        };
        let mut pairs: Vec<(String, String)> =
            url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        pairs.extend(overrides.iter().cloned());
        let mut options = UrlOptions::new(pairs);
        if !text.contains("://") {
            options.mistake("not a URL: it must begin with a scheme and ://");
        }
        let (mut user, mut password) = login_of(login, &mut options);
        user = options.text("user").or(user);
        password = options.text("password").map(Secret::new).or(password);
        let hosts = hosts_of(hosts, port, &mut options);
        let path = path.map(|path| decode(path, "path", &mut options));
        Self { scheme: scheme.to_ascii_lowercase(), user, password, hosts, path, options }
    }
}

fn decode(text: &str, name: &str, options: &mut UrlOptions) -> String {
    let decoded = percent_decode_str(text).decode_utf8();
    if decoded.is_err() {
        options.mistake(format!("the {name} is not UTF-8 after percent-decoding"));
    }
    decoded.unwrap_or_default().into_owned()
}

fn login_of(login: Option<&str>, options: &mut UrlOptions) -> (Option<String>, Option<Secret>) {
    let Some(login) = login else { return (None, None) };
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    let user = Some(decode(user, "user", options)).filter(|user| !user.is_empty());
    let password = password.map(|password| Secret::new(decode(password, "password", options)));
    (user, password)
}

fn hosts_of(text: &str, port: u16, options: &mut UrlOptions) -> Vec<Host> {
    let mut hosts = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        match host_of(part, port) {
            Some(host) => hosts.push(host),
            None => options.mistake(format!("host {} of the URL is not host:port", hosts.len() + 1)),
        }
    }
    hosts
}

fn host_of(text: &str, port: u16) -> Option<Host> {
    let (name, digits) = if let Some(rest) = text.strip_prefix('[') {
        let (name, rest) = rest.split_once(']')?;
        (name, rest.strip_prefix(':').or_else(|| rest.is_empty().then_some(""))?)
    } else {
        text.split_once(':').unwrap_or((text, ""))
    };
    let port = if digits.is_empty() { port } else { digits.parse().ok().filter(|&port| port > 0)? };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
    (!name.is_empty() && name.bytes().all(plain)).then(|| Host { name: name.to_owned(), port })
}
