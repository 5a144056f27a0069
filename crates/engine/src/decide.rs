//! Turns an outcome into the move that the store will make: the contract decides, this module adds reason and details.

use postrider_contract::{AttemptResult, Decision, ResultKind, Transition};
use postrider_seams::row::Detail;
use postrider_seams::{ClaimedRow, Envelope, Failure, Outcome, Value};

use crate::batch::LeaseRef;
use crate::outcomes::DecidedRow;
use crate::recipients::{self, PartialDelivery};
use crate::runner::Runner;

/// The longest reason that is stored, in bytes (rule G7).
pub(crate) const REASON_LIMIT: usize = 1000;

/// The longest reason that lists recipients, in bytes (rule M9): enough for a mail to a few hundred recipients.
const MIXED_LIMIT: usize = 16_000;

/// Decides a row's next move. `envelope` is `None` if the row could not be composed.
pub(crate) fn decided(
    runner: &Runner,
    row: &ClaimedRow,
    lease: LeaseRef,
    envelope: Option<Envelope>,
    outcome: Outcome,
) -> DecidedRow {
    let facts = runner.store.capabilities();
    let outcome =
        recipients::recordable(outcome, facts.recipient_results_on_deferral, facts.recipients_limit);
    let decision = decision(runner, row, &outcome, runner.dice.roll());
    let (reason, receipt, mut detail) = contents(outcome);
    let mixed = recipients::mixed(&detail);
    let none = Detail::new();
    let composed = envelope.as_ref().map_or(&none, |envelope| &envelope.detail);
    recipients::remember(row, mixed.as_ref(), composed, &mut detail, facts.recipients_limit);
    let mixed = mixed.or_else(|| {
        ends(decision.transition)
            .then(|| recipients::earlier(runner.stage(), row, envelope.as_ref()))
            .flatten()
    });
    let reason = match &mixed {
        Some(mixed) => mixed_reason(decision.transition, reason, mixed),
        None => reason,
    };
    let envelope = envelope.map(|envelope| envelope.detail).unwrap_or_default();
    log(runner, row, decision.transition, reason.as_deref());
    // The log contains the whole list, however long.
    let reason =
        reason.map(|reason| compact(&reason, if mixed.is_some() { MIXED_LIMIT } else { REASON_LIMIT }));
    // A delivery to all recipients stores no error, and a row that was never tried has no reason.
    let keeps_reason = match decision.transition {
        Transition::Delivered => mixed.is_some(),
        transition => transition != Transition::Released,
    };
    DecidedRow {
        lease,
        transition: decision.transition,
        delay: decision.delay,
        reason: reason.filter(|_| keeps_reason),
        receipt,
        envelope,
        outcome: detail,
        behind: Vec::new(),
    }
}

/// Returns the transition that this outcome leads to.
pub(crate) fn transition(runner: &Runner, row: &ClaimedRow, outcome: &Outcome) -> Transition {
    decision(runner, row, outcome, 0.0).transition
}

/// Decides with the contract. A partly accepted mail is retried only if the store remembers which recipients have it,
/// and the list fits there. Otherwise a retry would send it to them twice, and calling it delivered would lose the
/// others: the row fails with a reason that lists who lacks it.
fn decision(runner: &Runner, row: &ClaimedRow, outcome: &Outcome, chance: f64) -> Decision {
    let (stage, counters, result) = (runner.stage(), &row.counters, outcome.attempt_result());
    let decision = stage.decide(counters, result, chance);
    let facts = runner.store.capabilities();
    let forgotten = match decision.transition {
        Transition::Retry => result.partly_accepted,
        Transition::Delivered => does_not_fit(outcome, facts.reason_limit),
        _ => false,
    };
    if forgotten && !(facts.recipient_results && recipients::fit(outcome, facts.recipients_limit)) {
        return stage.decide(
            counters,
            AttemptResult { kind: ResultKind::Rejected, after: None, partly_accepted: false },
            chance,
        );
    }
    decision
}

/// Whether more recipients lack the mail than the row's reason can list.
fn does_not_fit(outcome: &Outcome, reason_limit: Option<usize>) -> bool {
    let limit = reason_limit.unwrap_or(MIXED_LIMIT).min(MIXED_LIMIT);
    recipients::mixed(recipients::detail(outcome)).is_some_and(|mixed| mixed.reason().len() > limit)
}

/// Whether this transition ends the row undelivered.
fn ends(transition: Transition) -> bool {
    matches!(transition, Transition::Dead | Transition::Rejected | Transition::Skipped)
}

/// Returns the reason of a mail that did not reach all its recipients: once the row ends, it lists each of them.
fn mixed_reason(transition: Transition, reason: Option<String>, mixed: &PartialDelivery) -> Option<String> {
    match reason {
        _ if transition == Transition::Delivered => Some(mixed.reason()),
        None if ends(transition) => Some(mixed.reason()),
        Some(reason) if ends(transition) => Some(if mixed.is_about_one_of_several(&reason) {
            mixed.reason()
        } else if mixed.any_accepted() || !mixed.is_about_all(&reason) {
            format!("{reason}; {}", mixed.reason())
        } else {
            reason
        }),
        reason => reason,
    }
}

fn log(runner: &Runner, row: &ClaimedRow, transition: Transition, reason: Option<&str>) {
    let (lane, attempt, row) = (&runner.state.name, row.counters.attempts + 1, &row.lease.id);
    if transition.is_failure() {
        let (transition, reason) = (transition.name(), reason.unwrap_or_default());
        tracing::info!(lane, %row, attempt, transition, reason, "not delivered");
    } else if let (Transition::Delivered, Some(reason)) = (transition, reason) {
        tracing::warn!(lane, %row, reason, "delivered, but not to all recipients");
    }
}

/// Returns the reason, the receipt and the details of an outcome.
fn contents(outcome: Outcome) -> (Option<String>, Option<String>, Detail) {
    match outcome {
        Outcome::Delivered(receipt) => {
            let mut detail = receipt.detail;
            if let Some(id) = &receipt.id {
                detail.entry("message_id".to_owned()).or_insert_with(|| Value::Text(id.clone()));
            }
            (None, receipt.id, detail)
        }
        Outcome::Retryable(failure) => of_failure(failure, "provider_error"),
        Outcome::Rejected(failure) | Outcome::Skipped(failure) => of_failure(failure, "rejected"),
        Outcome::Refused(failure) => of_failure(failure, "unauthorized"),
        Outcome::Deferred(failure) | Outcome::Uncertain(failure) => of_failure(failure, "unknown"),
    }
}

/// Adds `$outcome.code`, `message` and `retry_after` for every contract, even if the transport did not set them.
fn of_failure(failure: Failure, code: &str) -> (Option<String>, Option<String>, Detail) {
    let (reason, mut detail) = (compact(&failure.reason, REASON_LIMIT), failure.detail);
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

/// Returns the text as one line without control characters, cut at a character boundary: fits any column of any
/// database.
pub(crate) fn compact(text: &str, limit: usize) -> String {
    let mut words = String::with_capacity(text.len().min(limit));
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if words.len() + word.len() + 1 > limit {
            if !words.is_empty() {
                words.push(' ');
            }
            let room = limit.saturating_sub(words.len() + 1);
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
