//! Records which rows' delivery has begun, and reclaims rows whose worker is gone. The list of each worker and the
//! crashes of each row are internal records beside the e-mails, like locks.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_contract::{CRASHED, Crash, LEASE_EXPIRED, Transition};
use postrider_rows::{crash, lease_end};
use postrider_seams::row::Detail;
use postrider_seams::store::{Error, Held, Reclaimed};
use postrider_seams::{Claimed, Lease, RowId, Value};

use crate::ask::{BRIEFLY, Item, patiently};
use crate::error::classify;
use crate::layout::{ID, STATUS};
use crate::locks::OURS;
use crate::record::Record;
use crate::statement::text;
use crate::store::DynamoStore;

const LEASES: &str = "Leases";
const CRASHES: &str = "Crashes";
const AT: &str = "At";

/// Microseconds after which the list of a worker that wrote nothing is ignored: it cannot concern a row that is claimed
/// now.
const FORGOTTEN: i64 = 24 * 3600 * 1_000_000;

/// Seconds after its last crash at which DynamoDB deletes the crash count of a row.
const REMEMBERED: i64 = 30 * 24 * 3600;

/// Consecutive crashes of one row, and the time of the last one.
#[derive(Debug, Clone, Copy)]
struct Crashes {
    count: u32,
    at: i64,
}

fn number(item: &Item, name: &str) -> Option<i64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

fn mark(id: &str, fence: Option<&str>) -> String {
    format!("{id} {}", fence.unwrap_or_default())
}

impl DynamoStore {
    /// Replaces the list of begun rows by these; returns which of `begun` still hold their lease.
    pub(crate) async fn begin_records(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<Held>, Error> {
        let fence = |lease: &Lease| lease.fence.first().and_then(Value::as_text).map(str::to_owned);
        let mark = |lease: &Lease| mark(&lease.id.to_string(), fence(lease).as_deref());
        let marks: Vec<String> = begun.iter().chain(others).map(mark).collect();
        let standing = begun.iter().map(|lease| self.is_standing(lease)).collect();
        let (written, standing) =
            tokio::join!(biased; self.write_marks(marks), self.database.several(standing));
        written?;
        let standing = standing.into_iter().collect::<Result<Vec<bool>, Error>>()?;
        if standing.contains(&false) {
            // Rows that lost their lease are not sent, so a crash must not be charged to them.
            let held = begun.iter().zip(&standing).filter(|(_, is_held)| **is_held).map(|(lease, _)| lease);
            self.write_marks(held.chain(others).map(mark).collect()).await?;
        }
        let held = |is_held: bool| if is_held { Held::Held } else { Held::Lost };
        Ok(standing.into_iter().map(held).collect())
    }

    /// Whether the lease still holds, read from the table because the copy in memory may be out of date.
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

    /// Returns the internal records whose `Status` begins with `begins`, by the rest of it.
    async fn own_records(&self, begins: &str) -> Result<HashMap<String, Item>, Error> {
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
            if number(&item, AT).unwrap_or(0) < now - FORGOTTEN {
                self.remove_own(&self.list_of(&worker)).await?;
                continue;
            }
            let marks = item.get(LEASES).and_then(|list| list.as_l().ok()).into_iter().flatten();
            begun.extend(marks.filter_map(|mark| mark.as_s().ok().cloned()));
        }
        Ok(begun)
    }

    async fn crashes(&self) -> Result<HashMap<String, Crashes>, Error> {
        let records = self.own_records(&self.counts()).await?;
        let read = |item: &Item| Crashes {
            count: number(item, CRASHES).and_then(|count| u32::try_from(count).ok()).unwrap_or(0),
            at: number(item, AT).unwrap_or(0),
        };
        Ok(records.into_iter().map(|(id, item)| (id, read(&item))).collect())
    }

    /// Sets the crash counts of claimed rows. If the counts cannot be read, the rows are delivered as if they were
    /// zero.
    pub(crate) async fn note_crashes(&self, claimed: &mut [Claimed]) {
        if claimed.is_empty() {
            return;
        }
        match self.crashes().await {
            Ok(crashes) => {
                let now = self.database.clock.now();
                for row in claimed {
                    if let Some(known) = crashes.get(&row.lease.id.to_string()) {
                        (row.crashes, row.since_crash) = (known.count, now - known.at);
                        self.crashed().insert(row.lease.id.to_string());
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "it is not known which of the claimed rows have crashed"),
        }
    }

    /// Clears the row's crashes after a completed delivery attempt.
    pub(crate) async fn forgive(&self, id: &str, transition: Transition) -> Result<(), Error> {
        let known = self.crashed().remove(id);
        if known && transition.ends_a_try() {
            return self.remove_own(&format!("{}{id}", self.counts())).await;
        }
        Ok(())
    }

    pub(crate) async fn reclaim_records(&self, limit: usize) -> Result<Reclaimed, Error> {
        let (contract, stage) = (&self.contract, self.stage());
        let now = self.database.clock.now();
        // A claim without a readable time counts as expired; otherwise it would be held for ever.
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
            if let Some(is_dead) = self.charge(record, crashes.get(&record.id)).await? {
                *(if is_dead { &mut reclaimed.dead } else { &mut reclaimed.retried }) += 1;
            }
        }
        Ok(reclaimed)
    }

    /// Reclaims a begun row and counts the crash in the same transaction. Returns whether it is dead now; `None` if it
    /// has moved since.
    async fn charge(&self, record: &Record, known: Option<&Crashes>) -> Result<Option<bool>, Error> {
        let (contract, stage) = (&self.contract, self.stage());
        let crashed = known.map_or(0, |known| known.count);
        let crash = crash(contract, stage, &record.row, crashed);
        let (step, reason) = match crash {
            Crash::Charged => (contract.reclaim_move(stage, stage.retry), Some(LEASE_EXPIRED)),
            Crash::Spared => (contract.lease_move(stage, Transition::Released), None),
            Crash::Dead => (contract.reclaim_move(stage, stage.dead), Some(CRASHED)),
        };
        let nothing = Detail::new();
        let given = self.given(&nothing, reason);
        let status = format!("{}{}", self.counts(), record.id);
        let count = if crash == Crash::Dead {
            // A row that an operator requeues starts without crashes.
            self.target.delete(OURS, &status)
        } else {
            let numbers = [(CRASHES, i64::from(crashed) + 1), (AT, given.now)];
            self.target.put_own(known.is_none(), &status, numbers, given.now / 1_000_000 + REMEMBERED)
        };
        let made = self.make_with(&step, record, &given, Some(&count)).await?;
        Ok(made.map(|_| crash == Crash::Dead))
    }
}
