//! The five built-in contracts.

use crate::Contract;

const BUILTINS: [(&str, &str); 5] = [
    ("mail_outbox", include_str!("../../../contracts/mail_outbox.toml")),
    ("dispatch_jobs", include_str!("../../../contracts/dispatch_jobs.toml")),
    ("open_event_notifications", include_str!("../../../contracts/open_event_notifications.toml")),
    ("emails", include_str!("../../../contracts/emails.toml")),
    ("outbox", include_str!("../../../contracts/outbox.toml")),
];

impl Contract {
    /// Returns the TOML text of a built-in contract; `None` if there is none of that name.
    pub fn builtin(name: &str) -> Option<&'static str> {
        BUILTINS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Returns the names of the built-in contracts.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTINS.iter().map(|(name, _)| *name)
    }
}
