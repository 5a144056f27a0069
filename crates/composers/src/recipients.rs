//! Chooses the recipients of an attempt (rule M9): each address once, and none that already accepted the mail.

use std::collections::HashSet;

use postrider_seams::envelope::{Recipient, RecipientResult};

#[derive(Debug, Default)]
pub(crate) struct Recipients {
    /// Recipients of this attempt; empty only if all have accepted the mail.
    pub pending: Vec<String>,
    /// Recipients that an earlier attempt settled; they are not in this attempt.
    pub settled: Vec<Recipient>,
}

/// Removes the recipients that an earlier attempt settled: accepted ones never get the mail again, permanently refused
/// ones are not tried again. If only refused ones remain, an operator has requeued the row to retry them, so they are
/// tried again.
pub(crate) fn choose(all: Vec<String>, earlier: Vec<Recipient>) -> Recipients {
    if earlier.is_empty() {
        return Recipients { pending: all, settled: earlier };
    }
    let has_result = |address: &str, wanted: RecipientResult| {
        earlier.iter().any(|one| one.result == wanted && one.address == address)
    };
    let not_accepted: Vec<String> =
        all.into_iter().filter(|address| !has_result(address, RecipientResult::Accepted)).collect();
    let not_refused = not_accepted.iter().filter(|address| !has_result(address, RecipientResult::Refused));
    let mut pending: Vec<String> = not_refused.cloned().collect();
    if pending.is_empty() {
        pending = not_accepted;
    }
    let settled = earlier.into_iter().filter(|one| match one.result {
        RecipientResult::Accepted => true,
        RecipientResult::Refused => !pending.contains(&one.address),
        RecipientResult::Deferred => false,
    });
    let settled = settled.collect();
    Recipients { pending, settled }
}

/// Whether the address needs SMTPUTF8. Domains are already ASCII here.
pub(crate) fn needs_utf8(address: &str) -> bool {
    address.rsplit_once('@').is_some_and(|(local, _)| !local.is_ascii())
}

/// Recipient results that are stored outside the table.
#[derive(serde::Deserialize)]
struct StoredResults {
    /// The fingerprint of their mail; records of earlier versions have none.
    mail: Option<String>,
    recipients: Vec<Recipient>,
}

/// Reads the results of earlier attempts: a JSON list in the row, or an object stored outside the table. The object is
/// used only if it has the same fingerprint, lists the same recipients and leaves one of them to be tried: otherwise it
/// belongs to a deleted row whose id was reused, or the row was changed, and the mail is sent to all recipients. A mail
/// that leaves no recipient is sent, and is never claimed again.
pub(crate) fn earlier_results(
    json: Option<&str>,
    all: &[String],
    fingerprint: &str,
) -> Result<Vec<Recipient>, serde_json::Error> {
    match json {
        None => Ok(Vec::new()),
        Some(list) if !list.trim_start().starts_with('{') => serde_json::from_str(list),
        Some(object) => {
            let StoredResults { mail, recipients: stored } = serde_json::from_str(object)?;
            let same_mail = mail.is_none_or(|mail| mail == fingerprint);
            let stored_addresses: HashSet<&str> = stored.iter().map(|one| one.address.as_str()).collect();
            let same_recipients = stored_addresses == all.iter().map(String::as_str).collect();
            let has_deferred = stored.iter().any(|one| one.result == RecipientResult::Deferred);
            Ok(if same_mail && same_recipients && has_deferred { stored } else { Vec::new() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m09_what_is_remembered_of_another_mail_does_not_count() {
        let all = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let list = r#"[{"address":"a@x","result":"accepted"},{"address":"b@x","result":"deferred"}]"#;
        let stored = format!(r#"{{"recipients":{list}}}"#);
        let sent = stored.replace("deferred", "refused");
        let of_this_mail = stored.replacen('{', r#"{"mail":"f-1","#, 1);
        let of_another = of_this_mail.replace("f-1", "f-2");
        for (json, to, expected) in [
            (list, &["a@x", "b@x"][..], &["b@x"][..]),
            (list, &["a@x", "c@x"], &["c@x"]),
            (stored.as_str(), &["b@x", "a@x"], &["b@x"]),
            (stored.as_str(), &["a@x", "c@x"], &["a@x", "c@x"]),
            (stored.as_str(), &["a@x", "b@x", "c@x"], &["a@x", "b@x", "c@x"]),
            (stored.as_str(), &["a@x"], &["a@x"]),
            (sent.as_str(), &["a@x", "b@x"], &["a@x", "b@x"]),
            (of_this_mail.as_str(), &["a@x", "b@x"], &["b@x"]),
            (of_this_mail.as_str(), &["a@x", "c@x"], &["a@x", "c@x"]),
            (of_another.as_str(), &["a@x", "b@x"], &["a@x", "b@x"]),
        ] {
            let to = all(to);
            let chosen = choose(to.clone(), earlier_results(Some(json), &to, "f-1").unwrap());
            assert_eq!(chosen.pending, expected, "{json} {to:?}");
        }
        assert!(earlier_results(Some(r#"{"recipients":1}"#), &[], "f-1").is_err());
    }
}
