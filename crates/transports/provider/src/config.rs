//! Settings of one mail provider: options, defaults, and the rules between them.

use std::time::Duration;

use postrider_seams::Secret;
use postrider_target_options::{Host, OptionMistake, TargetUrl, UrlOptions, plaintext_credentials_mistake};
use url::Url;

use crate::error::{Error, PROVIDER};

#[cfg(test)]
mod tests;

/// The supported mail providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ses,
    SendGrid,
    Postmark,
    Mailgun,
    Resend,
}

const KINDS: [(&str, Kind); 5] = [
    ("ses", Kind::Ses),
    ("sendgrid", Kind::SendGrid),
    ("postmark", Kind::Postmark),
    ("mailgun", Kind::Mailgun),
    ("resend", Kind::Resend),
];

impl Kind {
    /// Returns the URL's scheme, which is also the provider's name in outcomes.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// Returns the largest request that the provider accepts, in bytes.
    fn largest(self) -> usize {
        match self {
            Self::Ses | Self::Resend => 40 << 20,
            Self::SendGrid => 30 << 20,
            Self::Mailgun => 25 << 20,
            Self::Postmark => 10 << 20,
        }
    }
}

/// Static AWS credentials. Without them the default chain applies: environment, profile, web identity, container,
/// instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsKeys {
    pub access_key: String,
    pub secret_key: Secret,
}

/// Settings of one provider account.
#[derive(Debug, Clone)]
pub struct Settings {
    pub kind: Kind,
    /// The provider's API key or token; SES uses [`Settings::aws`].
    pub key: Option<Secret>,
    pub aws: Option<AwsKeys>,
    /// SES: the region, by default from AWS's default chain. SendGrid, Mailgun: `eu`, or none.
    pub region: Option<String>,
    /// Mailgun: the sending domain.
    pub domain: Option<String>,
    /// Postmark: the message stream.
    pub stream: Option<String>,
    /// SES: the configuration set.
    pub configuration_set: Option<String>,
    /// URL that replaces the provider's own: a test server or a proxy.
    pub endpoint: Option<Url>,
    pub allow_plaintext: bool,
    pub connect_timeout: Duration,
    /// Time limit of one request, including the connect.
    pub timeout: Duration,
    /// Longest `Retry-After` that is respected.
    pub longest_retry_after: Duration,
    /// Maximum number of concurrent requests.
    pub concurrency: usize,
    /// Maximum size of a request in bytes.
    pub max_size: usize,
}

impl Settings {
    /// Returns the default settings of a provider, without credentials.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            key: None,
            aws: None,
            region: None,
            domain: None,
            stream: None,
            configuration_set: None,
            endpoint: None,
            allow_plaintext: false,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(30),
            longest_retry_after: Duration::from_hours(1),
            concurrency: 8,
            max_size: kind.largest(),
        }
    }

    /// Parses `ses://region`, `sendgrid://`, `postmark://`, `mailgun://domain` or `resend://`, with `?option=value`.
    /// Options in `overrides` override those of the URL; the key is best set there.
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        let mut address = TargetUrl::parse(url, overrides, 443);
        let mut options = std::mem::take(&mut address.options);
        let kind = KINDS.iter().find(|(name, _)| *name == address.scheme).map(|(_, kind)| *kind);
        let Some(kind) = kind else {
            options.mistake("the scheme must be ses, sendgrid, postmark, mailgun or resend");
            return Err(Error { target: PROVIDER, mistakes: options.finish() });
        };
        let mut settings = Self::new(kind);
        settings.host(&address.hosts, address.path.as_deref(), &mut options);
        settings.keys(address.user, address.password, &mut options);
        settings.read(&mut options);
        let mut mistakes = options.finish();
        mistakes.extend(settings.mistakes());
        Error::check(PROVIDER, mistakes).map(|()| settings)
    }

    /// Reads the host part of the URL: SES's region, Mailgun's domain.
    fn host(&mut self, hosts: &[Host], path: Option<&str>, options: &mut UrlOptions) {
        let first = hosts.first().map(|host| host.name.clone());
        match self.kind {
            Kind::Ses => self.region = first,
            Kind::Mailgun => self.domain = first,
            _ if first.is_some() => {
                options.mistake(format!(
                    "unexpected text after {}://: only ?options are allowed",
                    self.kind.name()
                ));
            }
            _ => {}
        }
        if hosts.len() > 1 || path.is_some_and(|path| !path.is_empty()) {
            options.mistake("a provider's URL has one host at most, and no path");
        }
    }

    fn keys(&mut self, user: Option<String>, password: Option<Secret>, options: &mut UrlOptions) {
        let key = options.text("key").map(Secret::new);
        if key.is_some() && password.is_some() {
            options.mistake(OptionMistake::of("password", "is the same as key: set one of them"));
        }
        if self.kind != Kind::Ses {
            let has_key = key.is_some() || password.is_some();
            if has_key && user.is_some() {
                options
                    .mistake(OptionMistake::of("user", "is not used: the key alone identifies the account"));
            }
            self.key = key.or(password).or(user.map(Secret::new));
            return;
        }
        match (user, key.or(password)) {
            (Some(access_key), Some(secret_key)) => self.aws = Some(AwsKeys { access_key, secret_key }),
            (None, None) => {}
            _ => options.mistake("an access key needs a secret key: ses://ACCESS_KEY:SECRET_KEY@region"),
        }
    }

    fn read(&mut self, options: &mut UrlOptions) {
        if let Some(text) = options.text("endpoint") {
            self.endpoint = Url::parse(&text).ok();
            if self.endpoint.is_none() {
                let what = "must be a URL such as https://mail.example.com";
                options.mistake(OptionMistake::of("endpoint", what));
            }
        }
        match self.kind {
            Kind::Ses => {
                self.region = options.text("region").or(self.region.take());
                self.configuration_set = options.text("configuration_set");
            }
            Kind::SendGrid => self.region = options.text("region"),
            Kind::Mailgun => {
                self.region = options.text("region");
                self.domain = options.text("domain").or(self.domain.take());
            }
            Kind::Postmark => self.stream = options.text("stream"),
            Kind::Resend => {}
        }
        options.read("allow_plaintext_auth", "true or false", &mut self.allow_plaintext);
        options.duration("connect_timeout", &mut self.connect_timeout);
        options.duration("timeout", &mut self.timeout);
        options.duration("longest_retry_after", &mut self.longest_retry_after);
        options.read("concurrency", "a whole number", &mut self.concurrency);
        options.read("max_size", "a number of bytes", &mut self.max_size);
    }

    /// Returns every violated rule between the settings.
    pub fn check(&self) -> Result<(), Error> {
        Error::check(PROVIDER, self.mistakes())
    }

    fn mistakes(&self) -> Vec<OptionMistake> {
        let mut mistakes = self.endpoint.as_ref().map(|url| self.endpoint_mistakes(url)).unwrap_or_default();
        if self.kind != Kind::Ses && self.key.as_ref().is_none_or(|key| !is_key(key.reveal())) {
            mistakes.push("there is no usable key: write key = \"env://NAME\" next to the url".into());
        }
        if self.kind == Kind::Mailgun && !self.domain.as_deref().is_some_and(is_domain) {
            mistakes.push("the sending domain is missing: mailgun://mg.example.com".into());
        }
        mistakes.extend(self.region_mistake());
        let ranges = [("concurrency", self.concurrency, 1000), ("max_size", self.max_size, 1 << 30)];
        for (name, _, most) in ranges.into_iter().filter(|(_, value, most)| !(1..=*most).contains(value)) {
            mistakes.push(OptionMistake::of(name, format!("must be between 1 and {most}")));
        }
        let sane = Duration::from_millis(100)..=Duration::from_mins(10);
        for (name, value) in [("connect_timeout", self.connect_timeout), ("timeout", self.timeout)] {
            if !sane.contains(&value) {
                mistakes.push(OptionMistake::of(name, "must be between 100ms and 10m"));
            }
        }
        if !(Duration::from_millis(100)..=Duration::from_hours(24)).contains(&self.longest_retry_after) {
            mistakes.push(OptionMistake::of("longest_retry_after", "must be between 100ms and 24h"));
        }
        mistakes
    }

    fn region_mistake(&self) -> Option<OptionMistake> {
        let region = self.region.as_deref()?;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        match self.kind {
            Kind::Ses if region.is_empty() || !region.bytes().all(plain) => {
                Some(OptionMistake::of("region", "must be a name such as eu-west-1"))
            }
            Kind::SendGrid | Kind::Mailgun if !matches!(region, "us" | "eu") => {
                Some(OptionMistake::of("region", "must be us or eu"))
            }
            _ => None,
        }
    }

    fn endpoint_mistakes(&self, url: &Url) -> Vec<OptionMistake> {
        let mut mistakes = Vec::new();
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            mistakes
                .push(OptionMistake::of("endpoint", "must begin with http:// or https://, and name a host"));
        }
        let name = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let host = Host { name, port: url.port_or_known_default().unwrap_or(443) };
        mistakes.extend(plaintext_credentials_mistake(
            url.scheme() == "https",
            self.allow_plaintext,
            &[host],
            "https",
        ));
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            mistakes.push(OptionMistake::of("endpoint", "must not contain a user, password or options"));
        }
        mistakes
    }

    /// Returns the base URL of requests, without a trailing slash; `region` is AWS's default if the settings have
    /// none.
    pub(crate) fn base(&self, region: &str) -> String {
        if let Some(endpoint) = &self.endpoint {
            return endpoint.as_str().trim_end_matches('/').to_owned();
        }
        let eu = self.region.as_deref() == Some("eu");
        match self.kind {
            Kind::Ses => format!("https://email.{region}.amazonaws.com"),
            Kind::SendGrid if eu => "https://api.eu.sendgrid.com".to_owned(),
            Kind::SendGrid => "https://api.sendgrid.com".to_owned(),
            Kind::Postmark => "https://api.postmarkapp.com".to_owned(),
            Kind::Mailgun if eu => "https://api.eu.mailgun.net".to_owned(),
            Kind::Mailgun => "https://api.mailgun.net".to_owned(),
            Kind::Resend => "https://api.resend.com".to_owned(),
        }
    }
}

/// Whether the key is valid in a header. Other characters, from a file or variable, would show up nowhere else.
fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_domain(domain: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    !domain.is_empty() && domain.bytes().all(plain)
}
