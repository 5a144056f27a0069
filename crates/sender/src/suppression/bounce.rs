//! Detects recipients that do not exist, from the receiver's reply. Pure.
//!
//! Only the enhanced status codes (RFC 3463) of a missing mailbox or domain count, never those of policy (5.7.x): a
//! refusal because of spam or reputation says nothing about the address.

use postrider_seams::envelope::{Mail, Recipient, RecipientResult};
use postrider_seams::row::Detail;
use postrider_seams::{Failure, Outcome};

/// No such mailbox, no such system, a domain that accepts no mail (RFC 7505), a disabled mailbox.
const NO_SUCH_ADDRESS: [&str; 4] = ["5.1.1", "5.1.2", "5.1.10", "5.2.1"];

/// Returns the recipients of this delivery that do not exist according to the receiver, with its reply.
pub(super) fn missing_recipients(outcome: &Outcome, mail: &Mail) -> Vec<(String, String)> {
    let detail = match outcome {
        Outcome::Delivered(receipt) => &receipt.detail,
        Outcome::Retryable(failure) | Outcome::Rejected(failure) => &failure.detail,
        _ => return Vec::new(),
    };
    if !concerns_recipients(detail, mail) {
        return Vec::new();
    }
    results(detail)
        .into_iter()
        .filter(|recipient| {
            recipient.result == RecipientResult::Refused && mail.to.contains(&recipient.address)
        })
        .filter(|recipient| {
            enhanced_code(&recipient.reply).is_some_and(|code| NO_SUCH_ADDRESS.contains(&code))
        })
        .map(|recipient| (recipient.address, recipient.reply))
        .collect()
}

/// Whether every recipient was refused because it does not exist, which no operator can fix.
pub(super) fn all_missing(failure: &Failure, mail: &Mail) -> bool {
    let missing = missing_recipients(&Outcome::Rejected(failure.clone()), mail);
    !missing.is_empty() && missing.len() == mail.to.len()
}

/// Whether the failure is about recipients: a refusal of the sender is not, one of the whole message is if there is
/// only one recipient.
fn concerns_recipients(detail: &Detail, mail: &Mail) -> bool {
    match detail.get("stage").and_then(|stage| stage.as_text()) {
        None | Some("RCPT TO") => true,
        Some("MAIL FROM") => false,
        Some(_) => mail.to.len() == 1,
    }
}

fn results(detail: &Detail) -> Vec<Recipient> {
    let text = detail.get("recipients").and_then(|recipients| recipients.as_text()).unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

/// Returns the enhanced status code of a reply such as `550 5.1.1 No such user`.
fn enhanced_code(reply: &str) -> Option<&str> {
    let rest = reply.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = if rest.len() + 3 == reply.len() { rest.trim_start_matches([' ', '-']) } else { reply };
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    let code = &rest[..end];
    (code.split('.').count() == 3 && code.split('.').all(|part| !part.is_empty())).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enhanced_codes_are_read_at_the_beginning_only() {
        assert_eq!(enhanced_code("550 5.1.1 No such user"), Some("5.1.1"));
        assert_eq!(enhanced_code("550-5.1.10 null MX"), Some("5.1.10"));
        assert_eq!(enhanced_code("5.2.1 disabled"), Some("5.2.1"));
        assert_eq!(enhanced_code("550 5.7.1 see 5.1.1"), Some("5.7.1"));
        for none in ["550 No such user 5.1.1", "550", "", "550 5.1", "550 5..1 x", "suppressed: 5.1.1"] {
            assert_eq!(enhanced_code(none), None, "{none}");
        }
    }
}
