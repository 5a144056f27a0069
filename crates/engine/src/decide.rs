//! From an outcome to the move that the store will make: the contract decides, this module carries the words.

use postrider_contract::{Got, Transition, Verdict};
use postrider_seams::row::Detail;
use postrider_seams::{Envelope, Failure, Outcome, Value};

use crate::batch::HeldRow;
use crate::ended::Ended;
use crate::runner::Runner;

/// The longest reason that is stored (rule G7).
const REASON_LIMIT: usize = 1000;

/// Decides one row's next move. `envelope` is absent where the row could not be composed.
pub(crate) fn ended(runner: &Runner, held: HeldRow, envelope: Option<Envelope>, outcome: Outcome) -> Ended {
    let verdict = weigh(runner, &outcome);
    let decision = runner.stage().decide(&held.row.counters, verdict, runner.dice.roll());
    let envelope = envelope.map(|envelope| envelope.detail).unwrap_or_default();
    let (reason, receipt, detail) = words(outcome);
    if decision.transition.is_failure() {
        tracing::info!(
            lane = runner.state.name,
            row = %held.row.lease.id,
            attempt = held.row.counters.attempts + 1,
            transition = decision.transition.name(),
            reason = reason.as_deref().unwrap_or_default(),
            "not delivered"
        );
    }
    // A delivery leaves no error behind, and what was never tried has nothing to report.
    let keeps_reason = !matches!(decision.transition, Transition::Delivered | Transition::Released);
    Ended {
        lease: held.lease,
        transition: decision.transition,
        delay: decision.delay,
        reason: reason.filter(|_| keeps_reason),
        receipt,
        envelope,
        outcome: detail,
        rest: Vec::new(),
    }
}

/// The move that this outcome leads to.
pub(crate) fn transition(runner: &Runner, held: &HeldRow, outcome: &Outcome) -> Transition {
    runner.stage().decide(&held.row.counters, weigh(runner, outcome), 0.0).transition
}

/// A partly accepted message can be tried again only where the table keeps who has it; elsewhere it counts as
/// delivered, because a second copy to those who have it is worse.
fn weigh(runner: &Runner, outcome: &Outcome) -> Verdict {
    let mut verdict = outcome.verdict();
    if verdict.partly && verdict.got == Got::Retryable && !runner.store.capabilities().recipient_results {
        verdict.got = Got::Delivered;
    }
    verdict
}

fn words(outcome: Outcome) -> (Option<String>, Option<String>, Detail) {
    match outcome {
        Outcome::Delivered(receipt) => {
            let mut detail = receipt.detail;
            if let Some(id) = &receipt.id {
                detail.entry("message_id".to_owned()).or_insert_with(|| Value::Text(id.clone()));
            }
            (None, receipt.id, detail)
        }
        Outcome::Retryable(failure) => told(failure, "provider_error"),
        Outcome::Rejected(failure) | Outcome::Skipped(failure) => told(failure, "rejected"),
        Outcome::Refused(failure) => told(failure, "unauthorized"),
        Outcome::Deferred(failure) | Outcome::Uncertain(failure) => told(failure, "unknown"),
    }
}

/// Every contract finds `$outcome.code`, `message` and `retry_after`, whether the target's transport says them or not.
fn told(failure: Failure, code: &str) -> (Option<String>, Option<String>, Detail) {
    let (reason, mut detail) = (compact(&failure.reason), failure.detail);
    let code = if failure.unreachable { "network_error" } else { code };
    let code = detail.get("class").cloned().unwrap_or_else(|| Value::Text(code.to_owned()));
    detail.entry("code".to_owned()).or_insert(code);
    detail.entry("message".to_owned()).or_insert_with(|| Value::Text(reason.clone()));
    if let Some(after) = failure.after {
        let seconds = i64::try_from(after.as_millis().div_ceil(1000)).unwrap_or(i64::MAX);
        detail.entry("retry_after".to_owned()).or_insert(Value::Int(seconds));
    }
    (Some(reason), None, detail)
}

/// One line, no control characters, cut at a character: fit for any column of any database.
pub(crate) fn compact(text: &str) -> String {
    let mut words = String::with_capacity(text.len().min(REASON_LIMIT));
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if words.len() + word.len() + 1 > REASON_LIMIT {
            let room = REASON_LIMIT.saturating_sub(words.len() + 1);
            let cut = (0..=room.min(word.len())).rev().find(|&at| word.is_char_boundary(at)).unwrap_or(0);
            words.push_str(&word[..cut]);
            words.push('…');
            return words;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}

#[cfg(test)]
mod tests;
