//! Runs one attempt: inner tries at one sender after another, until one of them gives the outcome.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use postrider_seams::{Envelope, Failure, Outcome, Value};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::SenderGroup;
use super::sender_state::SenderState;

/// Time after its deadline at which a transport call is abandoned.
pub(super) const ABANDON_AFTER: Duration = Duration::from_secs(1);

/// Shortest remaining time with which a try is started.
const MIN_TRY_TIME: Duration = Duration::from_millis(100);

/// The result of the tries at one sender.
enum SenderResult {
    /// The outcome is final for this attempt.
    Final(Outcome),
    /// The next sender is tried.
    TryNext(Outcome),
}

pub(super) async fn run(
    inner: Arc<SenderGroup>,
    envelope: Envelope,
    key: String,
    deadline: Instant,
    follows_retry_after: bool,
) -> Outcome {
    let now = Instant::now();
    let cool_down_left = |sender_state: &SenderState| sender_state.cool_down_left(now, follows_retry_after);
    let first = inner.uncertain_senders.sender(&key);
    let mut order: Vec<usize> = first.into_iter().collect();
    let is_usable = |index: &usize| cool_down_left(&inner.senders[*index]).is_none();
    order.extend((0..inner.senders.len()).filter(|index| Some(*index) != first).filter(is_usable));
    let mut failed = Vec::new();
    for index in order {
        let sender_state = &inner.senders[index];
        let result = try_sender(&inner, sender_state, &envelope, deadline, follows_retry_after).await;
        match result {
            SenderResult::Final(outcome) => {
                if matches!(outcome, Outcome::Uncertain(_)) {
                    inner.uncertain_senders.remember(&key, index);
                }
                return with_sender_name(outcome, sender_state);
            }
            SenderResult::TryNext(outcome) => failed.push(with_sender_name(outcome, sender_state)),
        }
    }
    if failed.is_empty() {
        let soonest = inner.senders.iter().filter_map(cool_down_left).min();
        let failure = failure("every sender is cooling down", "provider_error");
        return Outcome::Deferred(Failure { after: soonest, ..failure });
    }
    combine(failed)
}

async fn try_sender(
    inner: &SenderGroup,
    sender_state: &SenderState,
    envelope: &Envelope,
    deadline: Instant,
    follows_retry_after: bool,
) -> SenderResult {
    let plan = &inner.plan;
    let mut last: Option<Outcome> = None;
    let mut uncertain = false;
    for planned in &plan.waits {
        let requested = last.as_ref().and_then(|outcome| outcome.failure()).and_then(|failure| failure.after);
        let wait = planned
            .mul_f64((1.0 + plan.jitter * inner.dice.roll()).max(0.0))
            .max(requested.unwrap_or_default());
        let Some(begin) = Instant::now().checked_add(wait) else { break };
        let latest = deadline.checked_sub(MIN_TRY_TIME).unwrap_or(deadline);
        let usable = match &sender_state.bucket {
            _ if begin > latest => None,
            Some(bucket) => bucket.take(begin, latest),
            None => Some(begin),
        };
        let Some(usable) = usable else { break };
        if usable > Instant::now() {
            sleep_until(usable).await;
        }
        let mut outcome = try_once(sender_state, envelope, deadline).await;
        if !follows_retry_after {
            ignore_retry_after(&mut outcome);
        }
        match &outcome {
            Outcome::Delivered(_) | Outcome::Rejected(_) | Outcome::Skipped(_) => {
                sender_state.end_cool_down();
                return SenderResult::Final(outcome);
            }
            Outcome::Uncertain(_) if sender_state.sender.transport.capabilities().deduplicates => {
                uncertain = true;
            }
            Outcome::Uncertain(_) => return SenderResult::Final(outcome),
            // Some recipients have just accepted the mail: record them in the row before another sender is tried.
            Outcome::Retryable(failure) | Outcome::Deferred(failure) if failure.accepted_now => {
                return SenderResult::Final(outcome);
            }
            Outcome::Retryable(failure) => {
                if let Some(long) = failure.after.filter(|after| *after > plan.max_retry_after) {
                    sender_state.start_requested_pause(Instant::now(), long, &failure.reason);
                    last = Some(outcome);
                    break;
                }
            }
            Outcome::Refused(failure) => {
                sender_state.start_cool_down(Instant::now(), plan.cool_down, &failure.reason);
                last = Some(outcome);
                break;
            }
            Outcome::Deferred(_) => {
                last = Some(outcome);
                break;
            }
        }
        last = Some(outcome);
    }
    after_tries(inner, sender_state, last, uncertain)
}

/// Removes the wait that a provider requested. The wait of a deferral is our own.
fn ignore_retry_after(outcome: &mut Outcome) {
    if let Outcome::Retryable(failure) | Outcome::Uncertain(failure) = outcome {
        failure.after = None;
    }
}

/// Decides what follows after all tries at a sender.
fn after_tries(
    inner: &SenderGroup,
    sender_state: &SenderState,
    last: Option<Outcome>,
    uncertain: bool,
) -> SenderResult {
    let Some(last) = last else {
        let failure = failure("its rate limit leaves no time for this mail", "rate_limited");
        return SenderResult::TryNext(Outcome::Deferred(Failure {
            after: Some(Duration::from_secs(1)),
            ..failure
        }));
    };
    if let Outcome::Retryable(failure) | Outcome::Uncertain(failure) = &last {
        sender_state.start_cool_down(Instant::now(), inner.plan.cool_down, &failure.reason);
    }
    match (uncertain, last) {
        // An earlier try may have been accepted, whatever the later ones returned.
        (true, Outcome::Retryable(failure) | Outcome::Refused(failure)) => {
            SenderResult::Final(Outcome::Uncertain(failure))
        }
        // The wait of a deferral is our own: recorded with an attempt, it would look like the provider's.
        (true, Outcome::Deferred(failure)) => {
            SenderResult::Final(Outcome::Uncertain(Failure { after: None, ..failure }))
        }
        (true, last) => SenderResult::Final(last),
        (false, last) => SenderResult::TryNext(last),
    }
}

/// Runs one try. If a transport panics, returns a wrong number of outcomes or hangs, its mail is uncertain.
async fn try_once(sender_state: &SenderState, envelope: &Envelope, deadline: Instant) -> Outcome {
    let sending = sender_state.sender.transport.deliver(std::slice::from_ref(envelope), deadline);
    let reason = match timeout_at(deadline + ABANDON_AFTER, AssertUnwindSafe(sending).catch_unwind()).await {
        Ok(Ok(mut outcomes)) if outcomes.len() == 1 => return outcomes.remove(0),
        Ok(Ok(_)) => "the sender returned a wrong number of outcomes",
        Ok(Err(_)) => "the sender failed on this mail; see the log",
        Err(_) => "no answer in time",
    };
    Outcome::Uncertain(failure(reason, "unknown"))
}

/// Combines the outcomes of several senders that did not accept the mail: the last sender that was tried decides. Only
/// a provider's Retry-After is recorded as a requested delay, not the waits of our own rate limits.
fn combine(mut failed: Vec<Outcome>) -> Outcome {
    let tried = |outcome: &Outcome| matches!(outcome, Outcome::Retryable(_));
    let some_tried = failed.iter().any(tried);
    let requested_waits: Vec<Option<Duration>> = failed
        .iter()
        .filter(|outcome| tried(outcome) || !some_tried)
        .map(|outcome| outcome.failure().and_then(|failure| failure.after))
        .collect();
    let after = if requested_waits.iter().all(Option::is_some) {
        requested_waits.into_iter().flatten().min()
    } else {
        None
    };
    let unreachable = failed
        .iter()
        .filter(|outcome| tried(outcome))
        .all(|outcome| outcome.failure().is_some_and(|failure| failure.unreachable));
    let last = failed
        .iter()
        .rposition(tried)
        .or_else(|| failed.iter().position(|outcome| matches!(outcome, Outcome::Deferred(_))));
    match failed.swap_remove(last.unwrap_or(0)) {
        Outcome::Retryable(failure) => Outcome::Retryable(Failure { after, unreachable, ..failure }),
        Outcome::Deferred(failure) => Outcome::Deferred(Failure { after, ..failure }),
        other => other,
    }
}

/// Adds the sender's name to the outcome, as in the settings.
fn with_sender_name(mut outcome: Outcome, sender_state: &SenderState) -> Outcome {
    let name = Value::Text(sender_state.sender.name.clone());
    let detail = match &mut outcome {
        Outcome::Delivered(receipt) => &mut receipt.detail,
        Outcome::Retryable(failure)
        | Outcome::Rejected(failure)
        | Outcome::Skipped(failure)
        | Outcome::Deferred(failure)
        | Outcome::Refused(failure)
        | Outcome::Uncertain(failure) => &mut failure.detail,
    };
    detail.insert("provider".to_owned(), name);
    outcome
}

pub(super) fn failure(reason: &str, code: &str) -> Failure {
    let mut failure = Failure::new(reason);
    failure.detail.insert("code".to_owned(), Value::Text(code.to_owned()));
    failure
}
