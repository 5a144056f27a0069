//! Settings of one NATS system: options, defaults, and the rules between them.
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

/// The credentials of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    Password {
        user: String,
        password: Secret,
    },
    Token(Secret),
    /// The seed of an nkey; only signatures made with it are sent.
    Nkey(Secret),
    /// A `.creds` file: a JWT and its seed.
    File(PathBuf),
}

/// Settings of one NATS system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub servers: Vec<Host>,
    pub tls: bool,
    pub credentials: Option<Credentials>,
    /// Whether credentials may be sent in plain text to other machines.
    pub allow_plaintext_auth: bool,
    /// PEM file with certificate authorities that are trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// Client certificate and its key, as PEM files.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Name of this client on the servers.
    pub name: String,
    /// JetStream domain, if the streams are in another one than the servers.
    pub domain: Option<String>,
    /// Time limit of a connect.
    pub connect_timeout: Duration,
    /// Time limit of an acknowledgement. A hanging broker is noticed after a few of these.
    pub ack_timeout: Duration,
    /// Maximum records of one call, and maximum concurrent calls.
    pub batch: usize,
    pub concurrency: usize,
}

impl Settings {
    /// Returns the default settings for these servers: no TLS, no credentials.
    pub fn new(servers: Vec<Host>) -> Self {
        Self {
            servers,
            tls: false,
            credentials: None,
            allow_plaintext_auth: false,
            ca_file: None,
            certificate: None,
            name: "postrider".to_owned(),
            domain: None,
            connect_timeout: Duration::from_secs(5),
            ack_timeout: Duration::from_secs(5),
            batch: 500,
            concurrency: 4,
        }
    }

    /// Parses `nats://user:password@host:port,host:port?option=value`, or a token as the user alone; `tls://` is TLS.
    /// Options in `overrides` override those of the URL.
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        let mut address = TargetUrl::parse(url, overrides, 4222);
        let mut options = std::mem::take(&mut address.options);
        let mut settings = Self::new(address.hosts);
        match address.scheme.as_str() {
            "nats" => {}
            "tls" => settings.tls = true,
            _ => options.mistake("the scheme must be nats, or tls"),
        }
        if address.path.is_some_and(|path| !path.is_empty()) {
            options.mistake(
                "unexpected text after the hosts: only ?options are allowed, rows name their subjects",
            );
        }
        settings.credentials = credentials(address.user, address.password, &mut options);
        settings.read(&mut options);
        let mut mistakes = options.finish();
        mistakes.extend(settings.mistakes());
        Error::check(BROKER, mistakes).map(|()| settings)
    }

    fn read(&mut self, options: &mut UrlOptions) {
        options.read("tls", "true or false", &mut self.tls);
        options.read("allow_plaintext_auth", "true or false", &mut self.allow_plaintext_auth);
        self.ca_file = options.text("ca_file").map(Into::into);
        self.certificate = options.certificate();
        options.read("name", "a name", &mut self.name);
        self.domain = options.text("domain");
        options.duration("connect_timeout", &mut self.connect_timeout);
        options.duration("ack_timeout", &mut self.ack_timeout);
        options.read("batch", "a whole number", &mut self.batch);
        options.read("concurrency", "a whole number", &mut self.concurrency);
    }

    /// Returns every violated rule between the settings.
    pub fn check(&self) -> Result<(), Error> {
        Error::check(BROKER, self.mistakes())
    }

    fn mistakes(&self) -> Vec<OptionMistake> {
        let mut mistakes = Vec::new();
        if self.servers.is_empty() {
            mistakes.push("no server: nats://host:port".into());
        }
        if let Some(Credentials::Password { .. } | Credentials::Token(_)) = &self.credentials {
            mistakes.extend(plaintext_credentials_mistake(
                self.tls,
                self.allow_plaintext_auth,
                &self.servers,
                "tls",
            ));
        }
        if !self.tls {
            let (ca_file, certificate) = (self.ca_file.is_some(), self.certificate.is_some());
            mistakes.extend(certificates_without_tls(ca_file, certificate, "tls"));
        }
        if !(Duration::from_millis(100)..=Duration::from_mins(5)).contains(&self.connect_timeout) {
            mistakes.push(OptionMistake::of("connect_timeout", "must be between 100ms and 5m"));
        }
        if !(Duration::from_millis(100)..=Duration::from_mins(5)).contains(&self.ack_timeout) {
            mistakes.push(OptionMistake::of("ack_timeout", "must be between 100ms and 5m"));
        }
        let ranges = [("batch", self.batch, 10_000), ("concurrency", self.concurrency, 1000)];
        for (name, _, most) in ranges.into_iter().filter(|(_, value, most)| !(1..=*most).contains(value)) {
            mistakes.push(OptionMistake::of(name, format!("must be between 1 and {most}")));
        }
        mistakes
    }

    /// Returns the URL of the servers for messages, without the credentials.
    pub fn target(&self) -> String {
        self.servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

fn credentials(
    user: Option<String>,
    password: Option<Secret>,
    options: &mut UrlOptions,
) -> Option<Credentials> {
    let mut found = Vec::new();
    match (user, password) {
        (Some(user), Some(password)) => found.push(Credentials::Password { user, password }),
        (Some(token), None) => found.push(Credentials::Token(Secret::new(token))),
        (None, Some(_)) => options.mistake("a password needs a user"),
        (None, None) => {}
    }
    found.extend(options.text("token").map(|token| Credentials::Token(Secret::new(token))));
    found.extend(options.text("nkey").map(|seed| Credentials::Nkey(Secret::new(seed))));
    found.extend(options.text("credentials_file").map(|file| Credentials::File(file.into())));
    if found.len() > 1 {
        options.mistake("only one of user and password, token, nkey and credentials_file");
    }
    found.pop()
}
