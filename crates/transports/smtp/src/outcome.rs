//! From what the relay said of one mail to its outcome, recipient by recipient. Pure.
//!
//! Rule M9: whoever was accepted stays accepted and is never sent to again; those refused for now alone are retried.

use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::row::Detail;
use postrider_seams::{Failure, Mail, Outcome, Receipt, Value};

use crate::classify::{Kind, Refusal, Stage};
use crate::reply::{Reply, shorten};
use crate::transaction::Transaction;

/// What fits in a row's error column.
const REASON: usize = 490;

/// The relay took the text for those recipients that it accepted, and nobody is left to ask.
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

/// What became of the recipients up to now, where others are left for a further transaction.
pub(crate) fn so_far(mail: &Transaction<'_>) -> Vec<Recipient> {
    let mut all = recipients(mail, RecipientResult::Accepted, "");
    all.truncate(all.len() - mail.later.len());
    all
}

/// Who is settled and who is left, where the relay did not accept the text for any of them: those it refused by name are
/// settled.
pub(crate) fn without_text(mail: &Transaction<'_>) -> (Vec<Recipient>, Vec<usize>) {
    let is_refused = |index: &usize| mail.refused.iter().any(|(refused, _)| refused == index);
    let named = recipients(mail, RecipientResult::Deferred, "");
    let named = named.into_iter().skip(mail.before.len());
    let refused = mail.to.iter().zip(named).filter(|(index, _)| is_refused(index)).map(|(_, one)| one);
    let settled = mail.before.iter().cloned().chain(refused).collect();
    let left = mail.to.iter().filter(|index| !is_refused(index)).chain(&mail.later).copied().collect();
    (settled, left)
}

/// No recipient was accepted.
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

/// MAIL, DATA or the text itself was refused, for all recipients.
pub(crate) fn stopped(mail: &Transaction<'_>, refusal: &Refusal) -> Outcome {
    let mut failure =
        failure(mail.mail, &mail.before, format!("{} refused: {}", refusal.stage.name(), refusal.words));
    explain(&mut failure, refusal);
    let others = if refusal.is_lasting() { RecipientResult::Refused } else { RecipientResult::Deferred };
    by_kind(refusal.kind(), failure, &recipients(mail, others, &refusal.words))
}

/// The final dot may have been received, and there was no answer.
pub(crate) fn uncertain(mail: &Transaction<'_>, reason: &str) -> Outcome {
    let mut failure = failure(mail.mail, &mail.before, format!("sent, but not confirmed: {reason}"));
    classify(&mut failure, "network_error");
    record(&mut failure, &recipients(mail, RecipientResult::Deferred, reason));
    Outcome::Uncertain(failure)
}

/// The connection broke before the final dot: the relay has nothing of it, and may be gone.
pub(crate) fn lost(mail: &Transaction<'_>, reason: &str) -> Outcome {
    let mut failure = failure(mail.mail, &mail.before, reason.to_owned());
    classify(&mut failure, "network_error");
    failure.unreachable = true;
    keep_waiting(&mut failure, mail, reason);
    Outcome::Retryable(failure)
}

/// The relay closed (421) during this mail: it may be going away.
pub(crate) fn closed(mail: &Transaction<'_>, refusal: &Refusal) -> Outcome {
    let mut failure =
        failure(mail.mail, &mail.before, format!("{} refused: {}", refusal.stage.name(), refusal.words));
    explain(&mut failure, refusal);
    failure.unreachable = true;
    keep_waiting(&mut failure, mail, &refusal.words);
    Outcome::Retryable(failure)
}

/// Where some have it, the others are on record too.
fn keep_waiting(failure: &mut Failure, mail: &Transaction<'_>, reason: &str) {
    if !mail.before.is_empty() {
        record(failure, &recipients(mail, RecipientResult::Deferred, reason));
    }
}

/// The mail can't go to this relay at all; it was not asked.
pub(crate) fn invalid(mail: &Mail, before: &[Recipient], reason: String) -> Outcome {
    let mut failure = failure(mail, before, reason);
    classify(&mut failure, "validation_error");
    Outcome::Rejected(failure)
}

/// A failure that keeps what was achieved before it.
pub(crate) fn failure(mail: &Mail, before: &[Recipient], reason: String) -> Failure {
    keep_served(mail, before, Failure::new(shorten(reason, REASON)))
}

/// Whoever has the mail already must not be forgotten by what is written now.
/// `before` begins with those that earlier attempts settled.
pub(crate) fn keep_served(mail: &Mail, before: &[Recipient], mut failure: Failure) -> Failure {
    let accepted = |some: &[Recipient]| some.iter().any(|one| one.result == RecipientResult::Accepted);
    failure.partly |= accepted(before);
    failure.accepted_now |= accepted(before.get(mail.served.len()..).unwrap_or_default());
    record(&mut failure, before);
    failure
}

/// Where some have it, a refusal leaves those to try again who were not refused for good. A relay that refuses us charges
/// nothing unless somebody accepted the mail just now.
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

/// Everyone's result: those settled before, those refused by name, `others` for the rest of this transaction, and those
/// who are left for a later one.
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

/// A recipient for whom there was no room yet.
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
