//! Who asks, and what they may: API keys, sessions, roles, client scope.
//!
//! Invariant: a key is stored as the SHA-256 of 256 random bits, found by its prefix, compared in constant time, and
//! shown once, when it is made.

mod key;
mod session;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Error;

pub(crate) use key::hex;
pub use key::{ApiKey, ClientId, NewKey, REQUESTED, ShownKey};
pub use session::{Session, SignedIn};

/// What an API key may do. Each role includes the roles before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads jobs, events, subscriptions, pools and lanes.
    Viewer,
    /// Creates jobs, events and e-mails.
    Producer,
    /// Retries, cancels, completes, replays, pauses; manages subscriptions, pools and schemas.
    Operator,
    /// Manages service accounts and keys; reads the audit log.
    Admin,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Producer => "producer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::Viewer, Self::Producer, Self::Operator, Self::Admin]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

/// Whose things a caller may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    /// Never empty.
    Only(Vec<String>),
}

impl Scope {
    pub fn of(mut clients: Vec<String>) -> Self {
        clients.sort_unstable();
        clients.dedup();
        if clients.is_empty() { Self::All } else { Self::Only(clients) }
    }

    /// May things of this client be seen?
    pub fn covers(&self, client: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Only(clients) => client.is_some_and(|client| clients.iter().any(|known| known == client)),
        }
    }

    /// The client of what a caller makes and names none for: the only one it may.
    pub fn default_client(&self) -> Option<String> {
        match self {
            Self::Only(clients) if clients.len() == 1 => clients.first().cloned(),
            _ => None,
        }
    }

    /// Tells scopes apart, in a cursor.
    pub(crate) fn mark(&self) -> String {
        match self {
            Self::All => "*".to_owned(),
            Self::Only(clients) => clients.join("\n"),
        }
    }
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The id of the key; empty: somebody at the command line, who can read the database anyway.
    pub key: String,
    pub name: String,
    pub role: Role,
    pub scope: Scope,
}

impl Actor {
    /// Somebody at the command line.
    pub fn at_the_console() -> Self {
        Self { key: String::new(), name: "command line".to_owned(), role: Role::Admin, scope: Scope::All }
    }

    /// May it read what a key made? A producer reads its own alone: others' payloads are no business of it.
    pub(crate) fn may_read_what(&self, made_by: Option<&str>) -> bool {
        self.role != Role::Producer || made_by == Some(self.key.as_str())
    }

    pub(crate) fn key_id(&self) -> Option<String> {
        (!self.key.is_empty()).then(|| self.key.clone())
    }

    /// The client of something that this caller makes.
    pub(crate) fn client_for(&self, client: Option<String>) -> Result<Option<String>, Error> {
        let client = client.or_else(|| self.scope.default_client());
        if self.scope.covers(client.as_deref()) {
            return Ok(client);
        }
        match client {
            Some(_) => Err(Error::NotYours("clientId")),
            None => Err(Error::invalid("clientId", "is missing: this API key has several clients")),
        }
    }
}
