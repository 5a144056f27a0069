//! The errors of the memory store: an operator requested a state or a move that the contract does not have.

use postrider_seams::store::{Class, Error};

pub(crate) fn unknown_state(state: &str) -> Error {
    Error::new(Class::Permanent, format!("the contract has no state {state:?}"))
}

pub(crate) fn no_such_move(action: &str) -> Error {
    Error::new(Class::Permanent, format!("the contract has no [{action}]: rows can't be moved that way"))
}
