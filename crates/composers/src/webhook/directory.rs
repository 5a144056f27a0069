//! Who is who: the accounts and subscriptions that rows name. The hub keeps them; composing only asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

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

/// Answers who an id stands for; `None` for nobody. While rows use an account it is asked for it every few seconds,
/// which is the moment to note when it was last used.
#[async_trait]
pub trait Directory: Send + Sync {
    async fn account(&self, id: &str) -> Result<Option<Account>, Away>;
    async fn subscription(&self, id: &str) -> Result<Option<Subscription>, Away>;
}

/// Nobody is known: for tables that stand alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDirectory;

#[async_trait]
impl Directory for NoDirectory {
    async fn account(&self, _id: &str) -> Result<Option<Account>, Away> {
        Ok(None)
    }

    async fn subscription(&self, _id: &str) -> Result<Option<Subscription>, Away> {
        Ok(None)
    }
}

#[async_trait]
impl<D: Directory + ?Sized> Directory for Arc<D> {
    async fn account(&self, id: &str) -> Result<Option<Account>, Away> {
        (**self).account(id).await
    }

    async fn subscription(&self, id: &str) -> Result<Option<Subscription>, Away> {
        (**self).subscription(id).await
    }
}

/// A fixed list.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    pub accounts: HashMap<String, Account>,
    pub subscriptions: HashMap<String, Subscription>,
}

#[async_trait]
impl Directory for Listed {
    async fn account(&self, id: &str) -> Result<Option<Account>, Away> {
        Ok(self.accounts.get(id).cloned())
    }

    async fn subscription(&self, id: &str) -> Result<Option<Subscription>, Away> {
        Ok(self.subscriptions.get(id).copied())
    }
}

/// How long an answer is used again: changes apply within seconds, and a full lane asks once, not once a row.
const FRESH: Duration = Duration::from_secs(3);
/// Answers that are kept.
const KEPT: usize = 10_000;

/// Remembers answers for a few seconds.
pub struct Recent<D> {
    inner: D,
    accounts: Answers<Option<Account>>,
    subscriptions: Answers<Option<Subscription>>,
}

type Answers<T> = Mutex<HashMap<Arc<str>, (Instant, T)>>;

impl<D: Directory> Recent<D> {
    pub fn new(inner: D) -> Self {
        Self { inner, accounts: Mutex::default(), subscriptions: Mutex::default() }
    }
}

fn recent<T: Clone>(answers: &Answers<T>, id: &str) -> Option<T> {
    let answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    answers.get(id).filter(|(since, _)| since.elapsed() < FRESH).map(|(_, answer)| answer.clone())
}

fn remember<T>(answers: &Answers<T>, id: &str, answer: T) {
    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    if answers.len() >= KEPT {
        answers.retain(|_, (since, _)| since.elapsed() < FRESH);
    }
    if answers.len() < KEPT {
        answers.insert(id.into(), (Instant::now(), answer));
    }
}

#[async_trait]
impl<D: Directory> Directory for Recent<D> {
    async fn account(&self, id: &str) -> Result<Option<Account>, Away> {
        if let Some(answer) = recent(&self.accounts, id) {
            return Ok(answer);
        }
        let answer = self.inner.account(id).await?;
        remember(&self.accounts, id, answer.clone());
        Ok(answer)
    }

    async fn subscription(&self, id: &str) -> Result<Option<Subscription>, Away> {
        if let Some(answer) = recent(&self.subscriptions, id) {
            return Ok(answer);
        }
        let answer = self.inner.subscription(id).await?;
        remember(&self.subscriptions, id, answer);
        Ok(answer)
    }
}
