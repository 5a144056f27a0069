//! Records which rows' delivery has begun, and reclaims rows whose worker is gone. The list of each worker and the
//! crashes of each row are internal records beside the e-mails, like locks.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_contract::{CRASHED, Crash, LEASE_EXPIRED, Transition};
use postrider_rows::{crash, lease_end};
use postrider_seams::row::Detail;
use postrider_seams::store::{Error, LeaseResult, Reclaimed};
use postrider_seams::{ClaimedRow, Lease, RowId, Value};

use crate::error::classify;
use crate::layout::{ID, STATUS};
use crate::locks::INTERNAL_ID;
use crate::record::Record;
use crate::requests::{Item, RETRY_TIME, retry_throttled};
use crate::statement::text;
use crate::store::DynamoStore;

const LEASES: &str = "Leases";
const CRASHES: &str = "Crashes";
const AT: &str = "At";

/// Microseconds after which the list of a worker that wrote nothing is ignored: it cannot concern a row that is claimed
/// now.
const LIST_MAX_AGE: i64 = 24 * 3600 * 1_000_000;

/// Seconds after its last crash at which DynamoDB deletes the crash count of a row.
const CRASH_COUNT_TTL: i64 = 30 * 24 * 3600;

/// Consecutive crashes of one row, and the time of the last one.
#[derive(Debug, Clone, Copy)]
struct CrashCount {
    count: u32,
    at: i64,
}

fn number(item: &Item, name: &str) -> Option<i64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

fn lease_mark(id: &str, fence: Option<&str>) -> String {
    format!("{id} {}", fence.unwrap_or_default())
}

impl DynamoStore {
    /// Replaces the list of begun rows by these; returns which of `begun` still hold their lease.
    pub(crate) async fn begin_records(
        &self,
        begun: &[Lease],
        others: &[Lease],
    ) -> Result<Vec<LeaseResult>, Error> {
        let fence = |lease: &Lease| lease.fence.first().and_then(Value::as_text).map(str::to_owned);
        let mark = |lease: &Lease| lease_mark(&lease.id.to_string(), fence(lease).as_deref());
        let marks: Vec<String> = begun.iter().chain(others).map(mark).collect();
        let valid = begun.iter().map(|lease| self.is_lease_valid(lease)).collect();
        let (written, valid) =
            tokio::join!(biased; self.write_marks(marks), self.database.in_parallel(valid));
        written?;
        let valid = valid.into_iter().collect::<Result<Vec<bool>, Error>>()?;
        if valid.contains(&false) {
            // Rows that lost their lease are not sent, so a crash must not be charged to them.
            let held = begun.iter().zip(&valid).filter(|(_, is_held)| **is_held).map(|(lease, _)| lease);
            self.write_marks(held.chain(others).map(mark).collect()).await?;
        }
        let held = |is_held: bool| if is_held { LeaseResult::Held } else { LeaseResult::Lost };
        Ok(valid.into_iter().map(held).collect())
    }

    /// Whether the lease still holds, read from the table because the copy in memory may be out of date.
    async fn is_lease_valid(&self, lease: &Lease) -> Result<bool, Error> {
        let RowId::Text(id) = &lease.id else { return Ok(false) };
        self.held.remove(id);
        let Some(record) = self.record_of_lease(lease).await? else { return Ok(false) };
        let end = lease_end(&self.contract, self.stage(), &record.row);
        let is_valid = end.is_some_and(|end| end >= self.database.clock.now());
        self.held.insert(record);
        Ok(is_valid)
    }

    fn list_of(&self, worker: &str) -> String {
        format!("{}{worker}", self.list_prefix())
    }

    fn list_prefix(&self) -> String {
        format!("begun:{}:", self.stage().name)
    }

    fn crash_prefix(&self) -> String {
        format!("crashes:{}:", self.stage().name)
    }

    async fn write_marks(&self, marks: Vec<String>) -> Result<(), Error> {
        let place = self.database.settings.place();
        let status = self.list_of(&self.worker);
        if marks.is_empty() {
            return self.delete_internal(&status).await;
        }
        let list = AttributeValue::L(marks.into_iter().map(AttributeValue::S).collect());
        retry_throttled(RETRY_TIME, || async {
            let request = self.database.client().await.put_item().table_name(&self.target.table);
            let now = AttributeValue::N(self.database.clock.now().to_string());
            let request = request.item(ID, text(INTERNAL_ID)).item(STATUS, text(&status)).item(AT, now);
            let sent = request.item(LEASES, list.clone()).send().await;
            sent.map(|_| ()).map_err(|cause| classify(&place, "mark rows as begun", cause))
        })
        .await
    }

    async fn delete_internal(&self, status: &str) -> Result<(), Error> {
        let place = self.database.settings.place();
        retry_throttled(RETRY_TIME, || async {
            let request = self.database.client().await.delete_item().table_name(&self.target.table);
            let sent = request.key(ID, text(INTERNAL_ID)).key(STATUS, text(status)).send().await;
            sent.map(|_| ()).map_err(|cause| classify(&place, "remove a mark", cause))
        })
        .await
    }

    /// Returns the internal records whose `Status` begins with `begins`, by the rest of it.
    async fn internal_records(&self, begins: &str) -> Result<HashMap<String, Item>, Error> {
        let place = self.database.settings.place();
        let mut found = HashMap::new();
        let mut start = None;
        loop {
            let page = retry_throttled(RETRY_TIME, || async {
                let request = self.database.client().await.query().table_name(&self.target.table);
                let request = request
                    .key_condition_expression("#id = :ours AND begins_with(#status, :begins)")
                    .expression_attribute_names("#id", ID)
                    .expression_attribute_names("#status", STATUS)
                    .expression_attribute_values(":ours", text(INTERNAL_ID))
                    .expression_attribute_values(":begins", text(begins))
                    .consistent_read(true)
                    .set_exclusive_start_key(start.clone());
                request.send().await.map_err(|cause| classify(&place, "read our own records", cause))
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
        for (worker, item) in self.internal_records(&self.list_prefix()).await? {
            if number(&item, AT).unwrap_or(0) < now - LIST_MAX_AGE {
                self.delete_internal(&self.list_of(&worker)).await?;
                continue;
            }
            let marks = item.get(LEASES).and_then(|list| list.as_l().ok()).into_iter().flatten();
            begun.extend(marks.filter_map(|mark| mark.as_s().ok().cloned()));
        }
        Ok(begun)
    }

    async fn crashes(&self) -> Result<HashMap<String, CrashCount>, Error> {
        let records = self.internal_records(&self.crash_prefix()).await?;
        let read = |item: &Item| CrashCount {
            count: number(item, CRASHES).and_then(|count| u32::try_from(count).ok()).unwrap_or(0),
            at: number(item, AT).unwrap_or(0),
        };
        Ok(records.into_iter().map(|(id, item)| (id, read(&item))).collect())
    }

    /// Sets the crash counts of claimed rows. If the counts cannot be read, the rows are delivered as if they were
    /// zero.
    pub(crate) async fn add_crash_counts(&self, claimed: &mut [ClaimedRow]) {
        if claimed.is_empty() {
            return;
        }
        match self.crashes().await {
            Ok(crashes) => {
                let now = self.database.clock.now();
                for row in claimed {
                    if let Some(counted) = crashes.get(&row.lease.id.to_string()) {
                        (row.crashes, row.since_crash) = (counted.count, now - counted.at);
                        self.crashed().insert(row.lease.id.to_string());
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "it is not known which of the claimed rows have crashed"),
        }
    }

    /// Clears the row's crashes after a completed delivery attempt.
    pub(crate) async fn clear_crashes(&self, id: &str, transition: Transition) -> Result<(), Error> {
        let counted = self.crashed().remove(id);
        if counted && transition.ends_attempt() {
            return self.delete_internal(&format!("{}{id}", self.crash_prefix())).await;
        }
        Ok(())
    }

    pub(crate) async fn reclaim_records(&self, limit: usize) -> Result<Reclaimed, Error> {
        let (contract, stage) = (&self.contract, self.stage());
        let now = self.database.clock.now();
        // A claim without a readable time counts as expired; otherwise it would be held forever.
        let expired = |record: &Record| lease_end(contract, stage, &record.row).is_none_or(|end| end < now);
        let found = self.find_records("reclaim", &self.claimed_states(), limit, expired).await?;
        let mut reclaimed = Reclaimed::default();
        if found.is_empty() {
            return Ok(reclaimed);
        }
        let (begun, crashes) = (self.begun().await?, self.crashes().await?);
        for record in &found {
            let one = std::slice::from_ref(record);
            if !begun.contains(&lease_mark(&record.id, record.fence())) {
                let back = contract.lease_move(stage, Transition::Released);
                reclaimed.free += self.apply_each(one, &back, None).await?;
                continue;
            }
            if let Some(is_dead) = self.reclaim_begun(record, crashes.get(&record.id)).await? {
                *(if is_dead { &mut reclaimed.dead } else { &mut reclaimed.retried }) += 1;
            }
        }
        Ok(reclaimed)
    }

    /// Reclaims a begun row and counts the crash in the same transaction. Returns whether it is dead now; `None` if it
    /// has moved since.
    async fn reclaim_begun(
        &self,
        record: &Record,
        counted: Option<&CrashCount>,
    ) -> Result<Option<bool>, Error> {
        let (contract, stage) = (&self.contract, self.stage());
        let crashed = counted.map_or(0, |counted| counted.count);
        let crash = crash(contract, stage, &record.row, crashed);
        let (step, reason) = match crash {
            Crash::Charged => (contract.reclaim_move(stage, stage.retryable), Some(LEASE_EXPIRED)),
            Crash::Spared => (contract.lease_move(stage, Transition::Released), None),
            Crash::Dead => (contract.reclaim_move(stage, stage.dead), Some(CRASHED)),
        };
        let no_detail = Detail::new();
        let input = self.transition_input(&no_detail, reason);
        let status = format!("{}{}", self.crash_prefix(), record.id);
        let count = if crash == Crash::Dead {
            // A row that an operator requeues starts without crashes.
            self.target.delete(INTERNAL_ID, &status)
        } else {
            let numbers = [(CRASHES, i64::from(crashed) + 1), (AT, input.now)];
            self.target.put_internal(
                counted.is_none(),
                &status,
                numbers,
                input.now / 1_000_000 + CRASH_COUNT_TTL,
            )
        };
        let made = self.apply_move_with(&step, record, &input, Some(&count)).await?;
        Ok(made.map(|_| crash == Crash::Dead))
    }
}
