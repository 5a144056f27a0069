//! Runs one attempt: inner tries at one sender after another, until one of them gives the outcome.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use postrider_seams::{Envelope, Failure, Outcome, Value};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Inner;
use super::channel::Channel;

/// Time after its deadline at which a transport call is abandoned.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// Shortest remaining time with which a try is started.
const LEAST: Duration = Duration::from_millis(100);

/// The result of the tries at one sender.
enum Step {
    /// The outcome is final for this attempt.
    Done(Outcome),
    /// The next sender is tried.
    Next(Outcome),
}

pub(super) async fn run(inner: Arc<Inner>, envelope: Envelope, key: String, deadline: Instant) -> Outcome {
    let now = Instant::now();
    let first = inner.sticky.sender(&key);
    let mut route: Vec<usize> = first.into_iter().collect();
    let warm = |index: &usize| inner.channels[*index].cools_for(now).is_none();
    route.extend((0..inner.channels.len()).filter(|index| Some(*index) != first).filter(warm));
    let mut failed = Vec::new();
    for index in route {
        let channel = &inner.channels[index];
        let step = tries(&inner, channel, &envelope, deadline).await;
        match step {
            Step::Done(outcome) => {
                if matches!(outcome, Outcome::Uncertain(_)) {
                    inner.sticky.keep(&key, index);
                }
                return named(outcome, channel);
            }
            Step::Next(outcome) => failed.push(named(outcome, channel)),
        }
    }
    if failed.is_empty() {
        let soonest = inner.channels.iter().filter_map(|channel| channel.cools_for(now)).min();
        let failure = failure("every sender is left alone for a while", "provider_error");
        return Outcome::Deferred(Failure { after: soonest, ..failure });
    }
    gathered(failed)
}

async fn tries(inner: &Inner, channel: &Channel, envelope: &Envelope, deadline: Instant) -> Step {
    let plan = &inner.plan;
    let mut last: Option<Outcome> = None;
    let mut uncertain = false;
    for planned in &plan.waits {
        let asked = last.as_ref().and_then(|outcome| outcome.failure()).and_then(|failure| failure.after);
        let wait =
            planned.mul_f64((1.0 + plan.jitter * inner.dice.roll()).max(0.0)).max(asked.unwrap_or_default());
        let begin = Instant::now() + wait;
        let latest = deadline.checked_sub(LEAST).unwrap_or(deadline);
        let usable = match &channel.bucket {
            _ if begin > latest => None,
            Some(bucket) => bucket.take(begin, latest),
            None => Some(begin),
        };
        let Some(usable) = usable else { break };
        if usable > Instant::now() {
            sleep_until(usable).await;
        }
        let outcome = call(channel, envelope, deadline).await;
        match &outcome {
            Outcome::Delivered(_) | Outcome::Rejected(_) | Outcome::Skipped(_) => {
                channel.warm();
                return Step::Done(outcome);
            }
            Outcome::Uncertain(_) if channel.sender.transport.capabilities().drops_repeats => {
                uncertain = true;
            }
            Outcome::Uncertain(_) => return Step::Done(outcome),
            // Some recipients have just accepted the mail: record them in the row before another sender is tried.
            Outcome::Retryable(failure) if failure.accepted_now => return Step::Done(outcome),
            Outcome::Retryable(failure) => {
                if let Some(long) = failure.after.filter(|after| *after > plan.patience) {
                    channel.cool(Instant::now(), long, &failure.reason);
                    last = Some(outcome);
                    break;
                }
            }
            Outcome::Refused(failure) => {
                channel.cool(Instant::now(), plan.cool_down, &failure.reason);
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
    ended(inner, channel, last, uncertain)
}

/// Decides what follows after all tries at a sender.
fn ended(inner: &Inner, channel: &Channel, last: Option<Outcome>, uncertain: bool) -> Step {
    let Some(last) = last else {
        let failure = failure("its rate leaves no room for this mail in time", "rate_limited");
        return Step::Next(Outcome::Deferred(Failure { after: Some(Duration::from_secs(1)), ..failure }));
    };
    if let Outcome::Retryable(failure) | Outcome::Uncertain(failure) = &last {
        channel.cool(Instant::now(), inner.plan.cool_down, &failure.reason);
    }
    match (uncertain, last) {
        // An earlier try may have been accepted, whatever the later ones returned.
        (true, Outcome::Retryable(failure) | Outcome::Refused(failure) | Outcome::Deferred(failure)) => {
            Step::Done(Outcome::Uncertain(failure))
        }
        (true, last) => Step::Done(last),
        (false, last) => Step::Next(last),
    }
}

/// Runs one try. If a transport panics, returns a wrong number of outcomes or hangs, its mail is uncertain.
async fn call(channel: &Channel, envelope: &Envelope, deadline: Instant) -> Outcome {
    let sending = channel.sender.transport.deliver(std::slice::from_ref(envelope), deadline);
    let reason = match timeout_at(deadline + GRACE, AssertUnwindSafe(sending).catch_unwind()).await {
        Ok(Ok(mut outcomes)) if outcomes.len() == 1 => return outcomes.remove(0),
        Ok(Ok(_)) => "the sender lost count of its mails",
        Ok(Err(_)) => "the sender failed on this mail; see the log",
        Err(_) => "no answer in time",
    };
    Outcome::Uncertain(failure(reason, "unknown"))
}

/// Combines the outcomes of several senders that did not accept the mail: the last sender that was tried decides. Only
/// a provider's Retry-After is recorded as a requested delay, not the waits of our own rate limits.
fn gathered(mut failed: Vec<Outcome>) -> Outcome {
    let tried = |outcome: &Outcome| matches!(outcome, Outcome::Retryable(_));
    let some_tried = failed.iter().any(tried);
    let wishes: Vec<Option<Duration>> = failed
        .iter()
        .filter(|outcome| tried(outcome) || !some_tried)
        .map(|outcome| outcome.failure().and_then(|failure| failure.after))
        .collect();
    let after = if wishes.iter().all(Option::is_some) { wishes.into_iter().flatten().min() } else { None };
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
fn named(mut outcome: Outcome, channel: &Channel) -> Outcome {
    let name = Value::Text(channel.sender.name.clone());
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
