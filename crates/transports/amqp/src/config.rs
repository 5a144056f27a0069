//! Settings of one AMQP broker: options, defaults, and the rules between them.
//!
//! Invariant: credentials leave this machine in plain text only if the settings allow it.

use std::path::PathBuf;
use std::time::Duration;

use postrider_seams::Secret;
use postrider_target_options::{
    Host, OptionMistake, TargetUrl, UrlOptions, certificates_without_tls, plaintext_credentials_mistake,
};

use crate::error::{BROKER, Error};

#[cfg(test)]
mod tests;

/// User and password of the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    pub password: Secret,
}

/// Settings of one broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Nodes of the broker; the first that answers is used.
    pub hosts: Vec<Host>,
    pub tls: bool,
    pub credentials: Credentials,
    /// Whether credentials may be sent in plain text to other machines.
    pub allow_plaintext_auth: bool,
    pub vhost: String,
    /// Exchange of all records, with their topic as routing key; if it is not set, topics name the exchange or queue.
    pub exchange: Option<String>,
    /// PEM file with certificate authorities that are trusted in addition to the public ones.
    pub ca_file: Option<PathBuf>,
    /// Client certificate and its key, as PEM files.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Name of this client in the broker's console.
    pub name: String,
    pub heartbeat: Duration,
    /// Time limit of a connect.
    pub connect_timeout: Duration,
    /// Time limit of an acknowledgement. A hanging broker is noticed after a few of these.
    pub ack_timeout: Duration,
    /// Maximum number of channels and of concurrent calls.
    pub channels: usize,
    /// Maximum records of one call.
    pub batch: usize,
}

impl Settings {
    /// Returns the default settings for these nodes: no TLS, user and password `guest`, vhost `/`.
    pub fn new(hosts: Vec<Host>) -> Self {
        Self {
            hosts,
            tls: false,
            // The default account of RabbitMQ, which works only on the broker's own machine.
            credentials: Credentials { user: "guest".to_owned(), password: Secret::new("guest") },
            allow_plaintext_auth: false,
            vhost: "/".to_owned(),
            exchange: None,
            ca_file: None,
            certificate: None,
            name: "postrider".to_owned(),
            heartbeat: Duration::from_secs(4),
            connect_timeout: Duration::from_secs(5),
            ack_timeout: Duration::from_secs(5),
            channels: 4,
            batch: 500,
        }
    }

    /// Parses `amqp://user:password@host:port,host:port/vhost?option=value`; `amqps://` is TLS. Without a path the
    /// vhost is `/`. Options in `overrides` override those of the URL.
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        let secure = url.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("amqps:"));
        let mut address = TargetUrl::parse(url, overrides, if secure { 5671 } else { 5672 });
        let mut options = std::mem::take(&mut address.options);
        let mut settings = Self::new(address.hosts);
        match address.scheme.as_str() {
            "amqp" => {}
            "amqps" => settings.tls = true,
            _ => options.mistake("the scheme must be amqp, or amqps for TLS"),
        }
        if let Some(vhost) = address.path {
            settings.vhost = vhost;
        }
        match (address.user, address.password) {
            (Some(user), Some(password)) => settings.credentials = Credentials { user, password },
            (None, None) => {}
            _ => {
                options.mistake("set user and password together: amqps://user:password@host");
            }
        }
        settings.read(&mut options);
        let mut mistakes = options.finish();
        mistakes.extend(settings.mistakes());
        Error::check(BROKER, mistakes).map(|()| settings)
    }

    fn read(&mut self, options: &mut UrlOptions) {
        options.read("allow_plaintext_auth", "true or false", &mut self.allow_plaintext_auth);
        self.exchange = options.text("exchange");
        self.ca_file = options.text("ca_file").map(Into::into);
        self.certificate = options.certificate();
        options.read("name", "a name", &mut self.name);
        options.duration("heartbeat", &mut self.heartbeat);
        options.duration("connect_timeout", &mut self.connect_timeout);
        options.duration("ack_timeout", &mut self.ack_timeout);
        options.read("channels", "a whole number", &mut self.channels);
        options.read("batch", "a whole number", &mut self.batch);
    }

    /// Returns every violated rule between the settings.
    pub fn check(&self) -> Result<(), Error> {
        Error::check(BROKER, self.mistakes())
    }

    fn mistakes(&self) -> Vec<OptionMistake> {
        let mut mistakes = Vec::new();
        if self.hosts.is_empty() {
            mistakes.push("no host: amqp://host:port".into());
        }
        mistakes.extend(plaintext_credentials_mistake(
            self.tls,
            self.allow_plaintext_auth,
            &self.hosts,
            "amqps",
        ));
        if !self.tls {
            let (ca_file, certificate) = (self.ca_file.is_some(), self.certificate.is_some());
            mistakes.extend(certificates_without_tls(ca_file, certificate, "amqps"));
        }
        if self.vhost.is_empty() || self.vhost.len() > 255 {
            mistakes.push("the vhost must have 1 to 255 bytes; without a path it is /".into());
        }
        if self.exchange.as_deref().is_some_and(|exchange| exchange.is_empty() || exchange.len() > 255) {
            mistakes.push(OptionMistake::of("exchange", "must have 1 to 255 bytes"));
        }
        if !(Duration::from_secs(1)..=Duration::from_mins(10)).contains(&self.heartbeat) {
            mistakes.push(OptionMistake::of("heartbeat", "must be between 1s and 10m"));
        }
        if !(Duration::from_millis(100)..=Duration::from_mins(5)).contains(&self.connect_timeout) {
            mistakes.push(OptionMistake::of("connect_timeout", "must be between 100ms and 5m"));
        }
        if !(Duration::from_millis(100)..=Duration::from_mins(5)).contains(&self.ack_timeout) {
            mistakes.push(OptionMistake::of("ack_timeout", "must be between 100ms and 5m"));
        }
        let ranges = [("batch", self.batch, 10_000), ("channels", self.channels, 1000)];
        for (name, _, most) in ranges.into_iter().filter(|(_, value, most)| !(1..=*most).contains(value)) {
            mistakes.push(OptionMistake::of(name, format!("must be between 1 and {most}")));
        }
        mistakes
    }

    /// Returns the URL of the broker for messages, without the credentials.
    pub fn target(&self) -> String {
        self.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}
