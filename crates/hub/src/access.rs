//! Access control: API keys, sessions, roles, and the clients that a caller may access.
//!
//! Invariant: a key is stored as the SHA-256 of 256 random bits. It is looked up by its prefix, compared in constant
//! time, and shown once, when it is created.

mod key;
mod recent_keys;
mod session;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Error;

pub(crate) use key::hex;
pub use key::{ApiKey, ApiKeyWithSecret, ClientId, KEY_REQUEST, NewKey};
pub(crate) use recent_keys::RecentKeys;
pub use session::{Session, SignedIn};

/// The permissions of an API key. Each role includes the roles before it.
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
    /// Returns the name of the role as the API and the database spell it, such as `viewer`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Producer => "producer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// Returns the role of this name; `None` if no role has it. Names are case-sensitive.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Viewer, Self::Producer, Self::Operator, Self::Admin]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

/// The clients whose resources a caller may access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientScope {
    /// All clients, and resources that belong to no client.
    All,
    /// These clients only. The list is sorted, has no duplicates and is never empty.
    Only(Vec<String>),
}

impl ClientScope {
    /// Creates the scope of a key from its list of clients; an empty list means all clients.
    pub fn of(mut clients: Vec<String>) -> Self {
        clients.sort_unstable();
        clients.dedup();
        if clients.is_empty() { Self::All } else { Self::Only(clients) }
    }

    /// Whether the caller may access resources of this client. `None`: of no client, which only `All` covers.
    pub fn covers(&self, client: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Only(clients) => client.is_some_and(|client| clients.iter().any(|known| known == client)),
        }
    }

    /// The client of a new resource whose request names none; `None` unless the scope has exactly one client.
    pub fn default_client(&self) -> Option<String> {
        match self {
            Self::Only(clients) if clients.len() == 1 => clients.first().cloned(),
            _ => None,
        }
    }

    /// Returns a text that identifies the scope in the signature of a cursor.
    pub(crate) fn identity(&self) -> String {
        match self {
            Self::All => "*".to_owned(),
            Self::Only(clients) => clients.join("\n"),
        }
    }
}

/// The caller of an operation: an API key, or the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Id of the API key. Empty: the command line, whose user has access to the database anyway.
    pub key: String,
    pub name: String,
    pub role: Role,
    pub scope: ClientScope,
}

impl Actor {
    /// The actor of commands run at the command line: an admin of all clients.
    pub fn command_line() -> Self {
        Self {
            key: String::new(),
            name: "command line".to_owned(),
            role: Role::Admin,
            scope: ClientScope::All,
        }
    }

    /// Whether the actor may read a resource created by this key. A producer reads only what its own key created.
    pub(crate) fn may_read_created_by(&self, made_by: Option<&str>) -> bool {
        self.role != Role::Producer || made_by == Some(self.key.as_str())
    }

    pub(crate) fn key_id(&self) -> Option<String> {
        (!self.key.is_empty()).then(|| self.key.clone())
    }

    /// Returns the clients of a resource that this actor creates; without any, those of the actor's scope.
    pub(crate) fn clients_for(&self, clients: &[ClientId]) -> Result<Vec<String>, Error> {
        let clients: Vec<String> = clients.iter().map(|client| client.0.clone()).collect();
        match &self.scope {
            ClientScope::Only(own) if clients.is_empty() => Ok(own.clone()),
            scope if clients.iter().all(|client| scope.covers(Some(client))) => Ok(clients),
            _ => Err(Error::ClientNotAllowed("clientIds")),
        }
    }

    /// Returns the client of a resource that this actor creates, or an error if the actor may not act for it.
    pub(crate) fn client_for(&self, client: Option<String>) -> Result<Option<String>, Error> {
        let client = client.or_else(|| self.scope.default_client());
        if self.scope.covers(client.as_deref()) {
            return Ok(client);
        }
        match client {
            Some(_) => Err(Error::ClientNotAllowed("clientId")),
            None => Err(Error::invalid("clientId", "is missing: this API key has several clients")),
        }
    }
}
