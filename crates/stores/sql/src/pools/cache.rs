//! A cache of the shares with waiting rows and of the limits of their pools.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use postrider_seams::row::ClaimedRow;

use crate::pools::permits::{FairKey, OpenPools};
use crate::pools::statements::BETWEEN;

/// Maximum age of the cached shares.
const FRESH: Duration = Duration::from_secs(1);

/// The same while no ordered rows are known: claims do not search for groups then.
const FRESH_UNORDERED: Duration = Duration::from_millis(100);

/// The same while not all shares have been read.
const PAUSE: Duration = Duration::from_millis(50);

/// Time until a missing table of pools is searched again.
const ABSENT: Duration = Duration::from_secs(5);

/// The cache, shared by the claims of a lane.
#[derive(Debug, Default)]
pub(crate) struct PoolCache(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    searched_at: Option<Instant>,
    /// The last share that was read; `None` if all were.
    cursor: Option<String>,
    /// Shares of rows that keep no order, in round-robin order: the next one comes first.
    free: VecDeque<String>,
    /// Pools of ordered rows: of the last full round, and of the current one.
    ordered: BTreeSet<String>,
    next_ordered: BTreeSet<String>,
    pools: BTreeMap<String, PoolState>,
    enrolled: HashSet<String>,
    table: PoolTablePresence,
}

/// Whether the table of pools exists.
#[derive(Debug, Default, Clone, Copy)]
enum PoolTablePresence {
    #[default]
    Unknown,
    There,
    Absent(Instant),
}

/// The cached state of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolState {
    pub limited: bool,
    /// Number of rows that may go.
    pub permits: u64,
    /// Time until its rate permits a row.
    pub wait: Duration,
}

/// A selection of the rows that keep no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnorderedRows {
    All,
    /// Only rows of pools; the others are claimed through an external queue.
    OfPools,
}

/// The pool in a share's key; empty if the rows have none.
fn pool_in(key: &str) -> &str {
    let rest = key.get(1..).unwrap_or_default();
    rest.split_once(BETWEEN).map_or(rest, |(pool, _)| pool)
}

impl State {
    fn limited(&self, pool: &str) -> bool {
        self.pools.get(pool).is_some_and(|pool| pool.limited)
    }

    fn ordered_pools(&self) -> impl Iterator<Item = &String> {
        self.ordered.union(&self.next_ordered)
    }

    fn has_ordered(&self) -> bool {
        !(self.ordered.is_empty() && self.next_ordered.is_empty())
    }
}

impl PoolCache {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the shares must be read again.
    pub fn is_stale(&self) -> bool {
        let state = self.lock();
        let most = match (&state.cursor, state.has_ordered()) {
            (Some(_), _) => PAUSE,
            (None, true) => FRESH,
            (None, false) => FRESH_UNORDERED,
        };
        state.searched_at.is_none_or(|searched| searched.elapsed() >= most)
    }

    /// Returns the share after which to continue reading; `None` to start at the first.
    pub fn cursor(&self) -> Option<String> {
        self.lock().cursor.clone()
    }

    /// Stores the shares that were read, up to `cursor` if there are more, and returns the pools to read.
    pub fn seen(&self, keys: Vec<String>, cursor: Option<String>) -> BTreeSet<String> {
        let mut state = self.lock();
        state.searched_at = Some(Instant::now());
        let known: HashSet<String> = state.free.iter().cloned().collect();
        for key in keys {
            if key.starts_with('o') {
                let pool = pool_in(&key).to_owned();
                state.next_ordered.insert(pool);
            } else if !known.contains(&key) {
                // New shares need not wait for a full round.
                state.free.push_front(key);
            }
        }
        if cursor.is_none() {
            state.ordered = std::mem::take(&mut state.next_ordered);
        }
        state.cursor = cursor;
        let free = state.free.iter().map(|key| pool_in(key).to_owned());
        let pools = free.chain(state.ordered_pools().cloned()).filter(|pool| !pool.is_empty());
        pools.collect()
    }

    /// Returns the limited pools without an internal row, as far as this process knows.
    pub fn not_enrolled(&self, found: &BTreeMap<String, PoolState>) -> Vec<String> {
        let state = self.lock();
        let new = found.iter().filter(|(name, pool)| pool.limited && !state.enrolled.contains(*name));
        new.map(|(name, _)| name.clone()).collect()
    }

    /// Records that these pools have an internal row.
    pub fn enrolled(&self, pools: Vec<String>) {
        self.lock().enrolled.extend(pools);
    }

    /// Whether the table of pools exists; `None` if it must be checked.
    pub fn pool_table_exists(&self) -> Option<bool> {
        match self.lock().table {
            PoolTablePresence::There => Some(true),
            PoolTablePresence::Absent(searched) if searched.elapsed() < ABSENT => Some(false),
            PoolTablePresence::Unknown | PoolTablePresence::Absent(_) => None,
        }
    }

    /// Records whether the table of pools exists.
    pub fn record_pool_table(&self, there: bool) {
        self.lock().table =
            if there { PoolTablePresence::There } else { PoolTablePresence::Absent(Instant::now()) };
    }

    /// Stores the state of the pools in `asked`; those that are not in `found` have no limits.
    pub fn set_pools(&self, asked: &BTreeSet<String>, found: BTreeMap<String, PoolState>) {
        let mut state = self.lock();
        state.pools.retain(|name, _| !asked.contains(name));
        state.pools.extend(found);
    }

    /// Divides `rows` evenly among the next shares.
    ///
    /// Shares of limited pools are tried once per claim; `tried` keeps track of them.
    pub fn plan(
        &self,
        rows: u32,
        most: usize,
        free: UnorderedRows,
        tried: &mut HashSet<String>,
    ) -> Vec<FairKey> {
        let mut state = self.lock();
        if free == UnorderedRows::OfPools {
            state.free.retain(|key| !pool_in(key).is_empty());
        }
        let mut chosen: Vec<FairKey> = Vec::new();
        let most = most.min(rows as usize);
        for _ in 0..state.free.len() {
            if chosen.len() >= most {
                break;
            }
            let Some(key) = state.free.pop_front() else { break };
            let pool = pool_in(&key);
            let limited = state.limited(pool).then(|| pool.to_owned());
            if limited.is_none() || tried.insert(key.clone()) {
                chosen.push(FairKey { key: key.clone(), limited, most: 0 });
            }
            state.free.push_back(key);
        }
        let (mut left, mut others) = (rows, u32::try_from(chosen.len()).unwrap_or(u32::MAX));
        for share in &mut chosen {
            share.most = left.div_ceil(others.max(1));
            left -= share.most;
            others -= 1;
        }
        chosen
    }

    /// Records the result of a plan: a share that gave fewer rows than planned has no more that may go.
    pub fn yielded(&self, plan: &[FairKey], got: &[ClaimedRow]) {
        let mut counts: HashMap<String, u32> = HashMap::new();
        for row in got {
            let (pool, share) = (row.pool.as_deref().unwrap_or(""), row.share.as_deref().unwrap_or(""));
            *counts.entry(format!("f{pool}{BETWEEN}{share}")).or_default() += 1;
        }
        let spent: HashSet<&String> = plan
            .iter()
            .filter(|share| share.limited.is_none())
            .filter(|share| counts.get(&share.key).copied().unwrap_or(0) < share.most)
            .map(|share| &share.key)
            .collect();
        self.lock().free.retain(|key| !spent.contains(key));
    }

    /// Returns the limited pools with waiting rows.
    pub fn limited(&self) -> BTreeSet<String> {
        let state = self.lock();
        let free = state.free.iter().map(|key| pool_in(key));
        let ordered = state.ordered_pools().map(String::as_str);
        free.chain(ordered).filter(|pool| state.limited(pool)).map(str::to_owned).collect()
    }

    /// Whether any cached pool is limited.
    pub fn has_rates(&self) -> bool {
        self.lock().pools.values().any(|pool| pool.limited)
    }

    /// Whether rows of ordered groups wait, as far as this process knows.
    pub fn has_ordered(&self) -> bool {
        self.lock().has_ordered()
    }

    /// Returns the limited pools of ordered rows.
    pub fn limited_of_groups(&self) -> BTreeSet<String> {
        let state = self.lock();
        state.ordered_pools().filter(|pool| state.limited(pool)).cloned().collect()
    }

    /// Returns the pools of ordered rows: the limited ones, and those with permits left.
    pub fn of_groups(&self) -> OpenPools {
        let state = self.lock();
        let mut pools = OpenPools::default();
        for name in state.ordered_pools() {
            let limited = state.limited(name);
            if limited {
                pools.limited.push(name.clone());
            }
            if !limited || state.pools.get(name).is_some_and(|pool| pool.permits > 0) {
                pools.open.push(name.clone());
            }
        }
        pools
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(keys: &[&str]) -> Vec<String> {
        keys.iter().map(ToString::to_string).collect()
    }

    fn limited(name: &str) -> BTreeMap<String, PoolState> {
        BTreeMap::from([(name.to_owned(), PoolState { limited: true, permits: 1, wait: Duration::ZERO })])
    }

    #[test]
    fn j09_rows_are_shared_out_evenly_and_in_turn() {
        let known = PoolCache::default();
        known.seen(keys(&["f\ta", "f\tb", "f\tc"]), None);
        let plan = known.plan(2, 100, UnorderedRows::All, &mut HashSet::new());
        let first: Vec<String> = plan.iter().map(|share| share.key.clone()).collect();
        assert_eq!(plan.iter().map(|share| share.most).collect::<Vec<_>>(), [1, 1]);
        let next = known.plan(2, 100, UnorderedRows::All, &mut HashSet::new());
        assert!(!first.contains(&next[0].key), "who had no turn comes first");
    }

    #[test]
    fn j09_a_share_that_gave_less_is_left_alone() {
        let known = PoolCache::default();
        known.seen(keys(&["f\ta"]), None);
        let plan = known.plan(5, 100, UnorderedRows::All, &mut HashSet::new());
        known.yielded(&plan, &[]);
        assert!(known.plan(5, 100, UnorderedRows::All, &mut HashSet::new()).is_empty());
    }

    #[test]
    fn j09_a_limited_pool_is_tried_once_a_claim_and_stays_known() {
        let known = PoolCache::default();
        let pools = known.seen(keys(&["fp\ta", "f\ta"]), None);
        known.set_pools(&pools, limited("p"));
        let mut tried = HashSet::new();
        let plan = known.plan(4, 100, UnorderedRows::All, &mut tried);
        assert_eq!(plan.iter().filter(|share| share.limited.as_deref() == Some("p")).count(), 1);
        known.yielded(&plan, &[]);
        assert!(known.plan(4, 100, UnorderedRows::All, &mut tried).is_empty());
        assert_eq!(known.plan(4, 100, UnorderedRows::All, &mut HashSet::new()).len(), 1);
    }

    #[test]
    fn j03_with_a_queue_only_rows_of_pools_are_planned() {
        let known = PoolCache::default();
        known.seen(keys(&["f\ta", "fp\ta", "f\tb"]), None);
        let plan = known.plan(9, 100, UnorderedRows::OfPools, &mut HashSet::new());
        assert_eq!(plan.iter().map(|share| share.key.as_str()).collect::<Vec<_>>(), ["fp\ta"]);
    }

    #[test]
    fn j08_ordered_rows_are_known_from_the_search_that_finds_their_share() {
        let known = PoolCache::default();
        known.seen(keys(&["f\ta"]), None);
        assert!(!known.has_ordered());
        known.seen(keys(&["f\ta", "op\ta"]), Some("op\ta".to_owned()));
        assert!(known.has_ordered(), "before the round is over");
        known.seen(keys(&["oq\ta"]), None);
        assert!(known.has_ordered());
        known.seen(keys(&["f\ta"]), None);
        assert!(!known.has_ordered());
    }

    #[test]
    fn j09_pools_of_ordered_rows_are_open_or_limited() {
        let known = PoolCache::default();
        let pools = known.seen(keys(&["oempty\ta", "op\ta"]), None);
        known.set_pools(&pools, limited("p"));
        let pools = known.of_groups();
        assert_eq!((pools.limited, pools.open), (keys(&["p"]), keys(&["empty", "p"])));
    }
}
