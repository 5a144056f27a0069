//! Rows whose delivery has begun, and what becomes of rows whose worker is gone. The list of each worker, and the crashes of
//! each row, are records of our own beside the e-mails, as locks are.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_contract::{CRASHED, Crash, LEASE_EXPIRED, Transition};
use postrider_rows::{crash, lease_end};
use postrider_seams::store::{Error, Held, Reclaimed};
use postrider_seams::{Claimed, Lease, RowId, Value};

use crate::ask::{BRIEFLY, patiently};
use crate::error::classify;
use crate::layout::{ID, STATUS};
use crate::locks::OURS;
use crate::record::Record;
use crate::statement::text;
use crate::store::DynamoStore;

const LEASES: &str = "Leases";
const CRASHES: &str = "Crashes";
const AT: &str = "At";

/// The list of a worker that wrote nothing for so long concerns no row that is claimed now.
const FORGOTTEN: i64 = 24 * 3600 * 1_000_000;

fn mark(id: &str, fence: Option<&str>) -> String {
    format!("{id} {}", fence.unwrap_or_default())
}

impl DynamoStore {
    /// From now on exactly these are begun; answers which of the first still hold their lease.
    pub(crate) async fn begin_records(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<Held>, Error> {
        let fence = |lease: &Lease| lease.fence.first().and_then(Value::as_text).map(str::to_owned);
        let marks: Vec<String> = begun
            .iter()
            .chain(others)
            .map(|lease| mark(&lease.id.to_string(), fence(lease).as_deref()))
            .collect();
        let standing = begun.iter().map(|lease| self.is_standing(lease)).collect();
        let (written, standing) =
            tokio::join!(biased; self.write_marks(marks), self.database.several(standing));
        written?;
        let held = |is_held: bool| if is_held { Held::Held } else { Held::Lost };
        standing.into_iter().map(|standing| standing.map(held)).collect()
    }

    /// As it is now: what a claim left in memory does not tell.
    async fn is_standing(&self, lease: &Lease) -> Result<bool, Error> {
        let RowId::Text(id) = &lease.id else { return Ok(false) };
        self.held.forget(id);
        let Some(record) = self.leased(lease).await? else { return Ok(false) };
        let end = lease_end(&self.contract, self.stage(), &record.row);
        let stands = end.is_some_and(|end| end >= self.database.clock.now());
        self.held.keep(record);
        Ok(stands)
    }

    fn list_of(&self, worker: &str) -> String {
        format!("{}{worker}", self.lists())
    }

    fn lists(&self) -> String {
        format!("begun:{}:", self.stage().name)
    }

    fn counts(&self) -> String {
        format!("crashes:{}:", self.stage().name)
    }

    async fn write_marks(&self, marks: Vec<String>) -> Result<(), Error> {
        let place = self.database.settings.place();
        let status = self.list_of(&self.marks);
        if marks.is_empty() {
            return self.remove_own(&status).await;
        }
        let list = AttributeValue::L(marks.into_iter().map(AttributeValue::S).collect());
        patiently(BRIEFLY, || async {
            let asked = self.database.client().await.put_item().table_name(&self.target.table);
            let now = AttributeValue::N(self.database.clock.now().to_string());
            let asked = asked.item(ID, text(OURS)).item(STATUS, text(&status)).item(AT, now);
            let sent = asked.item(LEASES, list.clone()).send().await;
            sent.map(|_| ()).map_err(|cause| classify(&place, "mark rows as begun", cause))
        })
        .await
    }

    async fn remove_own(&self, status: &str) -> Result<(), Error> {
        let place = self.database.settings.place();
        patiently(BRIEFLY, || async {
            let asked = self.database.client().await.delete_item().table_name(&self.target.table);
            let sent = asked.key(ID, text(OURS)).key(STATUS, text(status)).send().await;
            sent.map(|_| ()).map_err(|cause| classify(&place, "remove a mark", cause))
        })
        .await
    }

    /// Our own records whose `Status` begins so, by the rest of it.
    async fn own_records(
        &self,
        begins: &str,
    ) -> Result<HashMap<String, HashMap<String, AttributeValue>>, Error> {
        let place = self.database.settings.place();
        let mut found = HashMap::new();
        let mut start = None;
        loop {
            let page = patiently(BRIEFLY, || async {
                let asked = self.database.client().await.query().table_name(&self.target.table);
                let asked = asked
                    .key_condition_expression("#id = :ours AND begins_with(#status, :begins)")
                    .expression_attribute_names("#id", ID)
                    .expression_attribute_names("#status", STATUS)
                    .expression_attribute_values(":ours", text(OURS))
                    .expression_attribute_values(":begins", text(begins))
                    .consistent_read(true)
                    .set_exclusive_start_key(start.clone());
                asked.send().await.map_err(|cause| classify(&place, "read our own records", cause))
            })
            .await?;
            for item in page.items.unwrap_or_default() {
                if let Some(Ok(status)) = item.get(STATUS).map(AttributeValue::as_s) {
                    found.insert(status.trim_start_matches(begins).to_owned(), item);
                }
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    async fn begun(&self) -> Result<HashSet<String>, Error> {
        let now = self.database.clock.now();
        let mut begun = HashSet::new();
        for (worker, item) in self.own_records(&self.lists()).await? {
            let at = item.get(AT).and_then(|at| at.as_n().ok()?.parse::<i64>().ok()).unwrap_or(0);
            if at < now - FORGOTTEN {
                self.remove_own(&self.list_of(&worker)).await?;
                continue;
            }
            let marks = item.get(LEASES).and_then(|list| list.as_l().ok()).into_iter().flatten();
            begun.extend(marks.filter_map(|mark| mark.as_s().ok().cloned()));
        }
        Ok(begun)
    }

    async fn crashes(&self) -> Result<HashMap<String, u32>, Error> {
        let records = self.own_records(&self.counts()).await?;
        let count = |item: &HashMap<String, AttributeValue>| item.get(CRASHES)?.as_n().ok()?.parse().ok();
        Ok(records.into_iter().filter_map(|(id, item)| Some((id, count(&item)?))).collect())
    }

    /// The rows are claimed by now: where their crashes can't be read they go as if there were none.
    pub(crate) async fn note_crashes(&self, claimed: &mut [Claimed]) {
        if claimed.is_empty() {
            return;
        }
        match self.crashes().await {
            Ok(crashes) => {
                for row in claimed {
                    row.crashes = crashes.get(&row.lease.id.to_string()).copied().unwrap_or(0);
                    if row.crashes > 0 {
                        self.crashed().insert(row.lease.id.to_string());
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "it is not known which of the claimed rows have crashed"),
        }
    }

    /// A delivery that was completed clears the row's crashes.
    pub(crate) async fn forgive(&self, id: &str, transition: Transition) -> Result<(), Error> {
        let known = self.crashed().remove(id);
        if known && transition.ends_a_try() {
            return self.remove_own(&format!("{}{id}", self.counts())).await;
        }
        Ok(())
    }

    async fn count_crash(&self, id: &str) -> Result<(), Error> {
        let place = self.database.settings.place();
        patiently(BRIEFLY, || async {
            let asked = self.database.client().await.update_item().table_name(&self.target.table);
            let asked = asked
                .key(ID, text(OURS))
                .key(STATUS, text(format!("{}{id}", self.counts())))
                .update_expression("ADD #crashes :one")
                .expression_attribute_names("#crashes", CRASHES)
                .expression_attribute_values(":one", AttributeValue::N("1".to_owned()));
            asked.send().await.map(|_| ()).map_err(|cause| classify(&place, "count a crash", cause))
        })
        .await
    }

    pub(crate) async fn reclaim_records(&self, limit: usize) -> Result<Reclaimed, Error> {
        let (contract, stage) = (&self.contract, self.stage());
        let now = self.database.clock.now();
        // A claim without a time that can be read would be held for ever.
        let expired = |record: &Record| lease_end(contract, stage, &record.row).is_none_or(|end| end < now);
        let found = self.choose("reclaim", &self.claimed_states(), limit, expired).await?;
        let mut reclaimed = Reclaimed::default();
        if found.is_empty() {
            return Ok(reclaimed);
        }
        let (begun, crashes) = (self.begun().await?, self.crashes().await?);
        for record in &found {
            let one = std::slice::from_ref(record);
            if !begun.contains(&mark(&record.id, record.fence())) {
                let back = contract.lease_move(stage, Transition::Released);
                reclaimed.free += self.make_each(one, &back, None).await?;
                continue;
            }
            let crashed = crashes.get(&record.id).copied().unwrap_or(0);
            let (made, dead) = match crash(contract, stage, &record.row, crashed) {
                Crash::Charged => {
                    let back = contract.reclaim_move(stage, stage.retry);
                    (self.make_each(one, &back, Some(LEASE_EXPIRED)).await?, false)
                }
                Crash::Spared => {
                    let back = contract.lease_move(stage, Transition::Released);
                    (self.make_each(one, &back, None).await?, false)
                }
                Crash::Dead => {
                    let dead = contract.reclaim_move(stage, stage.dead);
                    (self.make_each(one, &dead, Some(CRASHED)).await?, true)
                }
            };
            if made == 0 {
                continue;
            }
            if dead {
                reclaimed.dead += 1;
                self.remove_own(&format!("{}{}", self.counts(), record.id)).await?;
            } else {
                reclaimed.retried += 1;
                self.count_crash(&record.id).await?;
            }
        }
        Ok(reclaimed)
    }
}
