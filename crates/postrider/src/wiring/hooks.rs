//! What webhook lanes ask of the hub, which keeps accounts and subscriptions: whose credentials a job carries, whether its
//! subscription is paused, and that it is when its receiver is gone.
//!
//! Invariant: nothing is guessed. Where the hub can't be asked, the jobs that need it wait.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_composers::webhook::{Account, Auth, Away, Directory, Subscription};
use postrider_http::Guard;
use postrider_hub::account::WebhookAuthType;
use postrider_hub::{Hub, Seal};
use postrider_seams::store::Error;
use postrider_seams::{Content, Envelope, Outcome, Transport, transport};
use postrider_secrets::Safe;
use postrider_sql::plain::Plain;
use postrider_transport_webhook::Settings;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::Wiring;
use crate::settings::LaneSettings;

/// Why a subscription pauses by itself (rule J5).
const GONE: &str = "its receiver answered 410: it is gone for good";

/// The hub of a lane's store, opened when it is first asked.
pub struct Ledger {
    database: Arc<dyn Plain>,
    hub: OnceCell<Hub>,
}

impl Ledger {
    pub fn new(database: Arc<dyn Plain>) -> Self {
        Self { database, hub: OnceCell::new() }
    }

    async fn hub(&self) -> Result<&Hub, postrider_hub::Error> {
        let open = || Hub::open(Arc::clone(&self.database), postrider_hub::Settings::default(), None);
        self.hub.get_or_try_init(open).await
    }
}

fn away(error: &postrider_hub::Error) -> Away {
    Away(format!("the tables of the API can't be read (is there a `postrider migrate` to run?): {error}"))
}

#[async_trait]
impl Directory for Ledger {
    async fn account(&self, id: &str) -> Result<Option<Account>, Away> {
        let hub = self.hub().await.map_err(|error| away(&error))?;
        let found = hub.credentials(id).await.map_err(|error| away(&error))?;
        Ok(found.map(|found| Account {
            active: found.active,
            clients: found.clients,
            auth: found.auth.map(|(kind, reference)| match kind {
                WebhookAuthType::Bearer => Auth::Bearer(reference),
                WebhookAuthType::Basic => Auth::Basic(reference),
            }),
            signing: found.signing,
        }))
    }

    async fn subscription(&self, id: &str) -> Result<Option<Subscription>, Away> {
        let hub = self.hub().await.map_err(|error| away(&error))?;
        let found = hub.standing(id).await.map_err(|error| away(&error))?;
        Ok(found.map(|found| Subscription { may_postpone: found.honours_ack, paused: found.paused }))
    }
}

/// Pauses the subscription of a receiver that is gone, before its other jobs come to the same end.
pub struct Minding {
    inner: Arc<dyn Transport>,
    ledger: Arc<Ledger>,
}

impl Minding {
    pub fn new(inner: Arc<dyn Transport>, ledger: Arc<Ledger>) -> Self {
        Self { inner, ledger }
    }

    async fn mind(&self, envelope: &Envelope, outcome: &Outcome) {
        let gone = outcome.failure().is_some_and(|failure| failure.detail.contains_key("gone"));
        let Content::Webhook(webhook) = &envelope.content else { return };
        let Some(subscription) = webhook.subscription.as_deref().filter(|_| gone) else { return };
        let paused = match self.ledger.hub().await {
            Ok(hub) => hub.pause_for(subscription, GONE).await,
            Err(error) => Err(error),
        };
        match paused {
            Ok(()) => tracing::warn!(subscription, "paused: {GONE}"),
            Err(error) => {
                tracing::error!(subscription, %error, "{GONE}, but its subscription can't be paused");
            }
        }
    }
}

#[async_trait]
impl Transport for Minding {
    fn capabilities(&self) -> transport::Capabilities {
        self.inner.capabilities()
    }

    fn hold(&self, envelope: &Envelope) -> Option<transport::Hold> {
        self.inner.hold(envelope)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let outcomes = self.inner.deliver(batch, deadline).await;
        for (envelope, outcome) in batch.iter().zip(&outcomes) {
            self.mind(envelope, outcome).await;
        }
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.inner.probe().await
    }
}

/// Seals what the API makes.
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
    /// One for each store: its lanes share it.
    pub fn ledger(&self, store: &str) -> Result<Arc<Ledger>, Error> {
        let mut known = self.ledgers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(ledger) = known.get(store) {
            return Ok(Arc::clone(ledger));
        }
        let ledger = Arc::new(Ledger::new(self.own_tables(store)?));
        known.insert(store.to_owned(), Arc::clone(&ledger));
        Ok(ledger)
    }

    /// Where the jobs of this lane may be sent: what its transport would refuse need not be taken.
    pub fn guard(&self, lane: Option<&LaneSettings>) -> Guard {
        let target = lane.and_then(|lane| self.targets.get(&lane.transport));
        let settings = target.map(|target| Settings::from_url(target.url.reveal(), &target.beside()));
        settings.and_then(Result::ok).map(|settings| settings.guard).unwrap_or_default()
    }
}
