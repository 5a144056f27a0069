//! What an answer means, whoever gave it: the parts that providers share. Pure.
//!
//! | status | meaning |
//! |---|---|
//! | 401, 403, 404, 405 | the provider refuses us, or the address is not its own (rule G3) |
//! | 429 | too fast, or the quota is used up |
//! | 504 | the provider does not know itself what became of it: uncertain |
//! | other 5xx, 408, 425 | later |
//! | other 4xx | the message, for good |
//! | the rest | unknown, later |

use std::time::Duration;

use postrider_broker::shorten;

use crate::client::Answer;

#[cfg(test)]
mod tests;

/// What went wrong, in the words of the notification contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    ValidationError,
    InvalidRecipient,
    RateLimited,
    Unauthorized,
    NetworkError,
    ProviderError,
    Unknown,
}

impl Code {
    pub fn name(self) -> &'static str {
        match self {
            Self::ValidationError => "validation_error",
            Self::InvalidRecipient => "invalid_recipient",
            Self::RateLimited => "rate_limited",
            Self::Unauthorized => "unauthorized",
            Self::NetworkError => "network_error",
            Self::ProviderError => "provider_error",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Never: the message or a recipient is the cause.
    Rejected,
    /// Not now.
    Later,
    /// The request was not made: costs nothing.
    Untried,
    /// Not asked: this machine has no descriptors, memory or local ports left.
    Exhausted,
    /// Never from this sender: the message's fault if the provider takes others, else ours.
    Suspect,
    /// Us.
    Refused,
    /// Nobody knows.
    Uncertain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub fate: Fate,
    pub code: Code,
    /// For operators.
    pub words: String,
    pub after: Option<Duration>,
    pub status: u16,
    /// No connection could be had.
    pub unreachable: bool,
}

impl Judgement {
    pub fn new(answer: &Answer, fate: Fate, code: Code, words: &str) -> Self {
        let words = if words.is_empty() { "no reason given" } else { words };
        let words = shorten(format!("{} {words}", answer.status));
        Self { fate, code, words, after: wish(answer), status: answer.status, unreachable: false }
    }

    /// By the status alone.
    pub fn by_status(answer: &Answer, words: &str) -> Self {
        let (fate, code) = match answer.status {
            401 | 403 | 404 | 405 => (Fate::Refused, Code::Unauthorized),
            429 => (Fate::Later, Code::RateLimited),
            504 => (Fate::Uncertain, Code::ProviderError),
            408 | 425 | 500..=599 => (Fate::Later, Code::ProviderError),
            400..=499 => (Fate::Rejected, Code::ValidationError),
            _ => (Fate::Later, Code::Unknown),
        };
        Self::new(answer, fate, code, words)
    }

    /// Without an answer.
    pub fn silent(fate: Fate, unreachable: bool, words: String) -> Self {
        Self { fate, code: Code::NetworkError, words: shorten(words), after: None, status: 0, unreachable }
    }

    /// Never asked: the mail can't go to this provider at all.
    pub fn unfit(words: String) -> Self {
        let (fate, code) = (Fate::Rejected, Code::ValidationError);
        Self { fate, code, words: shorten(words), after: None, status: 0, unreachable: false }
    }

    /// Ours to mend, and never asked.
    pub fn ours(words: String) -> Self {
        let (fate, code) = (Fate::Refused, Code::Unauthorized);
        Self { fate, code, words: shorten(words), after: None, status: 0, unreachable: false }
    }
}

/// "Not before", in whatever form. A point in time is measured by the answer's own Date: our clock may be wrong.
fn wish(answer: &Answer) -> Option<Duration> {
    let now = answer.header("date").and_then(|date| httpdate::parse_http_date(date).ok());
    if let Some(text) = answer.header("retry-after") {
        if let Ok(seconds) = text.trim().parse::<f64>() {
            return Duration::try_from_secs_f64(seconds).ok();
        }
        return httpdate::parse_http_date(text).ok()?.duration_since(now?).ok();
    }
    if answer.status != 429 {
        return None;
    }
    if let Some(seconds) = answer.header("ratelimit-reset").and_then(|text| text.trim().parse().ok()) {
        return Some(Duration::from_secs(seconds));
    }
    // The old form is a point in time, in seconds or milliseconds since 1970.
    let reset: u64 = answer.header("x-ratelimit-reset")?.trim().parse().ok()?;
    let reset =
        Duration::from_millis(if reset > 100_000_000_000 { reset } else { reset.checked_mul(1000)? });
    let now = now?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(reset.saturating_sub(now))
}
