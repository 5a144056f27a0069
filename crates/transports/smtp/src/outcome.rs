//! Converts the replies to one mail into its outcome, per recipient. Pure.
//!
//! Rule M9: an accepted recipient stays accepted and never gets the mail again; only temporary refusals are retried.

use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::row::Detail;
use postrider_seams::{Failure, Mail, Outcome, Receipt, Value};

use crate::classify::{Kind, Refusal, Stage};
use crate::reply::{Reply, shorten};
use crate::transaction::Transaction;

/// Maximum length of a reason, so that it fits in a row's error column.
const REASON: usize = 490;

/// Returns the outcome of an accepted text, when no recipient is left to ask for.
pub(crate) fn delivered(mail: &Transaction<'_>, reply: &Reply<'_>) -> Outcome {
    let recipients = recipients(mail, RecipientResult::Accepted, "");
    let mut detail = Detail::new();
    detail.insert("status".to_owned(), Value::Int(i64::from(reply.code)));
    detail.insert("recipients".to_owned(), Value::Text(json(&recipients)));
    let Some(waits) = recipients.iter().find(|one| one.result == RecipientResult::Deferred) else {
        let id = reply.queue_id().unwrap_or_else(|| mail.mail.message_id.clone());
        return Outcome::Delivered(Receipt { id: Some(id), detail });
    };
    let reason = shorten(format!("{}: {}", waits.address, waits.reply), REASON);
    Outcome::Retryable(Failure { partly: true, accepted_now: true, detail, ..Failure::new(reason) })
}

/// Returns the results so far, while other recipients wait for a further transaction.
pub(crate) fn so_far(mail: &Transaction<'_>) -> Vec<Recipient> {
    let mut all = recipients(mail, RecipientResult::Accepted, "");
    all.truncate(all.len() - mail.later.len());
    all
}

/// Returns settled and remaining recipients after the relay refused the text: those that RCPT refused are settled.
pub(crate) fn without_text(mail: &Transaction<'_>) -> (Vec<Recipient>, Vec<usize>) {
    let is_refused = |index: &usize| mail.refused.iter().any(|(refused, _)| refused == index);
    let named = recipients(mail, RecipientResult::Deferred, "");
    let named = named.into_iter().skip(mail.before.len());
    let refused = mail.to.iter().zip(named).filter(|(index, _)| is_refused(index)).map(|(_, one)| one);
    let settled = mail.before.iter().cloned().chain(refused).collect();
    let left = mail.to.iter().filter(|index| !is_refused(index)).chain(&mail.later).copied().collect();
    (settled, left)
}

/// Returns the outcome if no recipient was accepted.
pub(crate) fn nobody(mail: &Transaction<'_>) -> Outcome {
    let of = |kind: Kind| mail.refused.iter().find(|(_, refusal)| refusal.kind() == kind);
    let Some((index, refusal)) = of(Kind::Refused).or_else(|| of(Kind::Deferred)).or(mail.refused.first())
    else {
        return Outcome::Retryable(failure(
            mail.mail,
            &mail.before,
            "the relay answered for no recipient".to_owned(),
        ));
    };
    let mut failure =
        failure(mail.mail, &mail.before, format!("{}: {}", mail.mail.to[*index], refusal.words));
    explain(&mut failure, refusal);
    by_kind(refusal.kind(), failure, &recipients(mail, RecipientResult::Deferred, ""))
}

/// Returns the outcome if MAIL, DATA or the text was refused, for all recipients.
pub(crate) fn stopped(mail: &Transaction<'_>, refusal: &Refusal) -> Outcome {
    let mut failure =
        failure(mail.mail, &mail.before, format!("{} refused: {}", refusal.stage.name(), refusal.words));
    explain(&mut failure, refusal);
    let others = if refusal.is_lasting() { RecipientResult::Refused } else { RecipientResult::Deferred };
    by_kind(refusal.kind(), failure, &recipients(mail, others, &refusal.words))
}

/// Returns the outcome if the final dot may have been received and no reply came.
pub(crate) fn uncertain(mail: &Transaction<'_>, reason: &str) -> Outcome {
    let mut failure = failure(mail.mail, &mail.before, format!("sent, but not confirmed: {reason}"));
    classify(&mut failure, "network_error");
    record(&mut failure, &recipients(mail, RecipientResult::Deferred, reason));
    Outcome::Uncertain(failure)
}

/// Returns the outcome if the connection broke before the final dot: the relay did not accept the mail and may be
/// down.
pub(crate) fn lost(mail: &Transaction<'_>, reason: &str) -> Outcome {
    let mut failure = failure(mail.mail, &mail.before, reason.to_owned());
    classify(&mut failure, "network_error");
    failure.unreachable = true;
    keep_waiting(&mut failure, mail, reason);
    Outcome::Retryable(failure)
}

/// Returns the outcome if the relay closed (421) during this mail: it may be shutting down.
pub(crate) fn closed(mail: &Transaction<'_>, refusal: &Refusal) -> Outcome {
    let mut failure =
        failure(mail.mail, &mail.before, format!("{} refused: {}", refusal.stage.name(), refusal.words));
    explain(&mut failure, refusal);
    failure.unreachable = true;
    keep_waiting(&mut failure, mail, &refusal.words);
    Outcome::Retryable(failure)
}

/// Records the other recipients as waiting if some have the mail.
fn keep_waiting(failure: &mut Failure, mail: &Transaction<'_>, reason: &str) {
    if !mail.before.is_empty() {
        record(failure, &recipients(mail, RecipientResult::Deferred, reason));
    }
}

/// Returns the outcome of a mail that this relay cannot accept at all; no command was sent.
pub(crate) fn invalid(mail: &Mail, before: &[Recipient], reason: String) -> Outcome {
    let mut failure = failure(mail, before, reason);
    classify(&mut failure, "validation_error");
    Outcome::Rejected(failure)
}

/// Creates a failure that keeps the results of earlier attempts.
pub(crate) fn failure(mail: &Mail, before: &[Recipient], reason: String) -> Failure {
    keep_served(mail, before, Failure::new(shorten(reason, REASON)))
}

/// Adds the recipients that already have the mail, so that the new record does not lose them.
/// `before` begins with those that earlier attempts settled.
pub(crate) fn keep_served(mail: &Mail, before: &[Recipient], mut failure: Failure) -> Failure {
    let accepted = |some: &[Recipient]| some.iter().any(|one| one.result == RecipientResult::Accepted);
    failure.partly |= accepted(before);
    failure.accepted_now |= accepted(before.get(mail.served.len()..).unwrap_or_default());
    record(&mut failure, before);
    failure
}

/// Chooses the outcome by the kind of refusal. If some recipients have the mail, those that were not refused
/// permanently are retried. A relay that refuses us charges nothing unless it accepted a recipient in this attempt.
fn by_kind(kind: Kind, mut failure: Failure, recipients: &[Recipient]) -> Outcome {
    record(&mut failure, recipients);
    let waits = || recipients.iter().any(|one| one.result == RecipientResult::Deferred);
    match kind {
        _ if failure.accepted_now && waits() => Outcome::Retryable(failure),
        Kind::Rejected if failure.partly && waits() => Outcome::Retryable(failure),
        Kind::Rejected => Outcome::Rejected(failure),
        Kind::Refused | Kind::Suspect => Outcome::Refused(failure),
        Kind::Accepted | Kind::Deferred | Kind::OutOfStep => Outcome::Retryable(failure),
    }
}

fn explain(failure: &mut Failure, refusal: &Refusal) {
    failure.detail.insert("status".to_owned(), Value::Int(i64::from(refusal.code)));
    failure.detail.insert("stage".to_owned(), Value::Text(refusal.stage.name().to_owned()));
    let class = match (refusal.kind(), refusal.stage) {
        (Kind::Deferred, _) if refusal.judgement.slow => "rate_limited",
        (Kind::Rejected, Stage::Rcpt) => "invalid_recipient",
        (Kind::Rejected, _) => "rejected",
        (Kind::Refused | Kind::Suspect, _) => "unauthorized",
        _ => "provider_error",
    };
    classify(failure, class);
}

pub(crate) fn classify(failure: &mut Failure, class: &str) {
    failure.detail.insert("class".to_owned(), Value::Text(class.to_owned()));
}

/// Returns the result of every recipient: settled before, refused by RCPT, `others` for the rest of this transaction,
/// and waiting for those of a later transaction.
fn recipients(mail: &Transaction<'_>, others: RecipientResult, reply: &str) -> Vec<Recipient> {
    let mut all = Vec::with_capacity(mail.before.len() + mail.to.len() + mail.later.len());
    all.extend_from_slice(&mail.before);
    let mut refused = mail.refused.iter().peekable();
    for index in &mail.to {
        let (result, reply) = match refused.next_if(|(refused, _)| refused == index) {
            Some((_, refusal)) if refusal.is_lasting() => (RecipientResult::Refused, &*refusal.words),
            Some((_, refusal)) => (RecipientResult::Deferred, &*refusal.words),
            None => (others, reply),
        };
        all.push(Recipient { address: mail.mail.to[*index].clone(), result, reply: reply.to_owned() });
    }
    all.extend(mail.later.iter().map(|index| not_asked(&mail.mail.to[*index])));
    all
}

/// Returns the result of a recipient that waits for a later transaction.
pub(crate) fn not_asked(address: &str) -> Recipient {
    let reply = "not asked for: the relay took no more recipients at a time".to_owned();
    Recipient { address: address.to_owned(), result: RecipientResult::Deferred, reply }
}

pub(crate) fn record(failure: &mut Failure, recipients: &[Recipient]) {
    if !recipients.is_empty() {
        failure.detail.insert("recipients".to_owned(), Value::Text(json(recipients)));
    }
}

fn json(recipients: &[Recipient]) -> String {
    serde_json::to_string(recipients).expect("addresses and words are text")
}
