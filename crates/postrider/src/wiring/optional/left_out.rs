//! Stands for each backend that this build leaves out, with the functions of its module; each refuses.

#![allow(dead_code, reason = "a build that leaves out only some backends uses a part of it")]

use std::sync::Arc;
use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::store::{Class, Error};
use postrider_seams::{Queue, Transport};
use postrider_target_options::{InvalidOptions, OptionMistake};

use super::super::Database;
use crate::settings::QueueSettings;

/// Continues a sentence after the name of a transport, store or queue.
const TEXT: &str = "is not part of this build: build without `--no-default-features`";

fn invalid() -> InvalidOptions {
    InvalidOptions::one("its", TEXT)
}

/// Refuses a transport.
pub(in crate::wiring) fn transport(
    _: &str,
    _: &[(String, String)],
    _: Duration,
) -> Result<Arc<dyn Transport>, String> {
    Err(TEXT.to_owned())
}

/// Refuses the settings of a transport.
pub(in crate::wiring) fn check(_: &str, _: &[(String, String)]) -> Result<(), InvalidOptions> {
    Err(invalid())
}

/// Refuses an external queue.
pub(in crate::wiring) fn queue(_: &QueueSettings, _: &str) -> Result<Arc<dyn Queue>, InvalidOptions> {
    Err(invalid())
}

/// Refuses a database.
pub(in crate::wiring) fn connect(_: &str) -> Result<Database, Error> {
    Err(Error::new(Class::Misconfigured, TEXT))
}

/// Refuses the URL of a database.
pub(in crate::wiring) fn mistakes(_: &str) -> Vec<OptionMistake> {
    vec![TEXT.into()]
}

/// Lists nothing: the database is refused anyway.
pub(in crate::wiring) fn unsupported_keys(_: &Contract) -> Vec<(&'static str, &'static str)> {
    Vec::new()
}
