//! Combines the responses to a mail's requests into its outcome, per recipient (rule M9). Pure.

use std::time::Duration;

use postrider_seams::envelope::{Mail, Recipient, RecipientResult};
use postrider_seams::row::Detail;
use postrider_seams::{Failure, Outcome, Receipt, Value};

use crate::classify::{Fate, Judgement};

#[cfg(test)]
mod tests;

/// Wait of a mail when this machine has run out of a resource.
const EXHAUSTED_WAIT: Duration = Duration::from_secs(5);

/// The result of one request.
#[derive(Debug)]
pub(crate) struct Sent {
    pub recipients: Vec<String>,
    /// The provider's id and the recipients that it left out, or why the request failed.
    pub answer: Result<Taken, Judgement>,
}

#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub id: Option<String>,
    pub left_out: Vec<(String, String)>,
}

/// Returns the outcome of a mail. Recipients whose request was not sent (`untried`) wait for the next attempt.
pub(crate) fn outcome(provider: &str, mail: &Mail, sent: Vec<Sent>, untried: Vec<String>) -> Outcome {
    let mut recipients = mail.served.clone();
    let mut id = None;
    let mut worst: Option<Judgement> = None;
    let mut refusal: Option<Judgement> = None;
    let mut accepted_now = false;
    for one in sent {
        match one.answer {
            Ok(taken) => {
                id = id.or(taken.id);
                accepted_now |= taken.left_out.len() < one.recipients.len();
                recipients
                    .extend(one.recipients.into_iter().map(|address| accepted(address, &taken.left_out)));
            }
            Err(judgement) => {
                let result = match judgement.fate {
                    Fate::Rejected => RecipientResult::Refused,
                    _ => RecipientResult::Deferred,
                };
                let told = |address| Recipient { address, result, reply: judgement.words.clone() };
                recipients.extend(one.recipients.into_iter().map(told));
                let place = if judgement.fate == Fate::Rejected { &mut refusal } else { &mut worst };
                place.get_or_insert(judgement);
            }
        }
    }
    let wait =
        |address| Recipient { address, result: RecipientResult::Deferred, reply: "not tried".to_owned() };
    recipients.extend(untried.into_iter().map(wait));
    let partly = recipients.iter().any(|recipient| recipient.result == RecipientResult::Accepted);
    let mut detail = Detail::new();
    detail.insert("provider".to_owned(), Value::Text(provider.to_owned()));
    let listed = serde_json::to_string(&recipients).expect("addresses and words are text");
    detail.insert("recipients".to_owned(), Value::Text(listed));
    match worst.or(refusal.filter(|_| !partly)) {
        Some(judgement) => failed(judgement, (partly, accepted_now), detail),
        None if partly => {
            let id = id.unwrap_or_else(|| mail.message_id.clone());
            detail.insert("message_id".to_owned(), Value::Text(id.clone()));
            Outcome::Delivered(Receipt { id: Some(id), detail })
        }
        None => {
            let words =
                recipients.iter().map(|recipient| recipient.reply.clone()).find(|reply| !reply.is_empty());
            let words = words.unwrap_or_else(|| "there is no recipient".to_owned());
            detail.insert("code".to_owned(), Value::Text("invalid_recipient".to_owned()));
            Outcome::Rejected(Failure { detail, ..Failure::new(words) })
        }
    }
}

fn accepted(address: String, left_out: &[(String, String)]) -> Recipient {
    match left_out.iter().find(|(out, _)| *out == address) {
        Some((_, reply)) => Recipient { address, result: RecipientResult::Refused, reply: reply.clone() },
        None => Recipient { address, result: RecipientResult::Accepted, reply: String::new() },
    }
}

fn failed(judgement: Judgement, (partly, accepted_now): (bool, bool), mut detail: Detail) -> Outcome {
    detail.insert("code".to_owned(), Value::Text(judgement.code.name().to_owned()));
    if judgement.status > 0 {
        detail.insert("status".to_owned(), Value::Int(i64::from(judgement.status)));
    }
    let failure = Failure {
        reason: judgement.words,
        after: judgement.after,
        unreachable: judgement.unreachable,
        partly,
        accepted_now,
        detail,
    };
    match judgement.fate {
        Fate::Rejected => Outcome::Rejected(failure),
        // A mail that some recipients just got cannot be handed back as untried.
        Fate::Refused | Fate::Suspect if !accepted_now => Outcome::Refused(failure),
        Fate::Untried if !accepted_now => Outcome::Deferred(failure),
        Fate::Exhausted if !accepted_now => {
            Outcome::Deferred(Failure { after: Some(EXHAUSTED_WAIT), ..failure })
        }
        Fate::Later | Fate::Refused | Fate::Suspect | Fate::Untried | Fate::Exhausted => {
            Outcome::Retryable(failure)
        }
        Fate::Uncertain => Outcome::Uncertain(failure),
    }
}
