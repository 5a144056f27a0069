//! Pools and fair shares, as simply as possible: every claim counts the rows in flight, and serves clients round-robin.

use std::collections::{BTreeMap, HashMap, VecDeque};

use postrider_contract::ColumnRole;
use postrider_rows::{Row, column_value, role_value, state_of};
use postrider_seams::RowId;

use crate::store::MemoryStore;
use crate::table::{MemoryTable, TableState};

/// The limits of a pool; `None` is no limit. `concurrency` counts rows in flight, `rate` rows per minute.
#[derive(Debug, Clone, Copy, Default)]
pub struct PoolLimits {
    pub concurrency: Option<u32>,
    pub rate: Option<u32>,
    pub paused: bool,
}

/// The state of a pool in the table.
#[derive(Debug, Default)]
pub(crate) struct PoolState {
    limits: PoolLimits,
    /// The time at which the rate has made up for all rows claimed so far, in microseconds since 1970.
    free_at: i64,
}

/// The number of rows that each limited pool may have in this claim.
pub(crate) type PoolPermits = BTreeMap<String, u64>;

impl MemoryTable {
    /// Sets a pool's limits, as a row of the pool table would.
    pub fn set_pool(&self, name: &str, limits: PoolLimits) {
        self.lock().pools.entry(name.to_owned()).or_default().limits = limits;
        self.written.notify_waiters();
    }
}

impl PoolState {
    fn burst(rate: u32) -> u32 {
        rate.div_ceil(60).max(1)
    }

    /// Returns the microseconds that one row uses up. The burst is subtracted from the rate, so that no minute exceeds
    /// it.
    fn interval(rate: u32) -> i64 {
        let steady = if rate > 60 { rate - Self::burst(rate) } else { rate };
        60_000_000 / i64::from(steady.max(1))
    }

    /// Returns when the rows claimed so far are made up for. More than this rate can ever accumulate stems from a
    /// slower earlier rate, and is ignored.
    fn rate_free_at(&self, rate: u32, now: i64) -> i64 {
        let most = (i64::from(Self::burst(rate)) + 1) * Self::interval(rate);
        if self.free_at > now + most { now } else { self.free_at.max(now) }
    }

    fn permits(&self, in_flight: u64, now: i64) -> Option<u64> {
        let PoolLimits { concurrency, rate, paused } = self.limits;
        if paused {
            return Some(0);
        }
        let by_count = concurrency.map(|most| u64::from(most).saturating_sub(in_flight));
        let by_rate = rate.map(|rate| {
            if rate == 0 {
                return 0;
            }
            let rate_debt = (self.rate_free_at(rate, now) - now).unsigned_abs();
            let rate_debt = rate_debt.div_ceil(Self::interval(rate).unsigned_abs());
            u64::from(Self::burst(rate)).saturating_sub(rate_debt)
        });
        by_count.into_iter().chain(by_rate).min()
    }
}

impl MemoryStore {
    fn pool_of<'a>(&self, row: &'a Row) -> Option<&'a str> {
        role_value(self.contract(), row, ColumnRole::Pool).as_text()
    }

    pub(crate) fn fair_key<'a>(&self, row: &'a Row) -> Option<&'a str> {
        self.contract().claim.fair.as_ref().and_then(|fair| column_value(row, &fair.name).as_text())
    }

    /// Returns the permits of each limited pool.
    pub(crate) fn permits(&self, table: &TableState, now: i64) -> PoolPermits {
        if self.contract().pool.is_none() {
            return PoolPermits::new();
        }
        let mut in_flight: BTreeMap<&str, u64> = BTreeMap::new();
        let claimed = self.claimed_states();
        for row in table.rows.values() {
            let is_in_flight = state_of(self.contract(), row).is_some_and(|state| claimed.contains(&state));
            if let Some(pool) = self.pool_of(row).filter(|_| is_in_flight) {
                *in_flight.entry(pool).or_default() += 1;
            }
        }
        let permits_left = |(name, pool): (&String, &PoolState)| {
            let in_flight_count = in_flight.get(name.as_str()).copied().unwrap_or(0);
            Some((name.clone(), pool.permits(in_flight_count, now)?))
        };
        table.pools.iter().filter_map(permits_left).collect()
    }

    /// Uses one permit of the row's pool, if it is limited; false if there is none left.
    pub(crate) fn admit(&self, permits: &mut PoolPermits, row: &Row) -> bool {
        match self.pool_of(row).and_then(|pool| permits.get_mut(pool)) {
            None => true,
            Some(0) => false,
            Some(permits_left) => {
                *permits_left -= 1;
                true
            }
        }
    }

    /// Picks rows round-robin by pool and client; rows of a limited pool only with a permit.
    pub(crate) fn round_robin(
        &self,
        table: &TableState,
        rows: impl Iterator<Item = RowId>,
        limit: usize,
        permits: &mut PoolPermits,
    ) -> Vec<RowId> {
        let mut queue_of: HashMap<(Option<&str>, Option<&str>), usize> = HashMap::new();
        let mut queues: VecDeque<VecDeque<(usize, RowId)>> = VecDeque::new();
        for (position, id) in rows.enumerate() {
            let row = &table.rows[&id];
            let queue_index = *queue_of.entry((self.pool_of(row), self.fair_key(row))).or_insert_with(|| {
                queues.push_back(VecDeque::new());
                queues.len() - 1
            });
            queues[queue_index].push_back((position, id));
        }
        let mut chosen: Vec<(usize, RowId)> = Vec::new();
        while let Some(mut queue) = queues.pop_front() {
            if chosen.len() >= limit {
                break;
            }
            let Some(id) = queue.pop_front() else { continue };
            if self.admit(permits, &table.rows[&id.1]) {
                chosen.push(id);
                queues.push_back(queue);
            }
        }
        // Round-robin decides which rows are claimed; the contract decides their order.
        chosen.sort_unstable();
        chosen.into_iter().map(|(_, id)| id).collect()
    }

    /// Charges a row to its pool's rate, or refunds it (`refund`).
    pub(crate) fn charge_pool(&self, table: &mut TableState, id: &RowId, now: i64, refund: bool) {
        let Some(pool) = table.rows.get(id).and_then(|row| self.pool_of(row)).map(str::to_owned) else {
            return;
        };
        let Some(pool) = table.pools.get_mut(&pool) else { return };
        let Some(rate) = pool.limits.rate else { return };
        if refund {
            pool.free_at -= PoolState::interval(rate);
        } else {
            pool.free_at = pool.rate_free_at(rate, now) + PoolState::interval(rate);
        }
    }

    /// Returns the microseconds until the rate of the row's pool allows it; `None` if no rate delays it.
    pub(crate) fn rate_wait(&self, table: &TableState, row: &Row, now: i64) -> Option<i64> {
        let pool = table.pools.get(self.pool_of(row)?)?;
        let rate = pool.limits.rate?;
        let spare = i64::from(PoolState::burst(rate) - 1) * PoolState::interval(rate);
        Some(pool.rate_free_at(rate, now) - now - spare).filter(|wait| *wait > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j09_no_minute_has_more_than_the_rate() {
        for rate in [1, 7, 60, 61, 600, 6000] {
            let mut pool =
                PoolState { limits: PoolLimits { rate: Some(rate), ..PoolLimits::default() }, free_at: 0 };
            let mut chosen: Vec<i64> = Vec::new();
            for step in 0..30_000_i64 {
                let now = 1_000_000_000 + step * 10_000;
                for _ in 0..pool.permits(0, now).unwrap_or(0) {
                    pool.free_at = pool.free_at.max(now) + PoolState::interval(rate);
                    chosen.push(now);
                }
            }
            for (index, first) in chosen.iter().enumerate() {
                let within = chosen[index..]
                    .iter()
                    .take_while(|queue_index| **queue_index < first + 60_000_000)
                    .count();
                assert!(within <= rate as usize, "{within} of {rate} within a minute");
            }
            assert!(chosen.len() >= rate as usize * 4, "{} of {rate} in five minutes", chosen.len());
        }
    }
}
