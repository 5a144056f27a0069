//! Errors of the provider settings.

pub use postrider_broker::Mistakes as Error;

pub(crate) const PROVIDER: &str = "mail provider";
