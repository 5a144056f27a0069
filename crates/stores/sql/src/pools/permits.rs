//! The permits of limited pools in one claim: zero until they are counted under the pools' locks.

use std::collections::BTreeMap;

use postrider_seams::row::Value;
use serde_json::json;

use crate::typed::{Accepted, Bound, Columns, Params, Row};
use crate::{Dialect, Param, Step, Yields, bind};

/// The rows of one pool and one client, as a claim asks for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FairKey {
    pub key: String,
    /// The pool, if it is limited.
    pub limited: Option<String>,
    pub most: u32,
}

/// The state of the pools of ordered rows.
#[derive(Debug, Clone, Default)]
pub struct OpenPools {
    /// Pools with limits; their rows in flight are counted under the pool's lock.
    pub limited: Vec<String>,
    /// Pools that, by the last known counts, have permits left.
    pub open: Vec<String>,
}

/// The shares that a claim wants, limited by the permits of their pools.
#[derive(Debug, Clone)]
pub struct PoolPermits {
    asked: Vec<FairKey>,
    /// `asked` within the permits.
    shares: Vec<FairKey>,
    pools: OpenPools,
    /// Limited pool → number of rows that may go.
    left: BTreeMap<String, u64>,
    /// The column in which a pick yields the pool.
    pool_column: usize,
    /// MySQL: the share of the current turn.
    turn: usize,
}

impl PoolPermits {
    /// The wanted shares, with no permits for limited pools yet.
    pub fn new(asked: Vec<FairKey>, pools: OpenPools, pool_column: usize) -> Self {
        let left = pools.limited.iter().map(|pool| (pool.clone(), 0)).collect();
        let mut permits = Self { shares: Vec::new(), asked, pools, left, pool_column, turn: 0 };
        permits.limit_shares();
        permits
    }

    /// Whether any pool is limited.
    pub fn has_limits(&self) -> bool {
        !self.pools.limited.is_empty()
    }

    /// Stores the permits of pools that were locked and counted.
    fn counted(&mut self, rows: Vec<Row>) {
        for row in rows {
            let mut row = Columns::new(row);
            let (Some(pool), may_go) = (row.text(), row.count()) else { continue };
            if let Some(left) = self.left.get_mut(&pool) {
                *left = may_go;
            }
            if may_go > 0 && !self.pools.open.contains(&pool) {
                self.pools.open.push(pool);
            }
        }
        self.limit_shares();
    }

    /// Divides the permits of each pool evenly among its shares; the first shares get the remainder.
    fn limit_shares(&mut self) {
        self.shares.clone_from(&self.asked);
        for (pool, left) in &self.left {
            let mut left = *left;
            let mut shares: Vec<&mut FairKey> =
                self.shares.iter_mut().filter(|share| share.limited.as_ref() == Some(pool)).collect();
            let mut others = shares.len() as u64;
            for share in &mut shares {
                let even = left.div_ceil(others.max(1));
                share.most = share.most.min(u32::try_from(even).unwrap_or(u32::MAX));
                left -= u64::from(share.most);
                others -= 1;
            }
        }
        self.shares.retain(|share| share.most > 0);
    }

    /// Returns the largest quota of any share.
    fn quota(&self) -> u32 {
        self.shares.iter().map(|share| share.most).max().unwrap_or(0)
    }

    /// Returns the shares and quotas as the JSON of [`Param::Shares`].
    fn shares_json(&self) -> String {
        let shares = self.shares.iter().map(|share| json!({ "s": share.key, "n": share.most }));
        serde_json::Value::Array(shares.collect()).to_string()
    }

    /// Returns the permits of limited pools as the JSON of [`Param::Permits`].
    fn left_json(&self) -> String {
        let left = self.left.iter().map(|(pool, left)| json!({ "p": pool, "n": left }));
        serde_json::Value::Array(left.collect()).to_string()
    }

    /// Returns up to `room` rows of a [`Yields::Run`] that may go: those before the first that may not, or whose pool
    /// has no permit left; none if one is in flight.
    pub fn admit(&mut self, rows: Vec<Row>, room: usize) -> Vec<Row> {
        let flag = |row: &Row| row.last().and_then(bind::whole).unwrap_or(0);
        if rows.iter().any(|row| flag(row) < 0) {
            return Vec::new();
        }
        rows.into_iter().take(room).take_while(|row| flag(row) == 1 && self.spend(row)).collect()
    }

    fn spend(&mut self, row: &Row) -> bool {
        let pool = row.get(self.pool_column).and_then(Value::as_text);
        match pool.and_then(|pool| self.left.get_mut(pool)) {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }
}

impl Params for PoolPermits {
    fn value(&self, param: &Param, dialect: Dialect) -> Option<Bound<'_>> {
        Some(match param {
            Param::Shares => Bound::text(self.shares_json()),
            Param::Share => Bound::text(&self.shares.get(self.turn)?.key),
            Param::Quota if dialect == Dialect::Mysql => Bound::int(self.shares.get(self.turn)?.most),
            Param::Quota => Bound::int(self.quota()),
            Param::Pools => Bound::Texts(&self.pools.limited),
            Param::Open => Bound::text(bind::json_texts(&self.pools.open)),
            Param::Permits => Bound::text(self.left_json()),
            _ => return None,
        })
    }

    fn turns(&self, step: &Step) -> usize {
        match (step.params.contains(&Param::Share), step.params.contains(&Param::Shares)) {
            (true, _) => self.shares.len(),
            (false, true) => usize::from(!self.shares.is_empty()),
            (false, false) => 1,
        }
    }

    fn before(&mut self, _: &Step, turn: usize, _: &mut [Row]) {
        self.turn = turn;
    }

    fn accept(&mut self, step: &Step, rows: Vec<Row>) -> Accepted {
        match step.yields {
            Yields::Run => Accepted::More(self.admit(rows, usize::MAX)),
            Yields::Permits => {
                self.counted(rows);
                // The keys so far were those of pools.
                Accepted::Reset
            }
            _ => Accepted::Result(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(key: &str, limited: Option<&str>, most: u32) -> FairKey {
        FairKey { key: key.to_owned(), limited: limited.map(str::to_owned), most }
    }

    fn permits() -> PoolPermits {
        let asked = vec![
            share("a", Some("p"), 9),
            share("b", None, 9),
            share("c", Some("p"), 9),
            share("d", Some("q"), 9),
        ];
        let limited = vec!["p".to_owned(), "q".to_owned()];
        PoolPermits::new(asked, OpenPools { limited, open: Vec::new() }, 1)
    }

    fn counted(pool: &str, left: i64) -> Vec<Value> {
        vec![Value::Text(pool.to_owned()), Value::Int(left)]
    }

    #[test]
    fn j09_a_pool_that_was_not_counted_gets_nothing() {
        let permits = permits();
        assert_eq!(permits.shares, [share("b", None, 9)]);
        assert_eq!(permits.left_json(), r#"[{"n":0,"p":"p"},{"n":0,"p":"q"}]"#);
    }

    #[test]
    fn j09_what_a_pool_may_have_is_shared_by_its_clients() {
        let mut permits = permits();
        permits.counted(vec![counted("p", 3), counted("q", 0)]);
        assert_eq!(permits.shares, [share("a", Some("p"), 2), share("b", None, 9), share("c", Some("p"), 1)]);
        assert_eq!((permits.quota(), permits.pools.open), (9, vec!["p".to_owned()]));
    }

    #[test]
    fn j09_locked_rows_end_where_the_permits_do() {
        let mut permits = permits();
        permits.counted(vec![counted("p", 2)]);
        let row = |key: i64, pool: &str| vec![Value::Int(key), Value::Text(pool.to_owned()), Value::Int(1)];
        assert_eq!(permits.admit(vec![row(1, "p"), row(2, "none"), row(3, "p"), row(4, "p")], 9).len(), 3);
        assert!(permits.admit(vec![row(5, "p")], 9).is_empty());
    }

    fn row(key: i64, flag: i64) -> Vec<Value> {
        vec![Value::Int(key), Value::Null, Value::Int(flag)]
    }

    #[test]
    fn a_run_ends_before_the_first_row_that_may_not_go() {
        assert_eq!(permits().admit(vec![row(1, 1), row(2, 0), row(3, 1)], 9), [row(1, 1)]);
    }

    #[test]
    fn a_group_with_a_row_in_flight_is_left_alone() {
        assert!(permits().admit(vec![row(1, 1), row(2, -1)], 9).is_empty());
    }
}
