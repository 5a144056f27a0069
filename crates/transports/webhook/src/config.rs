//! Settings of the webhook transport: allowed addresses, concurrency and timeouts.

use std::path::PathBuf;
use std::time::Duration;

use postrider_http::{BreakerSettings, Cidr, Guard, PlainHttp};
use postrider_target_options::{OptionMistake, TargetUrl, UrlOptions};

use crate::error::{Error, KIND};

#[cfg(test)]
mod tests;

/// Settings of the webhook transport.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The addresses that may be dialled.
    pub guard: Guard,
    /// PEM file with root certificates that are trusted in addition to the built-in ones.
    pub ca_file: Option<PathBuf>,
    /// Whether the system's root certificates are used instead of the built-in ones.
    pub system_roots: bool,
    /// Default time limit of an attempt, and the longest one that a row may ask for.
    pub timeout: Duration,
    pub longest_timeout: Duration,
    pub connect_timeout: Duration,
    /// Time limit of one DNS lookup; it does not count towards the attempt's time.
    pub lookup_timeout: Duration,
    /// Upper limit of `Retry-After`.
    pub longest_retry_after: Duration,
    /// Time after which an idle connection is closed.
    pub idle: Duration,
    /// Maximum number of connections over all hosts.
    pub connections: usize,
    /// Maximum number of concurrent requests to one host.
    pub per_host: usize,
    /// Concurrent requests of one call, and concurrent calls.
    pub batch: usize,
    pub concurrency: usize,
    /// Maximum bytes of a response body that are read.
    pub max_answer: usize,
    pub breaker: BreakerSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            guard: Guard::default(),
            ca_file: None,
            system_roots: false,
            timeout: Duration::from_secs(30),
            longest_timeout: Duration::from_mins(5),
            connect_timeout: Duration::from_secs(5),
            lookup_timeout: Duration::from_secs(3),
            longest_retry_after: Duration::from_hours(1),
            idle: Duration::from_secs(50),
            connections: 2000,
            per_host: 64,
            batch: 1,
            concurrency: 512,
            max_answer: 64 * 1024,
            breaker: BreakerSettings::default(),
        }
    }
}

impl Settings {
    /// Parses `webhook://?option=value`; rows name their targets. Options in `overrides` override those of the URL.
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        let mut address = TargetUrl::parse(url, overrides, 443);
        let mut options = std::mem::take(&mut address.options);
        if address.scheme != "webhook" {
            options.mistake("the scheme must be webhook");
        }
        let path = address.path.is_some_and(|path| !path.is_empty());
        let login = [("user", address.user.is_some()), ("password", address.password.is_some())];
        for (name, _) in login.into_iter().filter(|(_, set)| *set) {
            options.mistake(OptionMistake::of(name, "is not used: jobs name their accounts"));
        }
        if !address.hosts.is_empty() || path {
            options.mistake(
                "unexpected text after webhook://: only ?options are allowed, rows name their targets",
            );
        }
        let mut settings = Self::default();
        settings.read(&mut options);
        let mut mistakes = options.finish();
        mistakes.extend(settings.mistakes());
        Error::check(KIND, mistakes).map(|()| settings)
    }

    fn read(&mut self, options: &mut UrlOptions) {
        if let Some(text) = options.text("allow") {
            for range in text.split([',', ' ']).filter(|range| !range.is_empty()) {
                match range.parse::<Cidr>() {
                    Ok(range) => self.guard.allow.push(range),
                    Err(wrong) => {
                        options.mistake(OptionMistake::of("allow", format!("must be networks: {wrong}")));
                    }
                }
            }
        }
        let plain =
            [("never", PlainHttp::Never), ("allowed", PlainHttp::Allowed), ("always", PlainHttp::Always)];
        options.choice("plain_http", &plain, &mut self.guard.plain_http);
        self.ca_file = options.text("ca_file").map(PathBuf::from);
        options.choice("roots", &[("built-in", false), ("system", true)], &mut self.system_roots);
        options.duration("timeout", &mut self.timeout);
        options.duration("longest_timeout", &mut self.longest_timeout);
        options.duration("connect_timeout", &mut self.connect_timeout);
        options.duration("lookup_timeout", &mut self.lookup_timeout);
        options.duration("longest_retry_after", &mut self.longest_retry_after);
        options.duration("idle", &mut self.idle);
        options.read("connections", "a whole number", &mut self.connections);
        options.read("per_host", "a whole number", &mut self.per_host);
        options.read("batch", "a whole number", &mut self.batch);
        options.read("concurrency", "a whole number", &mut self.concurrency);
        options.read("max_answer", "a number of bytes", &mut self.max_answer);
        options.read("breaker_failures", "a whole number", &mut self.breaker.failures);
        options.duration("breaker_wait", &mut self.breaker.wait);
    }

    /// Returns every violated rule between the settings.
    pub fn check(&self) -> Result<(), Error> {
        Error::check(KIND, self.mistakes())
    }

    fn mistakes(&self) -> Vec<OptionMistake> {
        let mut mistakes = Vec::new();
        let hundred = Duration::from_millis(100);
        let times = [
            ("timeout", self.timeout, hundred, self.longest_timeout),
            ("longest_timeout", self.longest_timeout, hundred, Duration::from_hours(1)),
            ("connect_timeout", self.connect_timeout, hundred, Duration::from_mins(5)),
            ("lookup_timeout", self.lookup_timeout, hundred, Duration::from_secs(30)),
            ("longest_retry_after", self.longest_retry_after, hundred, Duration::from_hours(24)),
            ("idle", self.idle, Duration::from_secs(1), Duration::from_hours(1)),
            ("breaker_wait", self.breaker.wait, hundred, self.breaker.longest_wait),
        ];
        for (name, value, least, most) in times {
            if !(least..=most).contains(&value) {
                let (least, most) = (least.as_millis(), most.as_secs());
                mistakes.push(OptionMistake::of(name, format!("must be between {least} ms and {most} s")));
            }
        }
        let counts = [
            ("connections", self.connections, 100_000),
            ("per_host", self.per_host, 10_000),
            ("batch", self.batch, 1000),
            ("concurrency", self.concurrency, 10_000),
            ("max_answer", self.max_answer, 16 * 1024 * 1024),
            ("breaker_failures", self.breaker.failures as usize, 1_000_000),
        ];
        for (name, _, most) in counts.into_iter().filter(|(_, value, most)| !(1..=*most).contains(value)) {
            mistakes.push(OptionMistake::of(name, format!("must be between 1 and {most}")));
        }
        if self.ca_file.is_some() && self.system_roots {
            let what = "adds to the built-in roots, so it excludes roots=system";
            mistakes.push(OptionMistake::of("ca_file", what));
        }
        mistakes
    }
}
