//! Errors of the SQS settings.

/// Invalid settings: all mistakes at once, without secrets.
pub use postrider_target_options::InvalidOptions as Error;

pub(crate) const BROKER: &str = "SQS";
