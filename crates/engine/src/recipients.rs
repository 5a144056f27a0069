//! The result of each recipient of a mail: what the store must remember, and how a row's reason describes it.
//!
//! Owns: parsing a transport's `recipients`. Must not: decide about the row. Invariant: when the row ends, its reason
//! lists every recipient who did not get the mail, and what is stored fits into one column or attribute.

use postrider_contract::{FINGERPRINT, REMEMBERED, RESULTS};
use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::row::Detail;
use postrider_seams::{Claimed, Failure, Outcome, Value};

use crate::decide::compact;

/// The longest results that are stored, in bytes: a TEXT column of MySQL holds 65,535, and an item of DynamoDB 400 KB.
const STORED_LIMIT: usize = 64_000;

/// The recipients of a mail that did not reach all of them.
#[derive(Debug)]
pub(crate) struct Mixed(Vec<Recipient>);

/// Parses a transport's result per recipient; `None` if all have the mail, or the row is no mail. Parses the JSON only
/// if some recipient lacks the mail.
pub(crate) fn mixed(detail: &Detail) -> Option<Mixed> {
    let text = detail.get("recipients")?.as_text()?;
    let somebody_lacks_it = text.contains(r#""deferred""#) || text.contains(r#""refused""#);
    let recipients: Vec<Recipient> = somebody_lacks_it.then(|| serde_json::from_str(text).ok()).flatten()?;
    recipients.iter().any(|one| one.result != RecipientResult::Accepted).then_some(Mixed(recipients))
}

impl Mixed {
    fn are(&self, result: RecipientResult) -> usize {
        self.0.iter().filter(|one| one.result == result).count()
    }

    /// Whether the recipients have different results: only then there is something to remember.
    fn differ(&self) -> bool {
        self.0.iter().any(|one| one.result != self.0[0].result)
    }

    pub(crate) fn somebody_has_it(&self) -> bool {
        self.are(RecipientResult::Accepted) > 0
    }

    /// Whether the reason names one recipient although there are several, each with its own reply.
    pub(crate) fn is_about_one_of_several(&self, reason: &str) -> bool {
        self.0.len() > 1 && self.0.iter().any(|one| reason.starts_with(&format!("{}:", one.address)))
    }

    /// Returns a text such as "2 of 3 recipients have it; not c@example.org (550 5.1.1 no such user)".
    pub(crate) fn reason(&self) -> String {
        let lacking: Vec<String> = self
            .0
            .iter()
            .filter(|one| one.result != RecipientResult::Accepted)
            .map(|one| {
                if one.reply.is_empty() {
                    one.address.clone()
                } else {
                    format!("{} ({})", one.address, one.reply)
                }
            })
            .collect();
        let have = self.are(RecipientResult::Accepted);
        format!("{have} of {} recipients have it; not {}", self.0.len(), lacking.join(", "))
    }
}

/// Makes a deferral fit for the store. One that interrupted a mail after some recipients had accepted it costs nothing,
/// as long as the store records these results with the deferral; otherwise it counts as an attempt. Any other deferral
/// leaves what is recorded as it is.
pub(crate) fn recordable(outcome: Outcome, recorded_on_deferral: bool) -> Outcome {
    match outcome {
        Outcome::Deferred(failure) if failure.accepted_now && !recorded_on_deferral => {
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
pub(crate) fn remember(row: &Claimed, mixed: Option<&Mixed>, envelope: &Detail, detail: &mut Detail) {
    if let Some(shorter) = detail.get("recipients").and_then(Value::as_text).and_then(shortened) {
        detail.insert("recipients".to_owned(), Value::Text(shorter));
    }
    let before = row.fields.as_ref().is_some_and(|fields| *fields.get(RESULTS) != Value::Null);
    if (before || mixed.is_some_and(Mixed::differ))
        && let Some(recipients) = detail.get("recipients").and_then(Value::as_text)
    {
        let mail = envelope.get(FINGERPRINT).and_then(Value::as_text);
        let mail = mail.map(|mail| format!(r#""mail":{},"#, serde_json::json!(mail))).unwrap_or_default();
        let kept = format!(r#"{{{mail}"recipients":{recipients}}}"#);
        detail.insert(REMEMBERED.to_owned(), Value::Text(kept));
    }
}

/// Returns results that are too long to be stored with shorter replies, never with other addresses or results; `None` if
/// they fit.
fn shortened(text: &str) -> Option<String> {
    if text.len() <= STORED_LIMIT {
        return None;
    }
    let mut recipients: Vec<Recipient> = serde_json::from_str(text).ok()?;
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
        if shorter.len() <= STORED_LIMIT || longest == 0 {
            return Some(shorter);
        }
    }
}

#[cfg(test)]
mod tests;
