//! Rechecks account and subscription of a composed request right before it is sent (rules J10, J14).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::Failure;
use postrider_seams::recheck::Revalidate;
use tokio::time::Instant;

use super::batched_lookups::{BatchedLookups, GoneReceiver};
use super::directory::{Account, DirectoryUnavailable, LookupResult};
use super::{UNAVAILABLE_DELAY, paused};

pub(super) struct WebhookRecheck {
    lookups: Arc<BatchedLookups>,
    account: Option<(String, Option<Account>)>,
    subscription: Option<String>,
    /// Time at which the data was requested from which the row was composed.
    since: Instant,
}

/// Age up to which that data is used without a recheck.
const RECHECK_AFTER: Duration = Duration::from_millis(20);

impl WebhookRecheck {
    /// Creates the recheck of a row; `None` if the row names neither account nor subscription. `since` is a time before
    /// the look-up that returned `found`.
    pub fn for_row(
        lookups: &Arc<BatchedLookups>,
        account: Option<String>,
        subscription: Option<String>,
        found: &LookupResult,
        since: Instant,
    ) -> Option<Arc<dyn Revalidate>> {
        if account.is_none() && subscription.is_none() {
            return None;
        }
        let account = account.map(|id| {
            let known = found.accounts.get(&id).cloned();
            (id, known)
        });
        Some(Arc::new(Self { lookups: Arc::clone(lookups), account, subscription, since }))
    }
}

#[async_trait]
impl Revalidate for WebhookRecheck {
    async fn revalidate(&self) -> Result<(), Failure> {
        let subscription = self.subscription.as_deref();
        let gone = subscription.and_then(|id| self.lookups.is_gone(id).map(|gone| (id, gone)));
        match gone {
            Some((id, GoneReceiver::Pausing)) => return Err(paused(id)),
            Some((_, GoneReceiver::PausedAt(_))) => {}
            None if self.since.elapsed() >= RECHECK_AFTER => {}
            None => return Ok(()),
        }
        let id = self.account.as_ref().map(|(id, _)| id.as_str());
        let found = self.lookups.look_up(id, subscription).await;
        let found = found.map_err(|DirectoryUnavailable(reason)| Failure {
            after: Some(UNAVAILABLE_DELAY),
            ..Failure::new(reason)
        })?;
        if let Some(id) =
            subscription.filter(|id| found.subscriptions.get(*id).is_some_and(|known| known.paused))
        {
            return Err(paused(id));
        }
        match &self.account {
            Some((id, known)) if found.accounts.get(id) != known.as_ref() => {
                let reason = format!("service account {id} changed while the request waited; not tried");
                Err(Failure { after: Some(Duration::ZERO), ..Failure::new(reason) })
            }
            _ => Ok(()),
        }
    }

    async fn record_receiver_gone(&self) {
        if let Some(subscription) = &self.subscription {
            self.lookups.pause(subscription).await;
        }
    }
}
