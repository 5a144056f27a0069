//! Settings of the store: the tables of one account in one region.

use std::fmt;
use std::time::Duration;

use postrider_seams::Secret;
use postrider_target_options::{OptionMistake, TargetUrl};

/// Invalid settings: all mistakes at once, without secrets.
pub use postrider_target_options::InvalidOptions;

const SERVICE: &str = "DynamoDB";

/// The settings to connect to DynamoDB.
#[derive(Clone)]
pub struct Settings {
    /// The AWS region; by default from the AWS default chain.
    pub region: Option<String>,
    /// Access key and secret key; by default from the AWS default chain: environment, profile, web identity, container,
    /// instance.
    pub credentials: Option<(String, Secret)>,
    /// The URL of another service with the DynamoDB API, such as an emulator.
    pub endpoint: Option<String>,
    /// Time limit of a connection attempt. Default: 3 seconds.
    pub connect_timeout: Duration,
    /// Time limit of one request. Default: 4 seconds.
    pub timeout: Duration,
    /// Maximum of parallel requests per call. Default: 16.
    pub requests: usize,
    /// The id of this worker, unique per start.
    pub instance: String,
}

impl Settings {
    /// Returns the default settings for a region.
    pub fn new(region: Option<String>) -> Self {
        Self {
            region,
            credentials: None,
            endpoint: None,
            connect_timeout: Duration::from_secs(3),
            timeout: Duration::from_secs(4),
            requests: 16,
            instance: format!("{:016x}", rand::random::<u64>()),
        }
    }

    /// Parses `dynamodb://ACCESS_KEY:SECRET_KEY@region?option=value`; keys and region are optional: `dynamodb://`.
    pub fn from_url(url: &str) -> Result<Self, InvalidOptions> {
        let mut address = TargetUrl::parse(url, &[], 443);
        let mut options = std::mem::take(&mut address.options);
        if address.scheme != "dynamodb" {
            options.mistake("the scheme must be dynamodb");
        }
        if address.hosts.len() > 1 || address.path.is_some_and(|path| !path.is_empty()) {
            options.mistake(
                "unexpected text after dynamodb://: only a region and ?options are allowed, contracts name their tables",
            );
        }
        let mut settings = Self::new(address.hosts.into_iter().next().map(|host| host.name));
        match (address.user, address.password) {
            (Some(access), Some(secret)) => settings.credentials = Some((access, secret)),
            (None, None) => {}
            _ => options.mistake("an access key needs a secret key: dynamodb://ACCESS_KEY:SECRET_KEY@region"),
        }
        settings.endpoint = options.text("endpoint");
        options.duration("connect_timeout", &mut settings.connect_timeout);
        options.duration("timeout", &mut settings.timeout);
        options.read("requests", "a whole number", &mut settings.requests);
        let mut mistakes = options.finish();
        mistakes.extend(settings.mistakes());
        InvalidOptions::check(SERVICE, mistakes).map(|()| settings)
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
        for (name, value) in [("connect_timeout", self.connect_timeout), ("timeout", self.timeout)] {
            if !(Duration::from_millis(100)..=Duration::from_mins(1)).contains(&value) {
                mistakes.push(OptionMistake::of(name, "must be between 100ms and 1m"));
            }
        }
        if !(1..=1000).contains(&self.requests) {
            mistakes.push(OptionMistake::of("requests", "must be between 1 and 1000"));
        }
        mistakes
    }

    /// Returns the name of the service for messages, without credentials.
    pub fn place(&self) -> String {
        match (&self.endpoint, &self.region) {
            (Some(endpoint), _) => format!("DynamoDB at {endpoint}"),
            (None, Some(region)) => format!("DynamoDB in {region}"),
            (None, None) => "DynamoDB".to_owned(),
        }
    }
}

/// Prints the settings without the keys.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("region", &self.region)
            .field("endpoint", &self.endpoint)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read() {
        let url = "dynamodb://key:s%2Fcret@eu-west-1?endpoint=http://127.0.0.1:8000&timeout=5s";
        let settings = Settings::from_url(url).unwrap();
        assert_eq!(settings.region.as_deref(), Some("eu-west-1"));
        assert_eq!(settings.endpoint.as_deref(), Some("http://127.0.0.1:8000"));
        assert_eq!(settings.timeout, Duration::from_secs(5));
        let (access, secret) = settings.credentials.clone().unwrap();
        assert_eq!((access.as_str(), secret.reveal()), ("key", "s/cret"));
        assert!(!format!("{settings:?} {}", settings.place()).contains("cret"));
        assert!(Settings::from_url("dynamodb://").unwrap().region.is_none(), "AWS's usual chain says");
    }

    #[test]
    fn every_mistake_is_reported_at_once() {
        let url = "dynamodb://key@a,b/emails?endpoint=ftp://x&timeout=1h&colour=red";
        let mistakes = Settings::from_url(url).unwrap_err().to_string();
        for word in ["unexpected text after", "secret key", "endpoint", "timeout", "colour"] {
            assert!(mistakes.contains(word), "{word}: {mistakes}");
        }
    }
}
