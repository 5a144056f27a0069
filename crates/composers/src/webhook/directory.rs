//! The directory of accounts and subscriptions that rows name. The hub stores them; the composer only reads them.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;

/// The authentication method of a request, with the reference of its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    Bearer(String),
    /// `user:password`, in plain text or in base64.
    Basic(String),
}

/// The part of a service account that deliveries need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    pub active: bool,
    /// Clients whose rows may use the account; empty: all clients.
    pub clients: Vec<String>,
    /// Hosts to which its credentials may be sent; see [`postrider_seams::hosts`].
    pub hosts: Vec<String>,
    pub auth: Option<Auth>,
    /// References of the signing secrets, the newest first; two during a rotation.
    pub signing: Vec<String>,
}

/// The part of a subscription that deliveries need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Subscription {
    /// The receiver may answer `{"ack":false,"delaySeconds":n}`.
    pub may_postpone: bool,
    /// Whether its jobs wait until an operator resumes it.
    pub paused: bool,
}

/// The error that the directory is unavailable, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DirectoryUnavailable(pub String);

/// The account and subscription ids of one query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LookupRequest {
    pub accounts: BTreeSet<String>,
    pub subscriptions: BTreeSet<String>,
}

/// The accounts and subscriptions of one query, by id; unknown ids are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LookupResult {
    pub accounts: HashMap<String, Account>,
    pub subscriptions: HashMap<String, Subscription>,
}

/// Looks up accounts and subscriptions, and pauses subscriptions.
#[async_trait]
pub trait Directory: Send + Sync {
    /// Returns the accounts and subscriptions of these ids, read after the call: a change takes effect with the next
    /// delivery. May also record when an account was last used.
    async fn look_up(&self, asked: &LookupRequest) -> Result<LookupResult, DirectoryUnavailable>;

    /// Pauses a subscription whose receiver is permanently gone. Idempotent.
    async fn pause_subscription(&self, subscription: &str) -> Result<(), DirectoryUnavailable>;
}

/// An empty directory, for tables that are used without the hub.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDirectory;

#[async_trait]
impl Directory for NoDirectory {
    async fn look_up(&self, _asked: &LookupRequest) -> Result<LookupResult, DirectoryUnavailable> {
        Ok(LookupResult::default())
    }

    async fn pause_subscription(&self, _subscription: &str) -> Result<(), DirectoryUnavailable> {
        Ok(())
    }
}
