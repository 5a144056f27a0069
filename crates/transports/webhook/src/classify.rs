//! Classifies responses and failures of webhook requests (rule J5).

use std::time::Duration;

use postrider_http::{Answer, Error, Fault};
use postrider_seams::{Dice as _, Failure, Outcome, Receipt, ThreadDice};

use crate::record::{Attempt, Class, ErrorType, shortened};
use crate::retry_after;

#[cfg(test)]
mod tests;

/// Bounds of `delaySeconds`, and its default. Because a delay costs no attempt, a receiver that always asked for zero
/// would be called without a pause.
const SHORTEST_DELAY: Duration = Duration::from_secs(1);
const USUAL_DELAY: Duration = Duration::from_secs(30);
const LONGEST_DELAY: Duration = Duration::from_hours(24);
/// Approximate wait of a row that could not be tried for lack of a slot, a descriptor or a resolver's answer.
const UNTRIED_WAIT: Duration = Duration::from_secs(10);

/// The effect of an attempt on what is known about its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    Well,
    Unwell,
    /// The host asks for a pause (`Retry-After`).
    Hold(Duration),
    /// This receiver is gone permanently, but its host answers.
    Gone,
    /// The attempt says nothing about the host.
    Unknown,
}

/// Facts of an attempt that do not depend on its result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    pub took: Duration,
    pub signed: bool,
    pub may_postpone: bool,
    /// Upper limit of `Retry-After`.
    pub longest_retry_after: Duration,
    /// Unix seconds.
    pub now: i64,
}

pub(crate) fn answer(answer: &Answer, context: Context) -> (Outcome, Health) {
    let (class, error) = by_status(answer.status);
    let mut attempt = Attempt {
        class,
        error,
        status: Some(answer.status),
        body: shortened(&answer.body),
        trace: None,
        took: context.took,
        signed: context.signed,
    };
    if class == Class::Success {
        return match postponed(answer, context) {
            None => (Outcome::Delivered(Receipt { id: None, detail: attempt.detail() }), Health::Well),
            Some(after) => {
                attempt.error = Some(ErrorType::Transient);
                let reason = format!("the receiver asks to come back in {} s", after.as_secs());
                (Outcome::Deferred(failure(reason, Some(after), attempt)), Health::Well)
            }
        };
    }
    let reason = words(answer.status);
    if error == Some(ErrorType::Permanent) {
        let failure = failure(reason, None, attempt);
        let health = if answer.status == 410 { Health::Gone } else { Health::Well };
        return (Outcome::Rejected(failure), health);
    }
    let waits = matches!(answer.status, 429 | 503);
    let after =
        waits.then(|| retry_after::read(&answer.headers, context.longest_retry_after, context.now)).flatten();
    let health = match (after, class) {
        (Some(after), _) if !after.is_zero() => Health::Hold(after),
        (_, Class::ServerError) => Health::Unwell,
        _ => Health::Well,
    };
    (Outcome::Retryable(failure(reason, after, attempt)), health)
}

fn by_status(status: u16) -> (Class, Option<ErrorType>) {
    match status {
        200..=299 => (Class::Success, None),
        408 | 425 | 429 => (Class::ClientError, Some(ErrorType::Transient)),
        300..=499 => (Class::ClientError, Some(ErrorType::Permanent)),
        500..=599 => (Class::ServerError, Some(ErrorType::Transient)),
        _ => (Class::ServerError, Some(ErrorType::Unknown)),
    }
}

fn words(status: u16) -> String {
    match status {
        300..=399 => format!("answered {status}; redirects are not followed"),
        410 => format!("answered {status}: the receiver is gone for good"),
        _ => format!("answered {status}"),
    }
}

/// Reads `{"ack":false,"delaySeconds":n}` if the subscription allows it: the row waits without a charged attempt (J5).
fn postponed(answer: &Answer, context: Context) -> Option<Duration> {
    if !context.may_postpone || answer.cut {
        return None;
    }
    let said: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
    if said.get("ack")? != &serde_json::Value::Bool(false) {
        return None;
    }
    let Some(seconds) = said.get("delaySeconds").and_then(serde_json::Value::as_f64) else {
        return Some(USUAL_DELAY);
    };
    let wish =
        if seconds.is_sign_negative() { Ok(Duration::ZERO) } else { Duration::try_from_secs_f64(seconds) };
    Some(wish.unwrap_or(LONGEST_DELAY).clamp(SHORTEST_DELAY, LONGEST_DELAY))
}

pub(crate) fn error(error: &Error, context: Context) -> (Outcome, Health) {
    let (class, kind) = match error.fault {
        // No request was sent, so this is not an attempt.
        Fault::Busy => return (untried(error, Duration::from_secs(1)), Health::Unknown),
        Fault::Lookups | Fault::Exhausted => return (untried(error, spread()), Health::Unknown),
        // The breaker lengthens the wait while the name stays without an answer.
        Fault::Unanswered => return (untried(error, spread()), Health::Unwell),
        Fault::Url | Fault::Address | Fault::Certificate => (Class::ConnectionError, ErrorType::Permanent),
        Fault::Dns | Fault::Connect | Fault::Closed => (Class::ConnectionError, ErrorType::Transient),
        Fault::Timeout => (Class::Timeout, ErrorType::Transient),
        Fault::Tls | Fault::Protocol => (Class::ConnectionError, ErrorType::Unknown),
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
        ErrorType::Permanent => (Outcome::Rejected(failure), Health::Unknown),
        _ if error.sent => (Outcome::Uncertain(failure), Health::Unwell),
        _ => (Outcome::Retryable(failure), Health::Unwell),
    }
}

fn spread() -> Duration {
    UNTRIED_WAIT.mul_f64(1.0 + ThreadDice.roll() / 2.0)
}

fn untried(error: &Error, after: Duration) -> Outcome {
    Outcome::Deferred(Failure { after: Some(after), ..Failure::new(format!("{error}; not tried")) })
}

fn failure(reason: String, after: Option<Duration>, attempt: Attempt) -> Failure {
    Failure { after, detail: attempt.detail(), ..Failure::new(reason) }
}
