//! Why a row does not become a mail now, with the code that operators and tools read (rules N5, N9, N11).

use std::time::Duration;

use postrider_seams::row::Detail;
use postrider_seams::{Failure, Outcome, Value};

/// Characters of a message.
const MESSAGE_LIMIT: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nobody can act on it.
    Skip { code: &'static str, message: String },
    /// Operators must act.
    Fail { code: &'static str, message: String },
    /// Not before; costs nothing.
    Wait { after: Duration, message: String },
}

pub const UNSUPPORTED_CONTACT: &str = "unsupported_contact";
pub const SUBSCRIPTION_MISSING: &str = "subscription_missing";
pub const SUBSCRIPTION_INACTIVE: &str = "subscription_inactive";
pub const UNSUBSCRIBED: &str = "unsubscribed";
pub const NOTIFY_ON: &str = "notify_on";
pub const MAX_NOTIFICATIONS: &str = "max_notifications";
pub const DUPLICATE: &str = "duplicate";
pub const INVALID_RECIPIENT: &str = "invalid_recipient";
pub const VALIDATION_ERROR: &str = "validation_error";
pub const TEMPLATE_MISSING_LOCALE: &str = "template_missing_locale";
pub const TEMPLATE_VARIABLE_MISSING: &str = "template_variable_missing";

impl Verdict {
    pub fn skip(code: &'static str, message: impl Into<String>) -> Self {
        Self::Skip { code, message: message.into() }
    }

    pub fn fail(code: &'static str, message: impl Into<String>) -> Self {
        Self::Fail { code, message: message.into() }
    }

    /// The job is not what the schema says.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::fail(VALIDATION_ERROR, message)
    }

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
    // Parsers quote what they stumble over, which may be long and is the row's business (rule G7).
    if let Some((end, _)) = message.char_indices().nth(MESSAGE_LIMIT) {
        message.replace_range(end.., "…");
    }
    let detail = Detail::from([
        ("code".to_owned(), Value::Text(code.to_owned())),
        ("message".to_owned(), Value::Text(message.clone())),
    ]);
    Failure { detail, ..Failure::new(message) }
}
