//! Classifies responses and failures of webhook requests (rule J5).

use std::time::Duration;

use postrider_http::{Error, ErrorKind, HttpResponse};
use postrider_seams::{Dice as _, Failure, Outcome, Receipt, ThreadDice};

use crate::attempt::{Attempt, ErrorType, ResultClass, truncated_body};
use crate::retry_after;

#[cfg(test)]
mod tests;

/// Bounds of `delaySeconds`, and its default. Because a delay costs no attempt, a receiver that always asked for zero
/// would be called without a pause.
const MIN_DELAY: Duration = Duration::from_secs(1);
const DEFAULT_DELAY: Duration = Duration::from_secs(30);
const MAX_DELAY: Duration = Duration::from_hours(24);
/// Approximate wait of a row that could not be tried for lack of a slot, a descriptor or a resolver's answer.
const UNTRIED_WAIT: Duration = Duration::from_secs(10);

/// The effect of an attempt on what is known about its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostHealth {
    Healthy,
    Failing,
    /// The host asks for a pause (`Retry-After`).
    Hold(Duration),
    /// This receiver is gone permanently, but its host answers.
    Gone,
    /// The attempt says nothing about the host.
    Unknown,
}

/// Facts of an attempt that do not depend on its result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttemptContext {
    pub took: Duration,
    pub signed: bool,
    pub may_postpone: bool,
    /// Upper limit of `Retry-After`; `None` if it is ignored.
    pub longest_retry_after: Option<Duration>,
    /// Unix seconds.
    pub now: i64,
}

pub(crate) fn response(response: &HttpResponse, context: AttemptContext) -> (Outcome, HostHealth) {
    let (class, error) = by_status(response.status);
    let mut attempt = Attempt {
        class,
        error,
        status: Some(response.status),
        body: truncated_body(&response.body),
        trace: None,
        took: context.took,
        signed: context.signed,
    };
    if class == ResultClass::Success {
        return match postponed(response, context) {
            None => (Outcome::Delivered(Receipt { id: None, detail: attempt.detail() }), HostHealth::Healthy),
            Some(after) => {
                attempt.error = Some(ErrorType::Transient);
                let reason = format!("the receiver asks to come back in {} s", after.as_secs());
                (Outcome::Deferred(failure(reason, Some(after), attempt)), HostHealth::Healthy)
            }
        };
    }
    let reason = status_text(response.status);
    if error == Some(ErrorType::Permanent) {
        let failure = failure(reason, None, attempt);
        let health = if response.status == 410 { HostHealth::Gone } else { HostHealth::Healthy };
        return (Outcome::Rejected(failure), health);
    }
    let after = context
        .longest_retry_after
        .filter(|_| matches!(response.status, 429 | 503))
        .and_then(|longest| retry_after::read(&response.headers, longest, context.now));
    let health = match (after, class) {
        (Some(after), _) if !after.is_zero() => HostHealth::Hold(after),
        (_, ResultClass::ServerError) => HostHealth::Failing,
        _ => HostHealth::Healthy,
    };
    (Outcome::Retryable(failure(reason, after, attempt)), health)
}

fn by_status(status: u16) -> (ResultClass, Option<ErrorType>) {
    match status {
        200..=299 => (ResultClass::Success, None),
        408 | 425 | 429 => (ResultClass::ClientError, Some(ErrorType::Transient)),
        300..=499 => (ResultClass::ClientError, Some(ErrorType::Permanent)),
        500..=599 => (ResultClass::ServerError, Some(ErrorType::Transient)),
        _ => (ResultClass::ServerError, Some(ErrorType::Unknown)),
    }
}

fn status_text(status: u16) -> String {
    match status {
        300..=399 => format!("answered {status}; redirects are not followed"),
        410 => format!("answered {status}: the receiver is gone for good"),
        _ => format!("answered {status}"),
    }
}

/// Reads `{"ack":false,"delaySeconds":n}` if the subscription allows it: the row waits without a charged attempt (J5).
fn postponed(response: &HttpResponse, context: AttemptContext) -> Option<Duration> {
    if !context.may_postpone || response.truncated {
        return None;
    }
    let reply: serde_json::Value = serde_json::from_slice(&response.body).ok()?;
    if reply.get("ack")? != &serde_json::Value::Bool(false) {
        return None;
    }
    let Some(seconds) = reply.get("delaySeconds").and_then(serde_json::Value::as_f64) else {
        return Some(DEFAULT_DELAY);
    };
    let requested =
        if seconds.is_sign_negative() { Ok(Duration::ZERO) } else { Duration::try_from_secs_f64(seconds) };
    Some(requested.unwrap_or(MAX_DELAY).clamp(MIN_DELAY, MAX_DELAY))
}

pub(crate) fn error(error: &Error, context: AttemptContext) -> (Outcome, HostHealth) {
    let (class, kind) = match error.kind {
        // No request was sent, so this is not an attempt.
        ErrorKind::Busy | ErrorKind::NotResolved => {
            return (not_tried(error, Duration::from_secs(1)), HostHealth::Unknown);
        }
        ErrorKind::TooManyLookups | ErrorKind::Exhausted => {
            return (not_tried(error, jittered_wait()), HostHealth::Unknown);
        }
        // The breaker lengthens the wait while the name stays without an answer.
        ErrorKind::DnsTimeout => return (not_tried(error, jittered_wait()), HostHealth::Failing),
        ErrorKind::Url | ErrorKind::Address | ErrorKind::Certificate => {
            (ResultClass::ConnectionError, ErrorType::Permanent)
        }
        ErrorKind::Dns | ErrorKind::Connect | ErrorKind::Closed => {
            (ResultClass::ConnectionError, ErrorType::Transient)
        }
        ErrorKind::Timeout => (ResultClass::Timeout, ErrorType::Transient),
        ErrorKind::Tls | ErrorKind::Protocol => (ResultClass::ConnectionError, ErrorType::Unknown),
    };
    let attempt = Attempt {
        class,
        error: Some(kind),
        status: error.status,
        body: None,
        trace: (!error.causes.is_empty()).then(|| error.chain()),
        took: context.took,
        signed: context.signed,
    };
    let failure = failure(error.to_string(), None, attempt);
    match kind {
        ErrorType::Permanent => (Outcome::Rejected(failure), HostHealth::Unknown),
        _ if error.sent => (Outcome::Uncertain(failure), HostHealth::Failing),
        _ => (Outcome::Retryable(failure), HostHealth::Failing),
    }
}

fn jittered_wait() -> Duration {
    UNTRIED_WAIT.mul_f64(1.0 + ThreadDice.roll() / 2.0)
}

fn not_tried(error: &Error, after: Duration) -> Outcome {
    Outcome::Deferred(Failure { after: Some(after), ..Failure::new(format!("{error}; not tried")) })
}

fn failure(reason: String, after: Option<Duration>, attempt: Attempt) -> Failure {
    Failure { after, detail: attempt.detail(), ..Failure::new(reason) }
}
