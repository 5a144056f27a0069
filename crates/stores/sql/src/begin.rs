//! Records which rows are begun, and reclaims rows whose worker is gone; crashes of begun rows are counted.

pub(crate) mod marks;
pub(crate) mod statements;

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use postrider_contract::Crash;
use postrider_seams::row::{ClaimedRow, Lease, RowId};
use postrider_seams::store::{Class, Error, LeaseResult, Reclaimed, Settlement};

use crate::begin::marks::{BEGUN, Crashes, Mark};
use crate::begin::statements::ReclaimScripts;
use crate::bind::{self, Ids, Limit};
use crate::driver::{Access, Driver};
use crate::open_table::OpenTable;
use crate::render::moves::MoveNamed;
use crate::settle::params::Leases;
use crate::sweep::moved;
use crate::typed::{Columns, TypedScript as _};

/// Rows held here that have crashes counted against them.
#[derive(Debug, Default)]
pub(crate) struct Crashed(Mutex<HashSet<RowId>>);

impl Crashed {
    fn lock(&self) -> MutexGuard<'_, HashSet<RowId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error if the table of marks was there when the lane started: the commit of a mark flushes the claim, so that
/// nothing may be sent without it.
fn removed() -> Error {
    Error::new(Class::Misconfigured, format!("the table {BEGUN} was removed: run `postrider migrate`"))
}

fn mark(lease: &Lease) -> Mark {
    let fence = lease.fence.iter().cloned().map(|value| bind::text(value).map(plain));
    std::iter::once(Some(lease.id.to_string())).chain(fence).collect()
}

/// Removes trailing zeros of a time, which some statements of a database print and others do not.
fn plain(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl OpenTable {
    /// Records the rows as begun and checks their leases, at the same time, which saves a round trip.
    ///
    /// Rows that lost their lease are removed from the list again: they are not sent, and must not be charged for a
    /// crash.
    pub async fn begin(
        &self,
        on: &impl Driver,
        begun: &[Lease],
        others: &[Lease],
    ) -> Result<Vec<LeaseResult>, Error> {
        let marks: Vec<Mark> = begun.iter().chain(others).map(mark).collect();
        let mut valid = if self.shape.marks && !begun.is_empty() {
            self.mark_and_check(on, &marks, begun).await?
        } else {
            let (written, valid) =
                tokio::join!(biased; self.write_marks(on, &marks), self.still_held(on, begun));
            written?;
            valid?
        };
        if begun.iter().any(|lease| !valid.contains(&lease.id)) {
            let lost = begun.iter().filter(|lease| !valid.contains(&lease.id));
            let renewed = self.renewed(on, lost).await?;
            let again: Vec<Lease> = renewed.values().cloned().collect();
            if !again.is_empty() {
                valid.extend(self.still_held(on, &again).await?);
            }
            let held = begun.iter().filter(|lease| valid.contains(&lease.id));
            let held = held.map(|lease| renewed.get(&lease.id).unwrap_or(lease));
            let marks: Vec<Mark> = held.chain(others).map(mark).collect();
            self.write_marks(on, &marks).await?;
        }
        let held =
            |lease: &Lease| if valid.contains(&lease.id) { LeaseResult::Held } else { LeaseResult::Lost };
        Ok(begun.iter().map(held).collect())
    }

    /// PostgreSQL: writes the marks and checks the leases in one statement. A server that crashes may forget claims that
    /// were not flushed: with two statements, the check could be answered before the crash and the mark after it.
    async fn mark_and_check(
        &self,
        on: &impl Driver,
        marks: &[Mark],
        begun: &[Lease],
    ) -> Result<HashSet<RowId>, Error> {
        let leases: Vec<&Lease> = begun.iter().collect();
        let check = &self.statements.valid_leases;
        let [step] = check.script.steps.as_slice() else {
            unreachable!("leases are checked by one statement")
        };
        let step = step.bind_values(on.dialect(), on.owner(), &Leases(&leases), &[]);
        let statement = marks::write_with(step, &self.statements.stage_key, &self.marks, marks);
        let rows = on.internal("mark rows as begun", Access::Write, statement).await?;
        let rows = rows.ok_or_else(removed)?;
        Ok(rows.into_iter().filter_map(|row| check.read(Columns::new(row))).collect())
    }

    /// Without the internal tables nothing is recorded, and no crash is counted.
    async fn write_marks(&self, on: &impl Driver, marks: &[Mark]) -> Result<(), Error> {
        let (stage, worker) = (&self.statements.stage_key, &self.marks);
        if marks.is_empty() {
            return marks::delete(on, stage, worker).await;
        }
        if !marks::write(on, stage, worker, marks).await? && self.shape.marks {
            return Err(removed());
        }
        Ok(())
    }

    async fn still_held(&self, on: &impl Driver, leases: &[Lease]) -> Result<HashSet<RowId>, Error> {
        // In one statement, however many: it only reads, and deliveries wait for this round trip.
        let leases: Vec<&Lease> = leases.iter().collect();
        let valid = on.fetch("check leases", &self.statements.valid_leases, Leases(&leases)).await?;
        Ok(valid.into_iter().collect())
    }

    /// Reads how often the worker of each row died during its delivery.
    async fn crashes(&self, on: &impl Driver) -> Result<HashMap<String, Crashes>, Error> {
        marks::crashes(on, &self.statements.stage_key).await
    }

    /// Adds the crash counts to claimed rows. If they cannot be read, the rows go on without, as they are already
    /// claimed.
    pub(crate) async fn note_crashes(&self, on: &impl Driver, claimed: &mut [ClaimedRow]) {
        if claimed.is_empty() {
            return;
        }
        match self.crashes(on).await {
            Ok(crashes) if crashes.is_empty() => {}
            Ok(crashes) => {
                for row in claimed {
                    let known = crashes.get(&row.lease.id.to_string()).copied().unwrap_or_default();
                    (row.crashes, row.since_crash) = (known.count, known.since);
                    if row.crashes > 0 {
                        self.crashed.lock().insert(row.lease.id.clone());
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "it is not known which of the claimed rows have crashed"),
        }
    }

    /// Clears the crash counts of delivered rows. If this fails, the next delivery clears them.
    pub(crate) async fn clear_crashes(
        &self,
        on: &impl Driver,
        moves: &[Settlement],
        answers: &[LeaseResult],
    ) {
        if self.crashed.lock().is_empty() {
            return;
        }
        for (settlement, answer) in moves.iter().zip(answers) {
            let id = &settlement.lease.id;
            let completed = settlement.transition.ends_attempt() && *answer == LeaseResult::Held;
            let had_crashed = self.crashed.lock().remove(id);
            if had_crashed
                && completed
                && let Err(error) = marks::clear_crashes(on, &self.statements.stage_key, id).await
            {
                tracing::warn!(%id, %error, "the crashes of a row could not be cleared");
            }
        }
    }

    pub(crate) async fn delete_old_marks(&self, on: &impl Driver) -> Result<(), Error> {
        marks::delete_old(on).await
    }

    /// Reclaims up to `limit` rows whose lease expired, and returns what became of them.
    pub async fn reclaim(&self, on: &impl Driver, limit: u32) -> Result<Reclaimed, Error> {
        let stamp = self.statements.stamp.as_ref();
        moved(on, "note when claims without a time were seen", stamp, limit).await?;
        let Some(scripts) = &self.statements.reclaim else { return Ok(Reclaimed::default()) };
        let expired = on.fetch("find expired leases", &scripts.find, Limit(limit)).await?;
        if expired.is_empty() {
            return Ok(Reclaimed::default());
        }
        let begun = marks::begun(on, &self.statements.stage_key).await?;
        let crashes = if begun.is_empty() { HashMap::new() } else { self.crashes(on).await? };
        let mut parts: [Vec<RowId>; 4] = Default::default();
        for row in expired {
            let crashed = crashes.get(&row.lease.id.to_string()).map_or(0, |crashes| crashes.count);
            let part = match Crash::of(&self.stage, crashed, row.last, row.limit) {
                _ if !begun.contains(&mark(&row.lease)) => 0,
                Crash::Spared => 1,
                Crash::Charged => 2,
                Crash::Dead => 3,
            };
            parts[part].push(row.lease.id);
        }
        self.reclaim_rows(on, scripts, parts).await
    }

    async fn reclaim_rows(
        &self,
        on: &impl Driver,
        scripts: &ReclaimScripts,
        [free, spared, charged, dead]: [Vec<RowId>; 4],
    ) -> Result<Reclaimed, Error> {
        let untried = free.clone();
        let free = self.reclaim_part(on, "reclaim rows", &scripts.free, free).await?;
        let spared = self.reclaim_part(on, "reclaim begun rows", &scripts.spared, spared).await?;
        let charged = self.reclaim_part(on, "reclaim begun rows", &scripts.charged, charged).await?;
        let dead =
            self.reclaim_part(on, "move rows that crash their workers to dead", &scripts.dead, dead).await?;
        self.refund(on, untried).await;
        Ok(Reclaimed { free, retried: spared + charged, dead })
    }

    pub(crate) async fn reclaim_part(
        &self,
        on: &impl Driver,
        doing: &str,
        script: &MoveNamed,
        mut ids: Vec<RowId>,
    ) -> Result<u64, Error> {
        ids.sort_unstable();
        let mut moved = 0;
        for part in ids.chunks(self.batch) {
            moved += on.fetch(doing, script, Ids(part)).await?.len() as u64;
        }
        Ok(moved)
    }
}
