//! Connects webhook lanes to the hub, which holds accounts and subscriptions: reads the credentials of a job and
//! whether its subscription is paused, and pauses a subscription whose receiver is gone.
//!
//! Invariant: nothing is assumed. While the hub is unavailable, the jobs that need it wait.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_composers::webhook::{
    Account, Auth, Directory, DirectoryUnavailable, LookupRequest, LookupResult, Subscription,
};
use postrider_http::Guard;
use postrider_hub::account::WebhookAuthType;
use postrider_hub::{Credentials, EncryptSecret, Hub, SubscriptionState};
use postrider_seams::store::Error;
use postrider_secrets::SecretResolver;
use postrider_sql::driver::execute::Execute;
use postrider_transport_webhook::Settings;
use tokio::sync::OnceCell;

use super::Wiring;
use crate::settings::LaneSettings;

/// The reason recorded when a subscription is paused automatically (rule J5).
const GONE: &str = "its receiver answered 410 Gone";

/// The hub of a lane's store, opened at first use.
pub struct HubDirectory {
    database: Arc<dyn Execute>,
    hub: OnceCell<Hub>,
}

impl HubDirectory {
    /// Wraps the database; the hub is not opened yet.
    pub fn new(database: Arc<dyn Execute>) -> Self {
        Self { database, hub: OnceCell::new() }
    }

    async fn hub(&self) -> Result<&Hub, postrider_hub::Error> {
        let open = || Hub::open(Arc::clone(&self.database), postrider_hub::Settings::default(), None);
        self.hub.get_or_try_init(open).await
    }
}

fn unavailable(error: &postrider_hub::Error) -> DirectoryUnavailable {
    DirectoryUnavailable(format!(
        "cannot read the tables of the API (run `postrider migrate` if they are missing): {error}"
    ))
}

#[async_trait]
impl Directory for HubDirectory {
    async fn look_up(&self, asked: &LookupRequest) -> Result<LookupResult, DirectoryUnavailable> {
        let hub = self.hub().await.map_err(|error| unavailable(&error))?;
        let named = hub
            .delivery_data(&asked.accounts, &asked.subscriptions)
            .await
            .map_err(|error| unavailable(&error))?;
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
            |found: SubscriptionState| Subscription { may_postpone: found.honours_ack, paused: found.paused };
        Ok(LookupResult {
            accounts: named.accounts.into_iter().map(|(id, found)| (id, account(found))).collect(),
            subscriptions: named
                .subscriptions
                .into_iter()
                .map(|(id, found)| (id, subscription(found)))
                .collect(),
        })
    }

    async fn pause_subscription(&self, subscription: &str) -> Result<(), DirectoryUnavailable> {
        let paused = match self.hub().await {
            Ok(hub) => hub.pause_gone_subscription(subscription, GONE).await,
            Err(error) => Err(error),
        };
        match paused {
            Ok(()) => {
                tracing::warn!(subscription, "paused: {GONE}");
                Ok(())
            }
            Err(error) => {
                tracing::error!(subscription, %error, "{GONE}, but its subscription could not be paused");
                Err(unavailable(&error))
            }
        }
    }
}

/// Encrypts the secrets that the API creates.
pub struct SecretEncryptor(pub Arc<SecretResolver>);

impl EncryptSecret for SecretEncryptor {
    fn encrypt(&self, secret: &str) -> Result<String, String> {
        self.0.encrypt(secret)
    }

    fn reencrypt(&self, reference: &str) -> Result<Option<String>, String> {
        self.0.reencrypt(reference)
    }
}

impl Wiring {
    /// Returns the directory of the hub of a store, which all its lanes share.
    pub fn directory(&self, store: &str) -> Result<Arc<HubDirectory>, Error> {
        let mut cached = self.directories.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(directory) = cached.get(store) {
            return Ok(Arc::clone(directory));
        }
        let directory = Arc::new(HubDirectory::new(self.internal_tables(store)?));
        cached.insert(store.to_owned(), Arc::clone(&directory));
        Ok(directory)
    }

    /// The addresses to which this lane may send, so that the API refuses jobs that the transport would refuse.
    pub fn guard(&self, lane: Option<&LaneSettings>) -> Guard {
        let target = lane.and_then(|lane| self.targets.get(&lane.transport));
        let settings = target.map(|target| Settings::from_url(target.url.reveal(), &target.options()));
        settings.and_then(Result::ok).map(|settings| settings.guard).unwrap_or_default()
    }
}
