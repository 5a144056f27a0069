//! Settings of one SMTP relay: options, defaults, and the rules between them.
//!
//! Invariant: credentials are never sent in plain text, unless the relay is on this machine and the settings allow it.

use std::path::PathBuf;
use std::time::Duration;

use postrider_seams::Secret;
use postrider_target_options::OptionMistake;

use crate::error::{Error, TARGET};

mod parse;
#[cfg(test)]
mod tests;

/// The encryption of the connection. There is no opportunistic mode: it would silently fall back to plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// TLS from the first byte (port 465).
    Implicit,
    /// STARTTLS is required; without it no mail is sent (port 587).
    Required,
    /// Plain text (port 25).
    None,
}

/// The authentication mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// PLAIN, or LOGIN if the relay offers only that.
    Password,
    Plain,
    Login,
    /// XOAUTH2: the secret is an access token.
    XOAuth2,
}

/// User, secret and mechanism for AUTH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    /// The password or the token.
    pub secret: Secret,
    pub mechanism: Mechanism,
}

/// Time limits of each phase. The defaults follow RFC 5321 section 4.5.3.2; the deadline of a call shortens each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// Name resolution and TCP, over all addresses.
    pub connect: Duration,
    pub tls: Duration,
    pub greeting: Duration,
    pub ehlo: Duration,
    pub auth: Duration,
    pub mail: Duration,
    /// Limit of the first reply on a connection that was idle: the network may have dropped it silently. After that
    /// the mail is sent over a new connection, at no cost.
    pub reuse: Duration,
    pub rcpt: Duration,
    pub data: Duration,
    /// Limit of the write of each block of the message.
    pub block: Duration,
    /// Limit of the reply to the final dot. Long, because giving up early causes a duplicate.
    pub end: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            tls: Duration::from_mins(1),
            greeting: Duration::from_mins(5),
            ehlo: Duration::from_mins(5),
            auth: Duration::from_mins(2),
            mail: Duration::from_mins(5),
            reuse: Duration::from_secs(10),
            rcpt: Duration::from_mins(5),
            data: Duration::from_mins(2),
            block: Duration::from_mins(3),
            end: Duration::from_mins(10),
        }
    }
}

/// Settings of one relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Host name, or an address without brackets.
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    pub credentials: Option<Credentials>,
    /// Whether credentials may be sent in plain text; only to a loopback address.
    pub allow_plaintext_auth: bool,
    /// Name in EHLO; by default our own address as a literal, as RFC 5321 requires for hosts without a name.
    pub helo: Option<String>,
    /// Maximum number of connections, idle ones included.
    pub connections: usize,
    /// Mails after which a connection is closed and opened again.
    pub per_connection: u32,
    /// Maximum number of mails of one call.
    pub batch: usize,
    /// Mails per second over all connections; `None`: no limit.
    pub rate: Option<u32>,
    pub timeouts: Timeouts,
    /// Time after which an idle connection is closed.
    pub idle: Duration,
    /// Maximum size of a message in bytes, even if the relay announces more.
    pub max_size: u64,
    /// PEM file with additional certificate authorities, for private relays.
    pub ca_file: Option<PathBuf>,
}

impl Settings {
    /// Returns the defaults for a relay: the port that belongs to `tls`, no credentials, eight connections.
    pub fn new(host: impl Into<String>, tls: Tls) -> Self {
        let port = match tls {
            Tls::Implicit => 465,
            Tls::Required => 587,
            Tls::None => 25,
        };
        Self {
            host: host.into(),
            port,
            tls,
            credentials: None,
            allow_plaintext_auth: false,
            helo: None,
            connections: 8,
            per_connection: 1000,
            batch: 20,
            rate: None,
            timeouts: Timeouts::default(),
            // Relays close idle connections after 1 to 5 minutes; close them earlier.
            idle: Duration::from_secs(30),
            max_size: 25 * 1024 * 1024,
            ca_file: None,
        }
    }

    /// Returns the URL of the relay for messages, without the credentials.
    pub fn target(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Returns every violated rule between the settings.
    pub fn check(&self) -> Result<(), Error> {
        Error::check(TARGET, self.mistakes())
    }

    fn mistakes(&self) -> Vec<OptionMistake> {
        let mut mistakes = Vec::new();
        self.check_numbers(&mut mistakes);
        self.check_secrecy(&mut mistakes);
        if self.host.is_empty() {
            mistakes.push("the host is missing: smtp://host:port".into());
        }
        if self.helo.as_deref().is_some_and(|name| !is_helo(name)) {
            mistakes.push(OptionMistake::of(
                "helo",
                "must be a host name or an address literal such as [192.0.2.1]",
            ));
        }
        mistakes
    }

    fn check_numbers(&self, mistakes: &mut Vec<OptionMistake>) {
        let least = [
            ("connections", self.connections as u64),
            ("per_connection", u64::from(self.per_connection)),
            ("batch", self.batch as u64),
            ("max_size", self.max_size),
            ("rate", self.rate.map_or(1, u64::from)),
            ("port", u64::from(self.port)),
        ];
        for (name, _) in least.into_iter().filter(|(_, value)| *value == 0) {
            mistakes.push(OptionMistake::of(name, "must be at least 1"));
        }
    }

    fn check_secrecy(&self, mistakes: &mut Vec<OptionMistake>) {
        let Some(credentials) = &self.credentials else { return };
        if self.tls == Tls::None && !(self.allow_plaintext_auth && is_loopback(&self.host)) {
            mistakes.push(
                "credentials need TLS: use smtps://, or tls=starttls; allow_plaintext_auth=true works for a loopback \
                 address only"
                    .into(),
            );
        }
        let fields = [("user", credentials.user.as_str()), ("password", credentials.secret.reveal())];
        for (name, _) in fields.into_iter().filter(|(_, text)| text.contains(['\0', '\r', '\n', '\u{1}'])) {
            mistakes.push(OptionMistake::of(name, "contains a control character"));
        }
    }
}

/// Whether this name or address is certainly this machine.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_helo(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 255
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte))
}
