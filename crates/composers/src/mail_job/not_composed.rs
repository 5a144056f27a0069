//! Verdicts: why a row is not composed into a mail now, with the code for operators and tools (rules N5, N9, N11).

use std::time::Duration;

use postrider_seams::row::Detail;
use postrider_seams::{Failure, Outcome, Value};

/// Longest message, in characters.
const MESSAGE_LIMIT: usize = 300;

/// The reason why a row is not composed now, and whether it is skipped, failed or deferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotComposed {
    /// The row is skipped: no operator can fix it.
    Skip { code: &'static str, message: String },
    /// The row fails: an operator must fix something.
    Fail { code: &'static str, message: String },
    /// The row is deferred; waiting uses no attempt.
    Wait { after: Duration, message: String },
}

/// Code of a skipped row whose contact type is not e-mail.
pub const UNSUPPORTED_CONTACT: &str = "unsupported_contact";
/// Code of a skipped row whose subscription does not exist.
pub const SUBSCRIPTION_MISSING: &str = "subscription_missing";
/// Code of a skipped row whose subscription is not active.
pub const SUBSCRIPTION_INACTIVE: &str = "subscription_inactive";
/// Code of a skipped row whose subscriber has unsubscribed.
pub const UNSUBSCRIBED: &str = "unsubscribed";
/// Code of a skipped row whose status is not in the subscriber's `notifyOn`.
pub const NOTIFY_ON: &str = "notify_on";
/// Code of a skipped row whose subscriber has received `maxNotifications` mails.
pub const MAX_NOTIFICATIONS: &str = "max_notifications";
/// Code of a skipped row whose key and subscription were sent before, within the duplicate window.
pub const DUPLICATE: &str = "duplicate";
/// Code of a skipped row whose recipient address is invalid.
pub const INVALID_RECIPIENT: &str = "invalid_recipient";
/// Code of a failed row whose job does not match the schema or cannot be composed.
pub const VALIDATION_ERROR: &str = "validation_error";
/// Code of a failed row whose template, template version or locale does not exist.
pub const TEMPLATE_MISSING_LOCALE: &str = "template_missing_locale";
/// Code of a failed row whose job lacks a variable that its template needs.
pub const TEMPLATE_VARIABLE_MISSING: &str = "template_variable_missing";

impl NotComposed {
    /// Creates a verdict that skips the row.
    pub fn skip(code: &'static str, message: impl Into<String>) -> Self {
        Self::Skip { code, message: message.into() }
    }

    /// Creates a verdict that fails the row.
    pub fn fail(code: &'static str, message: impl Into<String>) -> Self {
        Self::Fail { code, message: message.into() }
    }

    /// Creates a failure with the code `validation_error`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::fail(VALIDATION_ERROR, message)
    }

    /// Converts the verdict into the outcome of the row; code and message are in the failure's detail.
    pub fn into_outcome(self) -> Outcome {
        match self {
            Self::Skip { code, message } => Outcome::Skipped(failure(code, message)),
            Self::Fail { code, message } => Outcome::Rejected(failure(code, message)),
            Self::Wait { after, message } => {
                Outcome::Deferred(Failure { after: Some(after), ..Failure::new(message) })
            }
        }
    }
}

fn failure(code: &str, mut message: String) -> Failure {
    // Parsers quote the input that they reject, which may be long and private to the row (rule G7).
    if let Some((end, _)) = message.char_indices().nth(MESSAGE_LIMIT) {
        message.replace_range(end.., "…");
    }
    let detail = Detail::from([
        ("code".to_owned(), Value::Text(code.to_owned())),
        ("message".to_owned(), Value::Text(message.clone())),
    ]);
    Failure { detail, ..Failure::new(message) }
}
