//! Removes known secrets from what targets answered, before it is stored, logged or shown.

use crate::row::{Detail, Value};
use crate::scrub::scrubbed;

use super::{Outcome, Receipt};

impl Receipt {
    /// Removes known secrets.
    #[must_use]
    pub fn scrubbed(mut self) -> Self {
        self.id = self.id.map(scrubbed);
        clean(&mut self.detail);
        self
    }
}

impl Outcome {
    /// Removes known secrets.
    #[must_use]
    pub fn scrubbed(mut self) -> Self {
        if let Some(failure) = self.failure_mut() {
            failure.reason = scrubbed(std::mem::take(&mut failure.reason));
            clean(&mut failure.detail);
        }
        match self {
            Self::Delivered(receipt) => Self::Delivered(receipt.scrubbed()),
            failed => failed,
        }
    }
}

fn clean(detail: &mut Detail) {
    for value in detail.values_mut() {
        match value {
            Value::Text(text) => *text = scrubbed(std::mem::take(text)),
            // The bytes may not be valid UTF-8 as a whole, but parts of them may be text.
            Value::Bytes(bytes) => {
                *value = Value::Text(scrubbed(String::from_utf8_lossy(bytes).into_owned()));
            }
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
        }
    }
}
