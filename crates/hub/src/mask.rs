//! What could open something is shown to nobody who does not keep it: the values of some headers.
//!
//! Invariant: it only hides. What is stored and sent stays as it was given.

use std::collections::BTreeMap;

use crate::access::{Actor, Role};

/// In the place of what could be a secret.
pub const MASK: &str = "••••••";

/// Could a header or column of this name open something?
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "api_key"]
        .iter()
        .any(|word| name.contains(word))
}

/// Headers as this caller may see them: operators keep them, and need them whole; a producer those that it gave itself.
pub(crate) fn headers(actor: &Actor, own: bool, headers: &mut BTreeMap<String, String>) {
    if actor.role >= Role::Operator || (actor.role == Role::Producer && own) {
        return;
    }
    for (name, value) in headers {
        if is_secret(name) {
            MASK.clone_into(value);
        }
    }
}
