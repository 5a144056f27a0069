//! Connects webhook lanes to the hub, which holds accounts and subscriptions: reads the credentials of a job and
//! whether its subscription is paused, and pauses a subscription whose receiver is gone.
//!
//! Invariant: nothing is assumed. While the hub is unavailable, the jobs that need it wait.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_composers::webhook::{Account, Asked, Auth, Away, Directory, Found, Subscription};
use postrider_http::Guard;
use postrider_hub::account::WebhookAuthType;
use postrider_hub::{Credentials, Hub, Seal, Standing};
use postrider_seams::store::Error;
use postrider_secrets::Safe;
use postrider_sql::plain::Plain;
use postrider_transport_webhook::Settings;
use tokio::sync::OnceCell;

use super::Wiring;
use crate::settings::LaneSettings;

/// The reason recorded when a subscription is paused automatically (rule J5).
const GONE: &str = "its receiver answered 410 Gone";

/// The hub of a lane's store, opened at first use.
pub struct Ledger {
    database: Arc<dyn Plain>,
    hub: OnceCell<Hub>,
}

impl Ledger {
    /// Wraps the database; the hub is not opened yet.
    pub fn new(database: Arc<dyn Plain>) -> Self {
        Self { database, hub: OnceCell::new() }
    }

    async fn hub(&self) -> Result<&Hub, postrider_hub::Error> {
        let open = || Hub::open(Arc::clone(&self.database), postrider_hub::Settings::default(), None);
        self.hub.get_or_try_init(open).await
    }
}

fn away(error: &postrider_hub::Error) -> Away {
    Away(format!("cannot read the tables of the API (run `postrider migrate` if they are missing): {error}"))
}

#[async_trait]
impl Directory for Ledger {
    async fn look_up(&self, asked: &Asked) -> Result<Found, Away> {
        let hub = self.hub().await.map_err(|error| away(&error))?;
        let named = hub.named(&asked.accounts, &asked.subscriptions).await.map_err(|error| away(&error))?;
        let account = |found: Credentials| Account {
            active: found.active,
            clients: found.clients,
            hosts: found.hosts,
            auth: found.auth.and_then(|(kind, reference)| match kind {
                WebhookAuthType::Bearer => Some(Auth::Bearer(reference)),
                WebhookAuthType::Basic => Some(Auth::Basic(reference)),
                // An account of an unknown type is not active.
                WebhookAuthType::Unknown => None,
            }),
            signing: found.signing,
        };
        let subscription =
            |found: Standing| Subscription { may_postpone: found.honours_ack, paused: found.paused };
        Ok(Found {
            accounts: named.accounts.into_iter().map(|(id, found)| (id, account(found))).collect(),
            subscriptions: named
                .subscriptions
                .into_iter()
                .map(|(id, found)| (id, subscription(found)))
                .collect(),
        })
    }

    async fn gone(&self, subscription: &str) -> Result<(), Away> {
        let paused = match self.hub().await {
            Ok(hub) => hub.pause_for(subscription, GONE).await,
            Err(error) => Err(error),
        };
        match paused {
            Ok(()) => {
                tracing::warn!(subscription, "paused: {GONE}");
                Ok(())
            }
            Err(error) => {
                tracing::error!(subscription, %error, "{GONE}, but its subscription could not be paused");
                Err(away(&error))
            }
        }
    }
}

/// Encrypts the secrets that the API creates.
pub struct Sealer(pub Arc<Safe>);

impl Seal for Sealer {
    fn seal(&self, secret: &str) -> Result<String, String> {
        self.0.seal(secret)
    }

    fn seal_anew(&self, reference: &str) -> Result<Option<String>, String> {
        self.0.seal_anew(reference)
    }
}

impl Wiring {
    /// Returns the ledger of a store, which all its lanes share.
    pub fn ledger(&self, store: &str) -> Result<Arc<Ledger>, Error> {
        let mut known = self.ledgers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(ledger) = known.get(store) {
            return Ok(Arc::clone(ledger));
        }
        let ledger = Arc::new(Ledger::new(self.own_tables(store)?));
        known.insert(store.to_owned(), Arc::clone(&ledger));
        Ok(ledger)
    }

    /// The addresses to which this lane may send, so that the API refuses jobs that the transport would refuse.
    pub fn guard(&self, lane: Option<&LaneSettings>) -> Guard {
        let target = lane.and_then(|lane| self.targets.get(&lane.transport));
        let settings = target.map(|target| Settings::from_url(target.url.reveal(), &target.beside()));
        settings.and_then(Result::ok).map(|settings| settings.guard).unwrap_or_default()
    }
}
