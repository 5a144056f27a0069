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

use postrider_seams::outcome::shorten;

use crate::client::ProviderResponse;

#[cfg(test)]
mod tests;

/// The error code, in the terms of the notification contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    ValidationError,
    InvalidRecipient,
    RateLimited,
    Unauthorized,
    NetworkError,
    ProviderError,
    Unknown,
}

impl ErrorCode {
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
pub(crate) enum FailureKind {
    /// Permanent: the message or a recipient is the cause.
    Rejected,
    /// Temporary.
    Temporary,
    /// The request was not sent: costs no attempt.
    NotSent,
    /// Not sent: this machine has no descriptors, memory or local ports left.
    Exhausted,
    /// This sender is refused: the message's fault if the provider accepts others, else the account's.
    SenderRefused,
    /// The provider refuses our account or credentials.
    Refused,
    /// The mail may or may not have been sent.
    Uncertain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFailure {
    pub kind: FailureKind,
    pub code: ErrorCode,
    /// The message for operators.
    pub reason: String,
    pub after: Option<Duration>,
    pub status: u16,
    /// Whether no connection could be made.
    pub unreachable: bool,
}

impl RequestFailure {
    /// Creates a judgement from a response, with its `Retry-After` if it has one.
    pub fn new(response: &ProviderResponse, kind: FailureKind, code: ErrorCode, reason: &str) -> Self {
        let reason = if reason.is_empty() { "no reason given" } else { reason };
        let reason = shorten(format!("{} {reason}", response.status));
        Self {
            kind,
            code,
            reason,
            after: requested_wait(response),
            status: response.status,
            unreachable: false,
        }
    }

    /// Returns the failure with a wait of at most `longest`.
    pub fn with_longest_wait(self, longest: Duration) -> Self {
        Self { after: self.after.map(|after| after.min(longest)), ..self }
    }

    /// Classifies by the status alone.
    pub fn by_status(response: &ProviderResponse, reason: &str) -> Self {
        let (kind, code) = match response.status {
            401 | 403 | 404 | 405 => (FailureKind::Refused, ErrorCode::Unauthorized),
            429 => (FailureKind::Temporary, ErrorCode::RateLimited),
            504 => (FailureKind::Uncertain, ErrorCode::ProviderError),
            408 | 425 | 500..=599 => (FailureKind::Temporary, ErrorCode::ProviderError),
            400..=499 => (FailureKind::Rejected, ErrorCode::ValidationError),
            _ => (FailureKind::Temporary, ErrorCode::Unknown),
        };
        Self::new(response, kind, code, reason)
    }

    /// Creates a judgement of a request without a response.
    pub fn without_response(kind: FailureKind, unreachable: bool, reason: String) -> Self {
        Self {
            kind,
            code: ErrorCode::NetworkError,
            reason: shorten(reason),
            after: None,
            status: 0,
            unreachable,
        }
    }

    /// Rejects a mail that this provider cannot send at all; no request was sent.
    pub fn invalid_mail(reason: String) -> Self {
        let (kind, code) = (FailureKind::Rejected, ErrorCode::ValidationError);
        Self { kind, code, reason: shorten(reason), after: None, status: 0, unreachable: false }
    }

    /// Refuses because of a configuration error that an operator must fix; no request was sent.
    pub fn misconfigured(reason: String) -> Self {
        let (kind, code) = (FailureKind::Refused, ErrorCode::Unauthorized);
        Self { kind, code, reason: shorten(reason), after: None, status: 0, unreachable: false }
    }
}

/// Reads a requested wait in any of its forms, however long. A point in time is compared with the response's Date: our
/// clock may be wrong.
fn requested_wait(response: &ProviderResponse) -> Option<Duration> {
    let now = response.header("date").and_then(|date| httpdate::parse_http_date(date).ok());
    if let Some(text) = response.header("retry-after") {
        if let Ok(seconds) = text.trim().parse::<f64>() {
            return (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        }
        return httpdate::parse_http_date(text).ok()?.duration_since(now?).ok();
    }
    if response.status != 429 {
        return None;
    }
    if let Some(seconds) = response.header("ratelimit-reset").and_then(|text| text.trim().parse().ok()) {
        return Some(Duration::from_secs(seconds));
    }
    // The old form is a Unix time in seconds or milliseconds.
    let reset: u64 = response.header("x-ratelimit-reset")?.trim().parse().ok()?;
    let reset = Duration::from_millis(if reset > 100_000_000_000 { reset } else { reset * 1000 });
    let now = now?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(reset.saturating_sub(now))
}
