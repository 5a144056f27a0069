//! Classifies the responses of providers, as far as all providers agree. Pure.
//!
//! | status | meaning |
//! |---|---|
//! | 401, 403, 404, 405 | the provider refuses our credentials, or the URL is not its API (rule G3) |
//! | 429 | rate limit or quota exceeded |
//! | 504 | the provider does not know the result either: uncertain |
//! | other 5xx, 408, 425 | temporary |
//! | other 4xx | the message is rejected permanently |
//! | the rest | unknown, temporary |

use std::time::Duration;

use postrider_broker::shorten;

use crate::client::Answer;

#[cfg(test)]
mod tests;

/// The error code, in the terms of the notification contract.
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
    /// Returns the code as the contract stores it.
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
    /// Permanent: the message or a recipient is the cause.
    Rejected,
    /// Temporary.
    Later,
    /// The request was not sent: costs no attempt.
    Untried,
    /// Not sent: this machine has no descriptors, memory or local ports left.
    Exhausted,
    /// This sender is refused: the message's fault if the provider accepts others, else the account's.
    Suspect,
    /// The provider refuses our account or credentials.
    Refused,
    /// The mail may or may not have been sent.
    Uncertain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub fate: Fate,
    pub code: Code,
    /// The message for operators.
    pub words: String,
    pub after: Option<Duration>,
    pub status: u16,
    /// Whether no connection could be made.
    pub unreachable: bool,
}

impl Judgement {
    /// Creates a judgement from a response, with its `Retry-After` if it has one.
    pub fn new(answer: &Answer, fate: Fate, code: Code, words: &str) -> Self {
        let words = if words.is_empty() { "no reason given" } else { words };
        let words = shorten(format!("{} {words}", answer.status));
        Self { fate, code, words, after: wish(answer), status: answer.status, unreachable: false }
    }

    /// Classifies by the status alone.
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

    /// Creates a judgement of a request without a response.
    pub fn silent(fate: Fate, unreachable: bool, words: String) -> Self {
        Self { fate, code: Code::NetworkError, words: shorten(words), after: None, status: 0, unreachable }
    }

    /// Rejects a mail that this provider cannot send at all; no request was sent.
    pub fn unfit(words: String) -> Self {
        let (fate, code) = (Fate::Rejected, Code::ValidationError);
        Self { fate, code, words: shorten(words), after: None, status: 0, unreachable: false }
    }

    /// Refuses because of a configuration error that an operator must fix; no request was sent.
    pub fn ours(words: String) -> Self {
        let (fate, code) = (Fate::Refused, Code::Unauthorized);
        Self { fate, code, words: shorten(words), after: None, status: 0, unreachable: false }
    }
}

/// Reads a requested wait in any of its forms. A point in time is compared with the response's Date: our clock may be
/// wrong.
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
    // The old form is a Unix time in seconds or milliseconds.
    let reset: u64 = answer.header("x-ratelimit-reset")?.trim().parse().ok()?;
    let reset =
        Duration::from_millis(if reset > 100_000_000_000 { reset } else { reset.checked_mul(1000)? });
    let now = now?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(reset.saturating_sub(now))
}
