//! From what the relay said of one mail to its outcome, recipient by recipient. Pure.
//!
//! Rule M9: whoever was accepted stays accepted and is never sent to again; those refused for now alone are retried.

use std::time::Duration;

use postrider_seams::envelope::{Mail, Recipient, RecipientResult};
use postrider_seams::row::Detail;
use postrider_seams::{Failure, Outcome, Receipt, Value};

use crate::classify::{Kind, Refusal, Stage};
use crate::reply::{Reply, shorten};
use crate::transaction::Transaction;

/// What fits in a row's error column.
const REASON: usize = 490;

/// The relay took the text for those recipients that it accepted.
pub(crate) fn delivered(mail: &Transaction<'_>, reply: &Reply<'_>) -> Outcome {
    let recipients = recipients(mail, RecipientResult::Accepted, "");
    let detail = |recipients| {
        let mut detail = Detail::new();
        detail.insert("status".to_owned(), Value::Int(i64::from(reply.code)));
        detail.insert("recipients".to_owned(), Value::Text(json(recipients)));
        detail
    };
    let Some((index, refusal)) = mail.refused.iter().find(|(_, refusal)| !refusal.is_lasting()) else {
        let id = reply.queue_id().unwrap_or_else(|| mail.mail.message_id.clone());
        return Outcome::Delivered(Receipt { id: Some(id), detail: detail(&recipients) });
    };
    let reason = format!("{}: {}", mail.mail.to[*index], refusal.words);
    let after = longest(mail.refused.iter().map(|(_, refusal)| refusal));
    let detail = detail(&recipients);
    Outcome::Retryable(Failure {
        reason: shorten(reason, REASON),
        after,
        unreachable: false,
        partly: true,
        detail,
    })
}

/// No recipient was accepted.
pub(crate) fn nobody(mail: &Transaction<'_>) -> Outcome {
    let of = |kind: Kind| mail.refused.iter().find(|(_, refusal)| refusal.kind() == kind);
    let Some((index, refusal)) = of(Kind::Refused).or_else(|| of(Kind::Deferred)).or(mail.refused.first())
    else {
        return Outcome::Retryable(failure(mail.mail, "the relay answered for no recipient".to_owned()));
    };
    let mut failure = failure(mail.mail, format!("{}: {}", mail.mail.to[*index], refusal.words));
    explain(&mut failure, refusal);
    failure.after = longest(mail.refused.iter().map(|(_, refusal)| refusal));
    record(&mut failure, &recipients(mail, RecipientResult::Deferred, ""));
    by_kind(refusal.kind(), failure)
}

/// MAIL, DATA or the text itself was refused, for all recipients.
pub(crate) fn stopped(mail: &Transaction<'_>, refusal: &Refusal) -> Outcome {
    let mut failure = failure(mail.mail, format!("{} refused: {}", refusal.stage.name(), refusal.words));
    explain(&mut failure, refusal);
    failure.after = refusal.judgement.after;
    let others = if refusal.is_lasting() { RecipientResult::Refused } else { RecipientResult::Deferred };
    record(&mut failure, &recipients(mail, others, &refusal.words));
    by_kind(refusal.kind(), failure)
}

/// The final dot may have been received, and there was no answer.
pub(crate) fn uncertain(mail: &Transaction<'_>, reason: &str) -> Outcome {
    let mut failure = failure(mail.mail, format!("sent, but not confirmed: {reason}"));
    classify(&mut failure, "network_error");
    record(&mut failure, &recipients(mail, RecipientResult::Deferred, reason));
    Outcome::Uncertain(failure)
}

/// The connection broke before the final dot.
pub(crate) fn lost(mail: &Mail, reason: &str) -> Outcome {
    let mut failure = failure(mail, reason.to_owned());
    classify(&mut failure, "network_error");
    Outcome::Retryable(failure)
}

/// The relay closed (421) during this mail.
pub(crate) fn closed(mail: &Mail, refusal: &Refusal) -> Outcome {
    let mut failure = failure(mail, format!("{} refused: {}", refusal.stage.name(), refusal.words));
    explain(&mut failure, refusal);
    failure.after = refusal.judgement.after;
    Outcome::Retryable(failure)
}

/// The mail can't go to this relay at all; it was not asked.
pub(crate) fn invalid(mail: &Mail, reason: String) -> Outcome {
    let mut failure = failure(mail, reason);
    classify(&mut failure, "validation_error");
    Outcome::Rejected(failure)
}

/// A failure that keeps what earlier attempts achieved.
pub(crate) fn failure(mail: &Mail, reason: String) -> Failure {
    keep_served(mail, Failure::new(shorten(reason, REASON)))
}

/// Whoever has the mail already must not be forgotten by what is written now.
pub(crate) fn keep_served(mail: &Mail, mut failure: Failure) -> Failure {
    failure.partly |= mail.served.iter().any(|served| served.result == RecipientResult::Accepted);
    record(&mut failure, &mail.served);
    failure
}

fn by_kind(kind: Kind, failure: Failure) -> Outcome {
    match kind {
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

fn longest<'a>(refusals: impl Iterator<Item = &'a Refusal>) -> Option<Duration> {
    refusals.filter_map(|refusal| refusal.judgement.after).max()
}

/// Everyone's result: those served before, those refused by name, and `others` for the rest.
fn recipients(mail: &Transaction<'_>, others: RecipientResult, reply: &str) -> Vec<Recipient> {
    let mut all = Vec::with_capacity(mail.mail.served.len() + mail.mail.to.len());
    all.extend_from_slice(&mail.mail.served);
    let mut refused = mail.refused.iter().peekable();
    for (index, address) in mail.mail.to.iter().enumerate() {
        let (result, reply) = match refused.next_if(|(refused, _)| *refused == index) {
            Some((_, refusal)) if refusal.is_lasting() => (RecipientResult::Refused, &*refusal.words),
            Some((_, refusal)) => (RecipientResult::Deferred, &*refusal.words),
            None => (others, reply),
        };
        all.push(Recipient { address: address.clone(), result, reply: reply.to_owned() });
    }
    all
}

fn record(failure: &mut Failure, recipients: &[Recipient]) {
    if !recipients.is_empty() {
        failure.detail.insert("recipients".to_owned(), Value::Text(json(recipients)));
    }
}

fn json(recipients: &[Recipient]) -> String {
    serde_json::to_string(recipients).expect("addresses and words are text")
}
