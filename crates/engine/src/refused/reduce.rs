//! The forms in which a refused outcome is settled: its texts are reduced step by step, until the move itself lands.

use postrider_contract::{STORED_RECIPIENTS, Transition};
use postrider_seams::Value;
use postrider_seams::row::Detail;
use postrider_seams::store::Settlement;

/// The longest text of [`Form::Short`], in bytes: shorter than MySQL's TINYTEXT (255).
const SHORT: usize = 200;

/// The longest text of [`Form::Bare`], in bytes.
const BARE: usize = 60;

/// How much of an outcome's texts is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Everything.
    Whole,
    /// Everything, in ASCII: some columns and databases store no other characters.
    Ascii,
    /// ASCII, plain texts shortened.
    Short,
    /// ASCII, plain texts shortened further, and no JSON except what a retry needs.
    Bare,
}

impl Form {
    /// The number of refusals after which the last form is tried.
    pub const LAST: u32 = 4;

    /// Returns the form to try after so many refusals. The whole is tried twice, because the cause may pass.
    pub fn after(refusals: u32) -> Self {
        match refusals {
            0 | 1 => Self::Whole,
            2 => Self::Ascii,
            3 => Self::Short,
            _ => Self::Bare,
        }
    }

    /// Reduces the texts of a settlement to this form.
    pub fn of(self, settlement: Settlement) -> Settlement {
        let limit = match self {
            Self::Whole => return settlement,
            Self::Ascii => usize::MAX,
            Self::Short => SHORT,
            Self::Bare => BARE,
        };
        let comes_again = matches!(settlement.transition, Transition::Retry | Transition::Deferred);
        let needed = |name: &str| comes_again && (name == STORED_RECIPIENTS || name == "recipients");
        let reduce = |detail: Detail| -> Detail {
            detail
                .into_iter()
                .filter(|(name, value)| self != Self::Bare || needed(name) || !is_long_json(value))
                .map(|(name, value)| (name, reduced(value, limit)))
                .collect()
        };
        Settlement {
            reason: settlement.reason.map(|reason| plain(&reason, limit)),
            receipt: settlement.receipt.map(|receipt| plain(&receipt, limit)),
            envelope: reduce(settlement.envelope),
            outcome: reduce(settlement.outcome),
            ..settlement
        }
    }
}

fn is_json(text: &str) -> bool {
    text.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn is_long_json(value: &Value) -> bool {
    value.as_text().is_some_and(|text| text.len() > BARE && is_json(text))
}

fn reduced(value: Value, limit: usize) -> Value {
    match value {
        Value::Text(text) if is_json(&text) => Value::Text(escaped(&text)),
        Value::Text(text) => Value::Text(plain(&text, limit)),
        other => other,
    }
}

/// Returns the same JSON in ASCII: other characters occur in strings only, where an escape means the same.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            let mut units = [0; 2];
            text.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

/// Returns a text with `?` for each character that is not ASCII, cut to the limit.
fn plain(text: &str, limit: usize) -> String {
    let is_plain = |c: char| c.is_ascii() && !c.is_ascii_control();
    text.chars().map(|c| if is_plain(c) { c } else { '?' }).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use postrider_seams::{Lease, RowId};

    use super::*;

    fn settlement(transition: Transition) -> Settlement {
        let recipients =
            r#"[{"address":"jürgen@x.org","result":"accepted"},{"address":"😀@x.org","result":"deferred"}]"#;
        Settlement {
            transition,
            reason: Some(format!("450 später 😀 {}", "x".repeat(500))),
            outcome: Detail::from([
                ("recipients".to_owned(), Value::Text(recipients.to_owned())),
                ("response_body".to_owned(), Value::Text("grüße".to_owned())),
                ("status".to_owned(), Value::Int(450)),
            ]),
            ..Settlement::released(Lease { id: RowId::Int(1), fence: Box::default() })
        }
    }

    fn text<'a>(settlement: &'a Settlement, name: &str) -> &'a str {
        settlement.outcome[name].as_text().expect("a text")
    }

    #[test]
    fn texts_become_ascii_then_short_and_json_keeps_its_meaning() {
        let whole = settlement(Transition::Retry);
        assert_eq!(Form::Whole.of(whole.clone()).reason, whole.reason);
        let ascii = Form::Ascii.of(whole.clone());
        assert!(ascii.reason.as_deref().is_some_and(|reason| reason.starts_with("450 sp?ter ? xxx")));
        assert_eq!(text(&ascii, "response_body"), "gr??e");
        assert!(text(&ascii, "recipients").is_ascii());
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(
            value(text(&ascii, "recipients")),
            value(text(&whole, "recipients")),
            "the same addresses"
        );
        assert_eq!(Form::Short.of(whole).reason.expect("a reason").len(), SHORT);
    }

    #[test]
    fn what_a_retry_needs_is_kept_in_every_form() {
        let bare = Form::Bare.of(settlement(Transition::Retry));
        assert!(bare.outcome.contains_key("recipients"), "who has the mail is never forgotten");
        let bare = Form::Bare.of(settlement(Transition::Dead));
        assert!(!bare.outcome.contains_key("recipients"));
        assert_eq!(bare.outcome["status"], Value::Int(450));
        assert_eq!(bare.reason.expect("a reason").len(), BARE);
    }
}
