//! Converts the replies to one mail into its outcome, per recipient. Pure.
//!
//! Rule M9: an accepted recipient stays accepted and never gets the mail again; only temporary refusals are retried.

use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::row::Detail;
use postrider_seams::{Failure, Mail, Outcome, Receipt, Value};

use crate::classify::{NegativeReply, ReplyKind, SmtpPhase};
use crate::mail_batch::RELAY_FAILURE_DELAY;
use crate::reply::{Reply, shorten};
use crate::transaction::Transaction;

/// Maximum length of a reason, so that it fits in a row's error column.
const MAX_REASON: usize = 490;

/// Returns the outcome of an accepted text, when no recipient is left to ask for.
pub(crate) fn delivered(mail: &Transaction<'_>, reply: &Reply<'_>) -> Outcome {
    let recipients = recipients(mail, RecipientResult::Accepted, "");
    let mut detail = Detail::new();
    detail.insert("status".to_owned(), Value::Int(i64::from(reply.code)));
    detail.insert("recipients".to_owned(), Value::Text(json(&recipients)));
    let Some(deferred) = recipients.iter().find(|one| one.result == RecipientResult::Deferred) else {
        let id = reply.queue_id().unwrap_or_else(|| mail.mail.message_id.clone());
        return Outcome::Delivered(Receipt { id: Some(id), detail });
    };
    let reason = shorten(format!("{}: {}", deferred.address, deferred.reply), MAX_REASON);
    Outcome::Retryable(Failure { partly_accepted: true, accepted_now: true, detail, ..Failure::new(reason) })
}

/// Returns the results so far, while other recipients wait for a further transaction.
pub(crate) fn results_so_far(mail: &Transaction<'_>) -> Vec<Recipient> {
    let mut all = recipients(mail, RecipientResult::Accepted, "");
    all.truncate(all.len() - mail.later.len());
    all
}

/// Returns settled and remaining recipients after the relay refused the text: those that RCPT refused are settled.
pub(crate) fn after_refused_text(mail: &Transaction<'_>) -> (Vec<Recipient>, Vec<usize>) {
    let is_refused = |index: &usize| mail.refused.iter().any(|(refused, _)| refused == index);
    let results = recipients(mail, RecipientResult::Deferred, "");
    let results = results.into_iter().skip(mail.settled.len());
    let refused = mail.to.iter().zip(results).filter(|(index, _)| is_refused(index)).map(|(_, one)| one);
    let settled = mail.settled.iter().cloned().chain(refused).collect();
    let remaining = mail.to.iter().filter(|index| !is_refused(index)).chain(&mail.later).copied().collect();
    (settled, remaining)
}

/// Returns the outcome if no recipient was accepted. If others accepted the mail earlier in this attempt, and the relay
/// accepts no more for now, this costs nothing.
pub(crate) fn no_recipient_accepted(mail: &Transaction<'_>) -> Outcome {
    let of = |kind: ReplyKind| mail.refused.iter().find(|(_, refusal)| refusal.kind() == kind);
    let Some((index, refusal)) =
        of(ReplyKind::Refused).or_else(|| of(ReplyKind::Deferred)).or(mail.refused.first())
    else {
        return Outcome::Retryable(failure(
            mail.mail,
            &mail.settled,
            "the relay answered for no recipient".to_owned(),
        ));
    };
    let mut failure =
        failure(mail.mail, &mail.settled, format!("{}: {}", mail.mail.to[*index], refusal.text));
    add_reply_detail(&mut failure, refusal);
    let outcome = by_kind(refusal.kind(), failure, &recipients(mail, RecipientResult::Deferred, ""));
    if mail.hits_session_limit() { free_after_progress(outcome) } else { outcome }
}

/// Makes a failure free if others accepted the mail in this attempt: the relay only asks us to send less at a time. Such
/// calls come to an end, as each of them has delivered the mail to at least one more recipient.
fn free_after_progress(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Retryable(failure) if failure.accepted_now => {
            Outcome::Deferred(Failure { after: Some(RELAY_FAILURE_DELAY), ..failure })
        }
        outcome => outcome,
    }
}

/// Returns the outcome if MAIL, DATA or the text was refused, for all recipients.
pub(crate) fn command_refused(mail: &Transaction<'_>, refusal: &NegativeReply) -> Outcome {
    let mut failure =
        failure(mail.mail, &mail.settled, format!("{} refused: {}", refusal.phase.name(), refusal.text));
    add_reply_detail(&mut failure, refusal);
    let others = if refusal.is_permanent() { RecipientResult::Refused } else { RecipientResult::Deferred };
    let outcome = by_kind(refusal.kind(), failure, &recipients(mail, others, &refusal.text));
    if refusal.classification.slow { free_after_progress(outcome) } else { outcome }
}

/// Returns the outcome if the final dot may have been received and no reply came.
pub(crate) fn uncertain(mail: &Transaction<'_>, reason: &str) -> Outcome {
    let mut failure = failure(mail.mail, &mail.settled, format!("sent, but not confirmed: {reason}"));
    set_class(&mut failure, "network_error");
    record_recipients(&mut failure, &recipients(mail, RecipientResult::Deferred, reason));
    Outcome::Uncertain(failure)
}

/// Returns the outcome if the connection broke before the final dot: the relay did not accept the mail and may be
/// down.
pub(crate) fn connection_lost(mail: &Transaction<'_>, reason: &str) -> Outcome {
    let mut failure = failure(mail.mail, &mail.settled, reason.to_owned());
    set_class(&mut failure, "network_error");
    failure.unreachable = true;
    record_waiting(&mut failure, mail, reason);
    Outcome::Retryable(failure)
}

/// Returns the outcome if the relay closed (421) during this mail: it may be shutting down.
pub(crate) fn relay_closed(mail: &Transaction<'_>, refusal: &NegativeReply) -> Outcome {
    let mut failure =
        failure(mail.mail, &mail.settled, format!("{} refused: {}", refusal.phase.name(), refusal.text));
    add_reply_detail(&mut failure, refusal);
    failure.unreachable = true;
    record_waiting(&mut failure, mail, &refusal.text);
    Outcome::Retryable(failure)
}

/// Records the other recipients as waiting if some have the mail.
fn record_waiting(failure: &mut Failure, mail: &Transaction<'_>, reason: &str) {
    if !mail.settled.is_empty() {
        record_recipients(failure, &recipients(mail, RecipientResult::Deferred, reason));
    }
}

/// Returns the outcome of a mail that this relay cannot accept at all; no command was sent.
pub(crate) fn invalid(mail: &Mail, before: &[Recipient], reason: String) -> Outcome {
    let mut failure = failure(mail, before, reason);
    set_class(&mut failure, "validation_error");
    Outcome::Rejected(failure)
}

/// Creates a failure that keeps the results of earlier attempts.
pub(crate) fn failure(mail: &Mail, before: &[Recipient], reason: String) -> Failure {
    keep_accepted(mail, before, Failure::new(shorten(reason, MAX_REASON)))
}

/// Adds the recipients that already have the mail, so that the new record does not lose them.
/// `before` begins with those that earlier attempts settled.
pub(crate) fn keep_accepted(mail: &Mail, before: &[Recipient], mut failure: Failure) -> Failure {
    let accepted = |some: &[Recipient]| some.iter().any(|one| one.result == RecipientResult::Accepted);
    failure.partly_accepted |= accepted(before);
    failure.accepted_now |= accepted(before.get(mail.settled.len()..).unwrap_or_default());
    record_recipients(&mut failure, before);
    failure
}

/// Chooses the outcome by the kind of refusal. If some recipients have the mail, those that were not refused
/// permanently are retried. A relay that refuses us charges nothing unless it accepted a recipient in this attempt.
fn by_kind(kind: ReplyKind, mut failure: Failure, recipients: &[Recipient]) -> Outcome {
    record_recipients(&mut failure, recipients);
    let deferred = || recipients.iter().any(|one| one.result == RecipientResult::Deferred);
    match kind {
        _ if failure.accepted_now && deferred() => Outcome::Retryable(failure),
        ReplyKind::Rejected if failure.partly_accepted && deferred() => Outcome::Retryable(failure),
        ReplyKind::Rejected => Outcome::Rejected(failure),
        ReplyKind::Refused | ReplyKind::SenderRefused => Outcome::Refused(failure),
        ReplyKind::Accepted | ReplyKind::Deferred | ReplyKind::Unexpected => Outcome::Retryable(failure),
    }
}

fn add_reply_detail(failure: &mut Failure, refusal: &NegativeReply) {
    failure.detail.insert("status".to_owned(), Value::Int(i64::from(refusal.code)));
    failure.detail.insert("stage".to_owned(), Value::Text(refusal.phase.name().to_owned()));
    let class = match (refusal.kind(), refusal.phase) {
        (ReplyKind::Deferred, _) if refusal.classification.slow => "rate_limited",
        (ReplyKind::Rejected, SmtpPhase::Rcpt) => "invalid_recipient",
        (ReplyKind::Rejected, _) => "rejected",
        (ReplyKind::Refused | ReplyKind::SenderRefused, _) => "unauthorized",
        _ => "provider_error",
    };
    set_class(failure, class);
}

pub(crate) fn set_class(failure: &mut Failure, class: &str) {
    failure.detail.insert("class".to_owned(), Value::Text(class.to_owned()));
}

/// Returns the result of every recipient: settled before, refused by RCPT, `others` for the rest of this transaction,
/// and waiting for those of a later transaction.
fn recipients(mail: &Transaction<'_>, others: RecipientResult, reply: &str) -> Vec<Recipient> {
    let mut all = Vec::with_capacity(mail.settled.len() + mail.to.len() + mail.later.len());
    all.extend_from_slice(&mail.settled);
    let mut refused = mail.refused.iter().peekable();
    for index in &mail.to {
        let (result, reply) = match refused.next_if(|(refused, _)| refused == index) {
            Some((_, refusal)) if refusal.is_permanent() => (RecipientResult::Refused, &*refusal.text),
            Some((_, refusal)) => (RecipientResult::Deferred, &*refusal.text),
            None => (others, reply),
        };
        all.push(Recipient { address: mail.mail.to[*index].clone(), result, reply: reply.to_owned() });
    }
    all.extend(mail.later.iter().map(|index| not_sent_yet(&mail.mail.to[*index])));
    all
}

/// Returns the result of a recipient that waits for a later transaction.
pub(crate) fn not_sent_yet(address: &str) -> Recipient {
    let reply = "not sent yet: the relay accepted no more recipients at a time".to_owned();
    Recipient { address: address.to_owned(), result: RecipientResult::Deferred, reply }
}

pub(crate) fn record_recipients(failure: &mut Failure, recipients: &[Recipient]) {
    if !recipients.is_empty() {
        failure.detail.insert("recipients".to_owned(), Value::Text(json(recipients)));
    }
}

fn json(recipients: &[Recipient]) -> String {
    serde_json::to_string(recipients).expect("addresses and words are text")
}
