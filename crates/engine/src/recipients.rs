//! The result of each recipient of a mail: what the store must remember, and how a row's reason describes it.
//!
//! Owns: parsing a transport's `recipients`. Must not: decide about the row. Invariant: when the row ends, its reason
//! lists every recipient who did not get the mail, and what is stored fits into one column or attribute.

use postrider_contract::{AttemptCounting, FINGERPRINT, RESULTS, STORED_RECIPIENTS, Stage};
use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::row::Detail;
use postrider_seams::{ClaimedRow, Content, Envelope, Failure, Outcome, Value};

use crate::decide::compact;

/// The length in bytes from which replies are shortened: a TEXT column of MySQL holds 65,535, an item of DynamoDB 400 KB.
const STORED_LIMIT: usize = 64_000;

/// The recipients of a mail that did not reach all of them.
#[derive(Debug)]
pub(crate) struct PartialDelivery(Vec<Recipient>);

/// Parses a transport's result per recipient; `None` if all have the mail, or the row is no mail. Parses the JSON only
/// if some recipient lacks the mail.
pub(crate) fn mixed(detail: &Detail) -> Option<PartialDelivery> {
    let text = detail.get("recipients")?.as_text()?;
    let somebody_lacks_it = text.contains(r#""deferred""#) || text.contains(r#""refused""#);
    let recipients: Vec<Recipient> = somebody_lacks_it.then(|| serde_json::from_str(text).ok()).flatten()?;
    of(recipients)
}

fn of(recipients: Vec<Recipient>) -> Option<PartialDelivery> {
    recipients
        .iter()
        .any(|one| one.result != RecipientResult::Accepted)
        .then_some(PartialDelivery(recipients))
}

/// Returns the results of earlier attempts, for a row that ends with an outcome that lists no recipients: it could not
/// be composed any more, or the transport gave no usable answer.
pub(crate) fn earlier(
    stage: &Stage,
    row: &ClaimedRow,
    envelope: Option<&Envelope>,
) -> Option<PartialDelivery> {
    let Some(envelope) = envelope else { return stored(stage, row) };
    let Content::Mail(mail) = &envelope.content else { return None };
    if mail.settled.is_empty() {
        return None;
    }
    let waiting = |address: &String| Recipient {
        address: address.clone(),
        result: RecipientResult::Deferred,
        reply: String::new(),
    };
    of(mail.settled.iter().cloned().chain(mail.to.iter().map(waiting)).collect())
}

/// Results that are stored outside the row: see [`remember`].
#[derive(serde::Deserialize)]
struct StoredResults {
    recipients: Vec<Recipient>,
}

/// Reads the results that came with the row: a list in a column, or an object stored outside the row. The object may
/// belong to a deleted row whose id was reused, if this row was never tried.
fn stored(stage: &Stage, row: &ClaimedRow) -> Option<PartialDelivery> {
    let text = row.fields.as_ref()?.get(RESULTS).as_text()?;
    let list = serde_json::from_str(text);
    let counted = u32::from(stage.attempts.count == AttemptCounting::Claims);
    let was_tried = row.counters.attempts > counted;
    let object = || was_tried.then(|| serde_json::from_str::<StoredResults>(text).ok()).flatten();
    of(list.ok().or_else(|| Some(object()?.recipients))?)
}

impl PartialDelivery {
    fn are(&self, result: RecipientResult) -> usize {
        self.0.iter().filter(|one| one.result == result).count()
    }

    /// Whether the recipients have different results: only then there is something to remember.
    fn differ(&self) -> bool {
        self.0.iter().any(|one| one.result != self.0[0].result)
    }

    pub(crate) fn any_accepted(&self) -> bool {
        self.are(RecipientResult::Accepted) > 0
    }

    /// Whether the reason is the reply to one recipient, although there are several and nobody has the mail.
    pub(crate) fn is_about_one_of_several(&self, reason: &str) -> bool {
        let is_reply = |one: &Recipient| {
            reason.starts_with(&format!("{}:", one.address))
                || (reason == one.reply && reason.contains(&one.address))
        };
        self.0.len() > 1 && !self.any_accepted() && self.0.iter().any(is_reply)
    }

    /// Whether the reason holds for every recipient without the mail: it contains their address or the reply to them.
    pub(crate) fn is_about_all(&self, reason: &str) -> bool {
        let is_in = |text: &str| !text.is_empty() && reason.contains(text);
        self.lacking().all(|one| is_in(&one.reply) || is_in(&one.address))
    }

    fn lacking(&self) -> impl Iterator<Item = &Recipient> {
        self.0.iter().filter(|one| one.result != RecipientResult::Accepted)
    }

    /// Returns a text such as "accepted by 2 of 3 recipients; not by c@example.org (550 5.1.1 no such user)".
    pub(crate) fn reason(&self) -> String {
        let lacking: Vec<String> = self
            .lacking()
            .map(|one| {
                if one.reply.is_empty() {
                    one.address.clone()
                } else {
                    format!("{} ({})", one.address, one.reply)
                }
            })
            .collect();
        let have = self.are(RecipientResult::Accepted);
        format!("accepted by {have} of {} recipients; not by {}", self.0.len(), lacking.join(", "))
    }
}

/// Makes a deferral fit for the store. One that interrupted a mail after some recipients had accepted it costs nothing,
/// as long as the store records these results with the deferral; otherwise it counts as an attempt. Any other deferral
/// leaves what is recorded as it is.
pub(crate) fn recordable(outcome: Outcome, recorded_on_deferral: bool, limit: Option<usize>) -> Outcome {
    let is_recorded = recorded_on_deferral && fit(&outcome, limit);
    match outcome {
        Outcome::Deferred(failure) if failure.accepted_now && !is_recorded => {
            Outcome::Retryable(Failure { after: None, ..failure })
        }
        Outcome::Deferred(mut failure) if !failure.accepted_now => {
            failure.detail.remove("recipients");
            Outcome::Deferred(failure)
        }
        other => other,
    }
}

/// Adds what the store must remember to the move's details: the result of each recipient, if they differ or if the
/// store already remembers results of this row. It is a JSON object with the mail's fingerprint, so that it cannot be
/// confused with a column of the row: results stored outside the table may belong to a deleted row whose id was reused.
///
/// Results that do not fit are left out: the row ends then, and its reason says who lacks the mail.
pub(crate) fn remember(
    row: &ClaimedRow,
    mixed: Option<&PartialDelivery>,
    envelope: &Detail,
    detail: &mut Detail,
    limit: Option<usize>,
) {
    let results = detail.get("recipients").and_then(Value::as_text);
    if let Some(long) = results.filter(|text| text.len() > target(limit)) {
        match shortened(long, limit) {
            Some(shorter) => detail.insert("recipients".to_owned(), Value::Text(shorter)),
            None => detail.remove("recipients"),
        };
    }
    let before = row.fields.as_ref().is_some_and(|fields| *fields.get(RESULTS) != Value::Null);
    if (before || mixed.is_some_and(PartialDelivery::differ))
        && let Some(recipients) = detail.get("recipients").and_then(Value::as_text)
    {
        let mail = envelope.get(FINGERPRINT).and_then(Value::as_text);
        let mail = mail.map(|mail| format!(r#""mail":{},"#, serde_json::json!(mail))).unwrap_or_default();
        let kept = format!(r#"{{{mail}"recipients":{recipients}}}"#);
        detail.insert(STORED_RECIPIENTS.to_owned(), Value::Text(kept));
    }
}

/// Returns the details that the transport gave with an outcome.
pub(crate) fn detail(outcome: &Outcome) -> &Detail {
    static NONE: Detail = Detail::new();
    match outcome {
        Outcome::Delivered(receipt) => &receipt.detail,
        other => other.failure().map_or(&NONE, |failure| &failure.detail),
    }
}

/// Whether the results of an outcome fit where the store keeps them, with shorter replies if need be.
pub(crate) fn fit(outcome: &Outcome, limit: Option<usize>) -> bool {
    let text = detail(outcome).get("recipients").and_then(Value::as_text);
    text.is_none_or(|text| text.len() <= target(limit) || shortened(text, limit).is_some())
}

/// Returns the length from which results are shortened.
fn target(limit: Option<usize>) -> usize {
    limit.unwrap_or(STORED_LIMIT).min(STORED_LIMIT)
}

/// Returns long results with shorter replies, never with other addresses or results; `None` if they do not fit.
fn shortened(text: &str, limit: Option<usize>) -> Option<String> {
    let fits = |text: &str| limit.is_none_or(|limit| text.len() <= limit);
    let Ok(mut recipients) = serde_json::from_str::<Vec<Recipient>>(text) else {
        return fits(text).then(|| text.to_owned());
    };
    let mut longest = recipients.iter().map(|one| one.reply.len()).max()?;
    loop {
        longest /= 2;
        for one in &mut recipients {
            if longest == 0 {
                one.reply.clear();
            } else if one.reply.len() > longest {
                one.reply = compact(&one.reply, longest);
            }
        }
        let shorter = serde_json::to_string(&recipients).ok()?;
        if shorter.len() <= target(limit) || longest == 0 {
            return fits(&shorter).then_some(shorter);
        }
    }
}

#[cfg(test)]
mod tests;
