//! Builds what stands between a mail lane and its transports: the combined sender and the suppression list.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use postrider_seams::{Suppressions, ThreadDice, Transport};
use postrider_sender::{Reliable, Sender, SuppressionFilter};
use postrider_sql::internal::suppressions::SuppressionList;
use postrider_transport_file::EmlFolder;

use super::transports::connect_transport;
use super::{ComposerKind, Database, TransportKind, Wiring, emails};
use crate::failure::Failure;
use crate::settings::{LaneSettings, ReliableSettings};

impl Wiring {
    /// Returns the lane's transport without connecting; a folder transport creates its folder.
    pub fn transport(&self, lane: &LaneSettings) -> Result<Arc<dyn Transport>, Failure> {
        let name = &lane.transport;
        let kind = ComposerKind::of(&lane.contract.stages[lane.stage].composer);
        if kind == Ok(ComposerKind::Eml) {
            let (base, folder) = (lane.emails.base.clone(), lane.emails.eml_folder());
            return Ok(Arc::new(EmlFolder::new(base.unwrap_or_default(), folder.unwrap_or_default())));
        }
        let transport = match &self.targets[name].reliable {
            Some(settings) => {
                let stage = &lane.contract.stages[lane.stage];
                self.reliable(name, settings, lane.limits.timeout)?
                    .for_lane(stage.lease.duration, stage.follows_retry_after())
            }
            None => self.single(name, lane.limits.timeout)?,
        };
        Ok(match kind {
            Ok(ComposerKind::Callback) => Arc::new(emails::RetryRejections(transport)),
            Ok(kind) if kind.makes_mails() => {
                Arc::new(SuppressionFilter::new(transport, self.suppressions(&lane.store), name))
            }
            _ => transport,
        })
    }

    /// Returns a transport by name; lanes and senders with the same target share its connections.
    fn single(&self, name: &str, timeout: Duration) -> Result<Arc<dyn Transport>, Failure> {
        let mut cached = self.transports.lock().unwrap_or_else(PoisonError::into_inner);
        let target = &self.targets[name];
        let key = (name.to_owned(), (target.kind == TransportKind::Kafka).then_some(timeout));
        if let Some(transport) = cached.get(&key) {
            return Ok(Arc::clone(transport));
        }
        let transport = connect_transport(target, &self.base, timeout)
            .map_err(|text| Failure::Failed(format!("transport `{name}`: {text}")))?;
        cached.insert(key, Arc::clone(&transport));
        Ok(transport)
    }

    /// Combines several senders; lanes share the state of each sender.
    fn reliable(
        &self,
        name: &str,
        settings: &ReliableSettings,
        timeout: Duration,
    ) -> Result<Arc<Reliable>, Failure> {
        let mut cached = self.reliables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reliable) = cached.get(name) {
            return Ok(Arc::clone(reliable));
        }
        let senders: Result<Vec<Sender>, Failure> = settings
            .senders
            .iter()
            .map(|sender| {
                let name = sender.value.clone();
                let rate = settings.rates.get(&name).copied();
                Ok(Sender { transport: self.single(&name, timeout)?, name, rate })
            })
            .collect();
        let reliable = Arc::new(Reliable::new(senders?, settings.plan.clone(), Arc::new(ThreadDice)));
        cached.insert(name.to_owned(), Arc::clone(&reliable));
        Ok(reliable)
    }

    /// Returns the suppression list of a store, which all its mail lanes check.
    pub fn suppressions(&self, store: &str) -> Arc<dyn Suppressions> {
        match self.databases.get(store).expect("the settings were looked up: every lane's store is there") {
            Database::Postgres(database) => Arc::new(SuppressionList((**database).clone())),
            Database::Mysql(database) => Arc::new(SuppressionList(database.clone())),
            Database::Sqlite(database) => Arc::new(SuppressionList(database.clone())),
            #[cfg(feature = "aws")]
            Database::DynamoDb(database) => Arc::new(database.suppressions(self.suppression_table(store))),
        }
    }

    /// The table of the list: DynamoDB has only the tables of contracts, so the list is in the first lane's.
    #[cfg(feature = "aws")]
    fn suppression_table(&self, store: &str) -> String {
        self.tables.get(store).cloned().unwrap_or_default()
    }
}
