//! Parses `smtp://user:password@host:port?option=value` into settings and reports all mistakes at once.
//!
//! Must not: repeat the URL in a message, because it contains the password.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use url::Url;

use super::{Credentials, Mechanism, Secret, Settings, Tls, is_loopback};
use crate::error::Error;

impl Settings {
    /// Parses the URL of a relay.
    /// `smtps://` is TLS from the first byte. `smtp://` is STARTTLS, required; to a loopback address without
    /// credentials it is plain text. `tls=none|starttls|implicit` overrides this.
    pub fn from_url(text: &str) -> Result<Self, Error> {
        let url = Url::parse(text).map_err(|error| Error::one(format!("not a URL: {error}")))?;
        let mut mistakes = Vec::new();
        let host = host(&url);
        let credentials = credentials(&url, &mut mistakes);
        let options: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let tls = tls(&url, &host, credentials.is_some(), &options, &mut mistakes);

        let mut settings = Self::new(host, tls);
        settings.port = url.port().unwrap_or(settings.port);
        settings.credentials = credentials;
        if !matches!(url.path(), "" | "/") {
            mistakes.push("there is nothing after the port but ?options".to_owned());
        }
        for (key, value) in &options {
            settings.option(key, value, &mut mistakes);
        }
        if let Err(error) = settings.check() {
            mistakes.extend(error.mistakes);
        }
        if mistakes.is_empty() { Ok(settings) } else { Err(Error { mistakes }) }
    }

    fn option(&mut self, key: &str, value: &str, mistakes: &mut Vec<String>) {
        match key {
            "tls" => {}
            "auth" => self.auth_option(value, mistakes),
            "allow_plaintext_auth" => {
                number(key, value, "true or false", mistakes, &mut self.allow_plaintext_auth);
            }
            "helo" => self.helo = Some(value.to_owned()),
            "connections" => number(key, value, "a whole number", mistakes, &mut self.connections),
            "per_connection" => number(key, value, "a whole number", mistakes, &mut self.per_connection),
            "batch" => number(key, value, "a whole number", mistakes, &mut self.batch),
            "max_size" => number(key, value, "a number of bytes", mistakes, &mut self.max_size),
            "rate" => {
                let mut rate = 1;
                number(key, value, "mails a second", mistakes, &mut rate);
                self.rate = Some(rate);
            }
            "idle" => duration(key, value, mistakes, &mut self.idle),
            "ca_file" => self.ca_file = Some(value.into()),
            _ => self.timeout_option(key, value, mistakes),
        }
    }

    fn auth_option(&mut self, value: &str, mistakes: &mut Vec<String>) {
        let mechanism = match value {
            "password" => Mechanism::Password,
            "plain" => Mechanism::Plain,
            "login" => Mechanism::Login,
            "xoauth2" => Mechanism::XOAuth2,
            _ => {
                mistakes.push("auth must be password, plain, login or xoauth2".to_owned());
                return;
            }
        };
        match &mut self.credentials {
            Some(credentials) => credentials.mechanism = mechanism,
            None => mistakes.push("auth needs a user and a password before the host".to_owned()),
        }
    }

    fn timeout_option(&mut self, key: &str, value: &str, mistakes: &mut Vec<String>) {
        let timeouts = &mut self.timeouts;
        let place = match key {
            "timeout_connect" => &mut timeouts.connect,
            "timeout_tls" => &mut timeouts.tls,
            "timeout_greeting" => &mut timeouts.greeting,
            "timeout_ehlo" => &mut timeouts.ehlo,
            "timeout_auth" => &mut timeouts.auth,
            "timeout_mail" => &mut timeouts.mail,
            "timeout_reuse" => &mut timeouts.reuse,
            "timeout_rcpt" => &mut timeouts.rcpt,
            "timeout_data" => &mut timeouts.data,
            "timeout_block" => &mut timeouts.block,
            "timeout_end" => &mut timeouts.end,
            _ => {
                mistakes.push(format!(
                    "unknown option {key}: known are tls, auth, allow_plaintext_auth, helo, connections, \
                     per_connection, batch, rate, max_size, idle, ca_file, and timeout_ with connect, tls, greeting, \
                     ehlo, auth, mail, reuse, rcpt, data, block or end"
                ));
                return;
            }
        };
        duration(key, value, mistakes, place);
    }
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = percent_decode_str(host).decode_utf8_lossy();
    host.trim_start_matches('[').trim_end_matches(']').to_owned()
}

fn credentials(url: &Url, mistakes: &mut Vec<String>) -> Option<Credentials> {
    let password = url.password()?;
    let mut decode = |text: &str, name: &str| {
        let text = percent_decode_str(text).decode_utf8();
        if text.is_err() {
            mistakes.push(format!("the {name} is not UTF-8 after percent-decoding"));
        }
        text.unwrap_or_default().into_owned()
    };
    let user = decode(url.username(), "user");
    let secret = Secret::new(decode(password, "password"));
    Some(Credentials { user, secret, mechanism: Mechanism::Password })
}

fn tls(
    url: &Url,
    host: &str,
    credentials: bool,
    options: &[(String, String)],
    mistakes: &mut Vec<String>,
) -> Tls {
    if !url.username().is_empty() && !credentials {
        mistakes.push("a user without a password: write smtp://user:password@host".to_owned());
    }
    let scheme = match url.scheme() {
        "smtps" => Tls::Implicit,
        "smtp" if !credentials && is_loopback(host) => Tls::None,
        "smtp" => Tls::Required,
        other => {
            mistakes.push(format!("the scheme is {other}: it must be smtp or smtps"));
            Tls::Required
        }
    };
    let Some((_, wish)) = options.iter().rev().find(|(key, _)| key == "tls") else { return scheme };
    match (wish.as_str(), scheme) {
        ("implicit", _) => Tls::Implicit,
        ("starttls", Tls::Required | Tls::None) => Tls::Required,
        ("none", Tls::Required | Tls::None) => Tls::None,
        ("starttls" | "none", Tls::Implicit) => {
            mistakes.push("smtps:// is TLS from the first byte: use smtp:// with this tls option".to_owned());
            scheme
        }
        _ => {
            mistakes.push("tls must be implicit, starttls or none".to_owned());
            scheme
        }
    }
}

fn number<T: std::str::FromStr>(
    key: &str,
    value: &str,
    what: &str,
    mistakes: &mut Vec<String>,
    place: &mut T,
) {
    match value.parse() {
        Ok(number) => *place = number,
        Err(_) => mistakes.push(format!("{key} must be {what}")),
    }
}

fn duration(key: &str, value: &str, mistakes: &mut Vec<String>, place: &mut Duration) {
    match read_duration(value) {
        Some(duration) if !duration.is_zero() => *place = duration,
        _ => mistakes.push(format!("{key} must be a duration above zero, such as 500ms, 30s or 5m")),
    }
}

/// Parses a duration; a plain number is seconds.
fn read_duration(text: &str) -> Option<Duration> {
    text.parse().map(Duration::from_secs).ok().or_else(|| postrider_seams::duration(text).ok())
}
