//! The few ways in which memory can fail: an operator asked for what the contract does not have.

use postrider_seams::store::{Class, Error};

pub(crate) fn unknown_state(state: &str) -> Error {
    Error::new(Class::Permanent, format!("the contract has no state {state:?}"))
}

pub(crate) fn no_such_move(verb: &str) -> Error {
    Error::new(Class::Permanent, format!("the contract has no [{verb}]: rows can't be moved that way"))
}
