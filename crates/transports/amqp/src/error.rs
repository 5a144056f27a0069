//! Errors of the settings and of connections.

pub use postrider_seams::ConnectError;
/// Invalid settings: all mistakes at once, without secrets.
pub use postrider_target_options::InvalidOptions as Error;

pub(crate) const BROKER: &str = "AMQP";
