//! Records which rows are begun, and reclaims rows whose worker is gone; crashes of begun rows are counted.

pub(crate) mod marks;
mod statements;

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use postrider_contract::Crash;
use postrider_seams::row::{ClaimedRow, Lease, RowId, Value};
use postrider_seams::store::{Error, LeaseResult, Reclaimed, Settlement};

use crate::begin::marks as own;
use crate::bind::{self, Values};
use crate::claim::taken_from;
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::sweep::moved;
use crate::{ReclaimScripts, Script};

/// Rows held here that have crashes counted against them.
#[derive(Debug, Default)]
pub(crate) struct Crashed(Mutex<HashSet<RowId>>);

impl Crashed {
    fn lock(&self) -> MutexGuard<'_, HashSet<RowId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lease as the lists keep it: the key, then the fence, as text.
type Mark = Vec<Option<String>>;

fn mark(lease: &Lease) -> Mark {
    let fence = lease.fence.iter().cloned().map(|value| bind::text(value).map(plain));
    std::iter::once(Some(lease.id.to_string())).chain(fence).collect()
}

/// Removes trailing zeros of a time, which some statements of a database print and others do not.
fn plain(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Consecutive crashes of one row, and the microseconds since the last one.
#[derive(Clone, Copy, Default)]
struct Crashes {
    count: u32,
    since: i64,
}

/// One row of the search for expired leases.
struct Expired {
    lease: Lease,
    last: bool,
    limit: u32,
}

impl OpenTable {
    fn place(&self) -> Value {
        Value::Text(self.statements.place.clone())
    }

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
        let (written, standing) =
            tokio::join!(biased; self.write_marks(on, &marks), self.still_held(on, begun));
        written?;
        let mut standing = standing?;
        if begun.iter().any(|lease| !standing.contains(&lease.id)) {
            let lost = begun.iter().filter(|lease| !standing.contains(&lease.id));
            let renewed = self.renewed(on, lost).await?;
            let again: Vec<Lease> = renewed.values().cloned().collect();
            if !again.is_empty() {
                standing.extend(self.still_held(on, &again).await?);
            }
            let stand = begun.iter().filter(|lease| standing.contains(&lease.id));
            let stand = stand.map(|lease| renewed.get(&lease.id).unwrap_or(lease));
            let marks: Vec<Mark> = stand.chain(others).map(mark).collect();
            self.write_marks(on, &marks).await?;
        }
        let held =
            |lease: &Lease| if standing.contains(&lease.id) { LeaseResult::Held } else { LeaseResult::Lost };
        Ok(begun.iter().map(held).collect())
    }

    /// Without the internal tables nothing is recorded, and no crash is counted.
    async fn write_marks(&self, on: &impl Driver, marks: &[Mark]) -> Result<(), Error> {
        let mut args = vec![self.place(), Value::Text(self.marks.to_string())];
        if marks.is_empty() {
            return on.query("remove marks of begun rows", own::clear(on.dialect()), args).await.map(|_| ());
        }
        let list = serde_json::to_string(marks).expect("lists of texts are JSON");
        args.push(Value::Text(list));
        on.query("mark rows as begun", own::write(on.dialect()), args).await.map(|_| ())
    }

    async fn still_held(&self, on: &impl Driver, leases: &[Lease]) -> Result<HashSet<RowId>, Error> {
        // In one statement, however many: it only reads, and deliveries wait for this round trip.
        let given = Values::leases(on.owner(), leases.iter().collect());
        let standing = on.run("check leases", &self.statements.standing_leases, &given).await?;
        Ok(standing.keys().into_iter().collect())
    }

    /// Reads how often the worker of each row died during its delivery.
    async fn crashes(&self, on: &impl Driver) -> Result<HashMap<String, Crashes>, Error> {
        let rows = on.read("read crashes", own::crashes(on.dialect()), vec![self.place()]).await?;
        let read = |row: Vec<Value>| match row.as_slice() {
            [Value::Text(id), crashes, since] => {
                Some((id.clone(), Crashes { count: count(crashes), since: bind::whole(since).unwrap_or(0) }))
            }
            _ => None,
        };
        Ok(rows.unwrap_or_default().into_iter().filter_map(read).collect())
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
    pub(crate) async fn forgive(&self, on: &impl Driver, moves: &[Settlement], answers: &[LeaseResult]) {
        if self.crashed.lock().is_empty() {
            return;
        }
        for (settlement, answer) in moves.iter().zip(answers) {
            let id = &settlement.lease.id;
            let completed = settlement.transition.ends_attempt() && *answer == LeaseResult::Held;
            if self.crashed.lock().remove(id) && completed {
                let args = vec![self.place(), Value::Text(id.to_string())];
                if let Err(error) = on.query("clear crashes", own::forgive(on.dialect()), args).await {
                    tracing::warn!(%id, %error, "the crashes of a row could not be cleared");
                }
            }
        }
    }

    pub(crate) async fn forget_marks(&self, on: &impl Driver) -> Result<(), Error> {
        for statement in own::forget(on.dialect()) {
            on.query("remove old marks", statement, Vec::new()).await?;
        }
        Ok(())
    }

    /// Reclaims up to `limit` rows whose lease expired, and returns what became of them.
    pub async fn reclaim(&self, on: &impl Driver, limit: u32) -> Result<Reclaimed, Error> {
        let stamp = self.statements.stamp.as_ref();
        moved(on, "note when claims without a time were seen", stamp, limit).await?;
        let Some(scripts) = &self.statements.reclaim else { return Ok(Reclaimed::default()) };
        let given = Values::limit(on.owner(), limit);
        let rows = on.run("find expired leases", &scripts.find, &given).await?.into_rows();
        let expired: Vec<Expired> = rows.into_iter().filter_map(|row| self.expired(row)).collect();
        if expired.is_empty() {
            return Ok(Reclaimed::default());
        }
        let begun = self.begun(on).await?;
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
        self.take_back(on, scripts, parts).await
    }

    async fn take_back(
        &self,
        on: &impl Driver,
        scripts: &ReclaimScripts,
        [free, spared, charged, dead]: [Vec<RowId>; 4],
    ) -> Result<Reclaimed, Error> {
        let untried = free.clone();
        let free = self.take_back_part(on, "reclaim rows", &scripts.free, free).await?;
        let spared = self.take_back_part(on, "reclaim begun rows", &scripts.spared, spared).await?;
        let charged = self.take_back_part(on, "reclaim begun rows", &scripts.charged, charged).await?;
        let dead = self
            .take_back_part(on, "move rows that crash their workers to dead", &scripts.dead, dead)
            .await?;
        self.refund(on, untried).await;
        Ok(Reclaimed { free, retried: spared + charged, dead })
    }

    pub(crate) async fn take_back_part(
        &self,
        on: &impl Driver,
        doing: &str,
        script: &Script,
        mut ids: Vec<RowId>,
    ) -> Result<u64, Error> {
        ids.sort_unstable();
        let mut taken = 0;
        for part in ids.chunks(self.batch) {
            taken += on.run(doing, script, &Values::ids(on.owner(), part.to_vec())).await?.moved();
        }
        Ok(taken)
    }

    fn expired(&self, mut row: Vec<Value>) -> Option<Expired> {
        let lease = bind::lease(&self.statements.layout, |at| taken_from(&mut row, at))?;
        let at = self.statements.layout.fences + 1;
        let last = count(&taken_from(&mut row, at)) == 1;
        Some(Expired { lease, last, limit: count(&taken_from(&mut row, at + 1)) })
    }

    /// Reads the leases that the workers of this table have begun.
    async fn begun(&self, on: &impl Driver) -> Result<HashSet<Mark>, Error> {
        let lists =
            on.query("read which rows were begun", own::lists(on.dialect()), vec![self.place()]).await?;
        let texts = lists.unwrap_or_default().into_iter().flatten();
        let read = |text: Value| serde_json::from_str::<Vec<Mark>>(text.as_text()?).ok();
        Ok(texts.filter_map(read).flatten().collect())
    }
}

fn count(value: &Value) -> u32 {
    u32::try_from(bind::count(value)).unwrap_or(u32::MAX)
}
