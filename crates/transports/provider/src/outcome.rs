//! Combines the responses to a mail's requests into its outcome, per recipient (rule M9). Pure.

use std::time::Duration;

use postrider_seams::envelope::{Mail, Recipient, RecipientResult};
use postrider_seams::row::Detail;
use postrider_seams::{Failure, Outcome, Receipt, Value};

use crate::classify::{ErrorCode, FailureKind, RequestFailure};

#[cfg(test)]
mod tests;

/// Wait of a mail when this machine has run out of a resource.
const EXHAUSTED_WAIT: Duration = Duration::from_secs(5);

/// Wait of a mail that some recipients have, when the provider accepts no more for now and does not say for how long.
const RATE_LIMITED_WAIT: Duration = Duration::from_secs(10);

/// The result of one request.
#[derive(Debug)]
pub(crate) struct RequestResult {
    pub recipients: Vec<String>,
    /// The provider's id and the recipients that it left out, or why the request failed.
    pub result: Result<AcceptedRequest, RequestFailure>,
}

#[derive(Debug, Default)]
pub(crate) struct AcceptedRequest {
    pub id: Option<String>,
    pub omitted_recipients: Vec<(String, String)>,
}

/// Returns the outcome of a mail. Recipients whose request was not sent (`untried`) wait for the next attempt.
pub(crate) fn outcome(
    provider: &str,
    mail: &Mail,
    sent: Vec<RequestResult>,
    untried: Vec<String>,
) -> Outcome {
    let mut recipients = mail.settled.clone();
    let mut id = None;
    let mut worst: Option<RequestFailure> = None;
    let mut refusal: Option<RequestFailure> = None;
    let mut accepted_now = false;
    for one in sent {
        match one.result {
            Ok(accepted_request) => {
                id = id.or(accepted_request.id);
                accepted_now |= accepted_request.omitted_recipients.len() < one.recipients.len();
                recipients.extend(
                    one.recipients
                        .into_iter()
                        .map(|address| accepted(address, &accepted_request.omitted_recipients)),
                );
            }
            Err(request_failure) => {
                let result = match request_failure.kind {
                    FailureKind::Rejected => RecipientResult::Refused,
                    _ => RecipientResult::Deferred,
                };
                let with_reply =
                    |address| Recipient { address, result, reply: request_failure.reason.clone() };
                recipients.extend(one.recipients.into_iter().map(with_reply));
                let slot =
                    if request_failure.kind == FailureKind::Rejected { &mut refusal } else { &mut worst };
                slot.get_or_insert(request_failure);
            }
        }
    }
    let wait =
        |address| Recipient { address, result: RecipientResult::Deferred, reply: "not tried".to_owned() };
    recipients.extend(untried.into_iter().map(wait));
    let partly_accepted = recipients.iter().any(|recipient| recipient.result == RecipientResult::Accepted);
    let mut detail = Detail::new();
    detail.insert("provider".to_owned(), Value::Text(provider.to_owned()));
    let listed = serde_json::to_string(&recipients).expect("addresses and replies are text");
    detail.insert("recipients".to_owned(), Value::Text(listed));
    match worst.or(refusal.filter(|_| !partly_accepted)) {
        Some(request_failure) => failed(request_failure, (partly_accepted, accepted_now), detail),
        None if partly_accepted => {
            let id = id.unwrap_or_else(|| mail.message_id.clone());
            detail.insert("message_id".to_owned(), Value::Text(id.clone()));
            Outcome::Delivered(Receipt { id: Some(id), detail })
        }
        None => {
            let reply =
                recipients.iter().map(|recipient| recipient.reply.clone()).find(|reply| !reply.is_empty());
            let reply = reply.unwrap_or_else(|| "the mail has no recipient".to_owned());
            detail.insert("code".to_owned(), Value::Text("invalid_recipient".to_owned()));
            Outcome::Rejected(Failure { detail, ..Failure::new(reply) })
        }
    }
}

fn accepted(address: String, omitted_recipients: &[(String, String)]) -> Recipient {
    match omitted_recipients.iter().find(|(out, _)| *out == address) {
        Some((_, reply)) => Recipient { address, result: RecipientResult::Refused, reply: reply.clone() },
        None => Recipient { address, result: RecipientResult::Accepted, reply: String::new() },
    }
}

fn failed(
    request_failure: RequestFailure,
    (partly_accepted, accepted_now): (bool, bool),
    mut detail: Detail,
) -> Outcome {
    detail.insert("code".to_owned(), Value::Text(request_failure.code.name().to_owned()));
    if request_failure.status > 0 {
        detail.insert("status".to_owned(), Value::Int(i64::from(request_failure.status)));
    }
    let failure = Failure {
        reason: request_failure.reason,
        after: request_failure.after,
        unreachable: request_failure.unreachable,
        partly_accepted,
        accepted_now,
        detail,
    };
    match request_failure.kind {
        FailureKind::Rejected => Outcome::Rejected(failure),
        // A mail that some recipients just got cannot be handed back as untried.
        FailureKind::Refused | FailureKind::SenderRefused if !accepted_now => Outcome::Refused(failure),
        // Costs nothing, whether or not recipients had the mail before: each such call has delivered it to more recipients.
        FailureKind::NotSent => Outcome::Deferred(failure),
        FailureKind::Exhausted => Outcome::Deferred(Failure { after: Some(EXHAUSTED_WAIT), ..failure }),
        // The same for a provider that only accepts no more for now.
        FailureKind::Temporary if accepted_now && request_failure.code == ErrorCode::RateLimited => {
            Outcome::Deferred(Failure { after: failure.after.or(Some(RATE_LIMITED_WAIT)), ..failure })
        }
        FailureKind::Temporary | FailureKind::Refused | FailureKind::SenderRefused => {
            Outcome::Retryable(failure)
        }
        FailureKind::Uncertain => Outcome::Uncertain(failure),
    }
}
