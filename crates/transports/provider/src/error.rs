//! Errors of the provider settings.

pub use postrider_target_options::InvalidOptions as Error;

pub(crate) const PROVIDER: &str = "mail provider";
