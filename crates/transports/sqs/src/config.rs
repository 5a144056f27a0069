//! Settings of one account's queues in one region: options, defaults, and the rules between them.

use std::time::Duration;

use postrider_seams::Secret;
use postrider_target_options::{OptionMistake, TargetUrl, UrlOptions};

use crate::error::{BROKER, Error};

#[cfg(test)]
mod tests;

/// Static credentials. Without them AWS's default chain applies: environment, profile, web identity, container,
/// instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub access_key: String,
    pub secret_key: Secret,
}

/// Settings of the queues of one account and region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Region; by default from AWS's default chain.
    pub region: Option<String>,
    pub credentials: Option<Credentials>,
    /// URL of another service with the SQS API, such as an emulator.
    pub endpoint: Option<String>,
    /// The account that owns the queues, if it is not ours.
    pub account: Option<String>,
    pub connect_timeout: Duration,
    /// Time limit of one request. A hanging service is noticed after a few of these.
    pub request_timeout: Duration,
    /// Maximum records of one call, and maximum concurrent calls.
    pub batch: usize,
    pub concurrency: usize,
    /// Concurrent requests of one call.
    pub requests: usize,
    /// Maximum bytes of a message, and of a batch: SQS accepts 1 MiB, some emulators 256 KiB.
    pub max_size: usize,
}

impl Settings {
    /// Returns the default settings; `None`: the region of AWS's default chain.
    pub fn new(region: Option<String>) -> Self {
        Self {
            region,
            credentials: None,
            endpoint: None,
            account: None,
            connect_timeout: Duration::from_secs(3),
            request_timeout: Duration::from_secs(4),
            batch: 500,
            concurrency: 4,
            requests: 10,
            max_size: 1024 * 1024,
        }
    }

    /// Parses `sqs://ACCESS_KEY:SECRET_KEY@region?option=value`; keys and region are optional: `sqs://`. Options in
    /// `overrides`
    /// override those of the URL.
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        let mut address = TargetUrl::parse(url, overrides, 443);
        let mut options = std::mem::take(&mut address.options);
        if address.scheme != "sqs" {
            options.mistake("the scheme must be sqs");
        }
        if address.hosts.len() > 1 || address.path.is_some_and(|path| !path.is_empty()) {
            options
                .mistake("unexpected text after sqs://: only a region and ?options are allowed, rows name their queues");
        }
        let mut settings = Self::new(address.hosts.into_iter().next().map(|host| host.name));
        match (address.user, address.password) {
            (Some(access_key), Some(secret_key)) => {
                settings.credentials = Some(Credentials { access_key, secret_key });
            }
            (None, None) => {}
            _ => options.mistake("an access key needs a secret key: sqs://ACCESS_KEY:SECRET_KEY@region"),
        }
        settings.read(&mut options);
        let mut mistakes = options.finish();
        mistakes.extend(settings.mistakes());
        Error::check(BROKER, mistakes).map(|()| settings)
    }

    fn read(&mut self, options: &mut UrlOptions) {
        self.endpoint = options.text("endpoint");
        self.account = options.text("account");
        options.duration("connect_timeout", &mut self.connect_timeout);
        options.duration("request_timeout", &mut self.request_timeout);
        options.read("batch", "a whole number", &mut self.batch);
        options.read("concurrency", "a whole number", &mut self.concurrency);
        options.read("requests", "a whole number", &mut self.requests);
        options.read("max_size", "a number of bytes", &mut self.max_size);
    }

    /// Returns every violated rule between the settings.
    pub fn check(&self) -> Result<(), Error> {
        Error::check(BROKER, self.mistakes())
    }

    fn mistakes(&self) -> Vec<OptionMistake> {
        let mut mistakes = Vec::new();
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if self.region.as_deref().is_some_and(|region| region.is_empty() || !region.bytes().all(plain)) {
            mistakes.push("the region must be a name such as eu-west-1".into());
        }
        let web = |endpoint: &str| endpoint.starts_with("http://") || endpoint.starts_with("https://");
        if self.endpoint.as_deref().is_some_and(|endpoint| !web(endpoint)) {
            mistakes.push(OptionMistake::of("endpoint", "must begin with http:// or https://"));
        }
        if self
            .account
            .as_deref()
            .is_some_and(|id| id.len() != 12 || !id.bytes().all(|byte| byte.is_ascii_digit()))
        {
            mistakes.push(OptionMistake::of("account", "must be the 12 digits of an AWS account"));
        }
        if !(Duration::from_millis(100)..=Duration::from_mins(5)).contains(&self.connect_timeout) {
            mistakes.push(OptionMistake::of("connect_timeout", "must be between 100ms and 5m"));
        }
        if !(Duration::from_millis(100)..=Duration::from_mins(5)).contains(&self.request_timeout) {
            mistakes.push(OptionMistake::of("request_timeout", "must be between 100ms and 5m"));
        }
        let ranges = [
            ("batch", self.batch, 10_000),
            ("concurrency", self.concurrency, 1000),
            ("requests", self.requests, 1000),
            ("max_size", self.max_size, 1024 * 1024 * 1024),
        ];
        for (name, _, most) in ranges.into_iter().filter(|(_, value, most)| !(1..=*most).contains(value)) {
            mistakes.push(OptionMistake::of(name, format!("must be between 1 and {most}")));
        }
        mistakes
    }

    /// Returns the URL of the service for messages, without the credentials.
    pub fn target(&self) -> String {
        match (&self.endpoint, &self.region) {
            (Some(endpoint), _) => endpoint.clone(),
            (None, Some(region)) => format!("SQS in {region}"),
            (None, None) => "SQS".to_owned(),
        }
    }
}
