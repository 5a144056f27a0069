//! Errors of the settings.

/// Settings that can't work, all mistakes at once; none holds a secret.
pub use postrider_broker::Mistakes as Error;

pub(crate) const KIND: &str = "webhook";
