//! Settings of one Kafka cluster: options, defaults, and the rules between them.
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

/// Default for a publish timeout of five seconds. A longer one does not raise it: a hanging cluster must be noticed.
const TIMEOUT: Duration = Duration::from_millis(4500);
const LONGEST: Duration = Duration::from_mins(15);

/// The compression of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

/// The SASL mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    Plain,
    ScramSha256,
    ScramSha512,
}

/// User, password and mechanism for SASL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    pub password: Secret,
    pub mechanism: Mechanism,
}

/// Settings of one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Bootstrap servers; the cluster reports the others.
    pub brokers: Vec<Host>,
    pub tls: bool,
    pub credentials: Option<Credentials>,
    /// Whether credentials may be sent in plain text to other machines.
    pub allow_plaintext_auth: bool,
    /// PEM file with the certificate authorities that are trusted instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// Client certificate and its key, as PEM files.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Name of this client in the cluster's logs and quotas.
    pub client_id: String,
    /// Time limit in which the producer tries to get a record acknowledged.
    /// Best a little less than the lane's publish timeout: then the producer's exact result comes before the call's
    /// deadline. Unset, it is derived from that timeout, and is 4.5 s at most.
    pub timeout: Option<Duration>,
    /// Time that a record waits for others to share its request.
    pub linger: Duration,
    pub compression: Compression,
    /// Maximum records in the local queue; further ones wait outside.
    pub queue: u32,
    /// Maximum records of one call, and maximum concurrent calls.
    pub batch: usize,
    pub concurrency: usize,
    /// Maximum size of a record in bytes. The topic's own limit applies too.
    pub max_size: u32,
}

impl Settings {
    /// Returns the default settings for these bootstrap servers: no TLS, no credentials.
    pub fn new(brokers: Vec<Host>) -> Self {
        Self {
            brokers,
            tls: false,
            credentials: None,
            allow_plaintext_auth: false,
            ca_file: None,
            certificate: None,
            client_id: "postrider".to_owned(),
            timeout: None,
            linger: Duration::from_millis(2),
            compression: Compression::None,
            queue: 100_000,
            batch: 500,
            concurrency: 8,
            max_size: 1024 * 1024,
        }
    }

    /// Parses `kafka://user:password@host:port,host:port?option=value`; `kafkas://` is TLS. Options in `overrides`
    /// override those of the URL.
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        let mut address = TargetUrl::parse(url, overrides, 9092);
        let mut options = std::mem::take(&mut address.options);
        let mut settings = Self::new(address.hosts);
        match address.scheme.as_str() {
            "kafka" => {}
            "kafkas" => settings.tls = true,
            _ => options.mistake("the scheme must be kafka, or kafkas for TLS"),
        }
        if address.path.is_some_and(|path| !path.is_empty()) {
            options.mistake(
                "unexpected text after the hosts: only ?options are allowed, rows name their topics",
            );
        }
        settings.credentials = credentials(address.user, address.password, &mut options);
        settings.read(&mut options);
        let mut mistakes = options.finish();
        mistakes.extend(settings.mistakes());
        Error::check(BROKER, mistakes).map(|()| settings)
    }

    fn read(&mut self, options: &mut UrlOptions) {
        let truth = "true or false";
        let number = "a whole number";
        options.read("tls", truth, &mut self.tls);
        options.read("allow_plaintext_auth", truth, &mut self.allow_plaintext_auth);
        self.ca_file = options.text("ca_file").map(Into::into);
        self.certificate = options.certificate();
        options.read("client_id", "a name", &mut self.client_id);
        let mut timeout = self.timeout();
        if options.has("timeout") {
            options.duration("timeout", &mut timeout);
            self.timeout = Some(timeout);
        }
        options.duration("linger", &mut self.linger);
        let compressions = [
            ("none", Compression::None),
            ("gzip", Compression::Gzip),
            ("snappy", Compression::Snappy),
            ("lz4", Compression::Lz4),
            ("zstd", Compression::Zstd),
        ];
        options.choice("compression", &compressions, &mut self.compression);
        options.read("queue", number, &mut self.queue);
        options.read("batch", number, &mut self.batch);
        options.read("concurrency", number, &mut self.concurrency);
        options.read("max_size", "a number of bytes", &mut self.max_size);
    }

    /// Returns every violated rule between the settings.
    pub fn check(&self) -> Result<(), Error> {
        Error::check(BROKER, self.mistakes())
    }

    fn mistakes(&self) -> Vec<OptionMistake> {
        let mut mistakes = Vec::new();
        if self.brokers.is_empty() {
            mistakes.push("no broker: kafka://host:port".into());
        }
        if self.credentials.is_some() {
            mistakes.extend(plaintext_credentials_mistake(
                self.tls,
                self.allow_plaintext_auth,
                &self.brokers,
                "kafkas",
            ));
        }
        if !self.tls {
            let (ca_file, certificate) = (self.ca_file.is_some(), self.certificate.is_some());
            mistakes.extend(certificates_without_tls(ca_file, certificate, "kafkas"));
        }
        if !(Duration::from_millis(100)..=LONGEST).contains(&self.timeout()) {
            mistakes.push(OptionMistake::of("timeout", "must be between 100ms and 15m"));
        }
        if self.linger > self.timeout() / 2 {
            mistakes.push(OptionMistake::of("linger", "must be at most half of timeout"));
        }
        if !(1000..=500_000_000).contains(&self.max_size) {
            mistakes.push(OptionMistake::of("max_size", "must be between 1000 and 500000000 bytes"));
        }
        let ranges = [("batch", self.batch, 10_000), ("concurrency", self.concurrency, 1000)];
        for (name, _, most) in ranges.into_iter().filter(|(_, value, most)| !(1..=*most).contains(value)) {
            mistakes.push(OptionMistake::of(name, format!("must be between 1 and {most}")));
        }
        if !(self.batch..=10_000_000).contains(&(self.queue as usize)) {
            mistakes.push(OptionMistake::of("queue", "must be between the batch and 10000000"));
        }
        mistakes
    }

    /// Derives an unset timeout from the lane's publish timeout, minus the call's own work; at most the default.
    #[must_use]
    pub fn within(mut self, publish: Duration) -> Self {
        let least = Duration::from_millis(100);
        self.timeout.get_or_insert((publish * 9 / 10).clamp(least, TIMEOUT));
        // A short timeout that was not set for this cluster must not violate its rules.
        self.linger = self.linger.min(self.timeout() / 2);
        self
    }

    /// Returns the time limit of a record; 4.5 s if it is not set.
    pub fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT)
    }

    /// Returns the URL of the cluster for messages, without the credentials.
    pub fn target(&self) -> String {
        self.brokers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

fn credentials(
    user: Option<String>,
    password: Option<Secret>,
    options: &mut UrlOptions,
) -> Option<Credentials> {
    let mut mechanism = None;
    let mechanisms = [
        ("plain", Some(Mechanism::Plain)),
        ("scram-sha-256", Some(Mechanism::ScramSha256)),
        ("scram-sha-512", Some(Mechanism::ScramSha512)),
    ];
    options.choice("sasl", &mechanisms, &mut mechanism);
    match (user, password) {
        (Some(user), Some(password)) => {
            Some(Credentials { user, password, mechanism: mechanism.unwrap_or(Mechanism::Plain) })
        }
        (None, None) => {
            if mechanism.is_some() {
                options.mistake(OptionMistake::of("sasl", "needs a user and a password before the hosts"));
            }
            None
        }
        _ => {
            options.mistake("set user and password together: kafkas://user:password@host");
            None
        }
    }
}
