//! Who is who: the accounts and subscriptions that rows name. The hub keeps them; composing only asks.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;

/// How a request proves whom it comes from; each holds the reference of its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    Bearer(String),
    /// `user:password`, or that in base64.
    Basic(String),
}

/// A service account, as far as deliveries need it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    pub active: bool,
    /// The clients whose rows may use it; empty: all.
    pub clients: Vec<String>,
    /// Hosts that its credentials may go to; see [`postrider_seams::hosts`].
    pub hosts: Vec<String>,
    pub auth: Option<Auth>,
    /// References of the signing secrets, the newest first: two while one takes over from the other.
    pub signing: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Subscription {
    /// The receiver may answer `{"ack":false,"delaySeconds":n}`.
    pub may_postpone: bool,
    /// Its jobs wait until somebody resumes it.
    pub paused: bool,
}

/// The directory can't be asked now; says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Away(pub String);

/// Ids of accounts and subscriptions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    pub accounts: BTreeSet<String>,
    pub subscriptions: BTreeSet<String>,
}

/// What the ids stand for; those of nobody are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    pub accounts: HashMap<String, Account>,
    pub subscriptions: HashMap<String, Subscription>,
}

#[async_trait]
pub trait Directory: Send + Sync {
    /// What these ids stand for now, read after the call: a changed account counts from its next delivery on. Also the
    /// moment to note when an account was last used.
    async fn look_up(&self, asked: &Asked) -> Result<Found, Away>;

    /// Pauses a subscription whose receiver is gone for good. Idempotent.
    async fn gone(&self, subscription: &str) -> Result<(), Away>;
}

/// Nobody is known: for tables that stand alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDirectory;

#[async_trait]
impl Directory for NoDirectory {
    async fn look_up(&self, _asked: &Asked) -> Result<Found, Away> {
        Ok(Found::default())
    }

    async fn gone(&self, _subscription: &str) -> Result<(), Away> {
        Ok(())
    }
}
