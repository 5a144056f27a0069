//! The permits of limited pools in one claim: zero until they are counted under the pools' locks.

use std::collections::BTreeMap;

use postrider_seams::row::Value;
use serde_json::json;

use crate::bind::{self, Share, Shares};

/// The shares that one claim wants, limited by the permits of their pools.
#[derive(Debug)]
pub struct PoolPermits {
    wanted: Vec<Share>,
    /// Limited pool → number of rows that may go.
    left: BTreeMap<String, u64>,
    open: Vec<String>,
    pool_column: Option<usize>,
}

impl PoolPermits {
    /// The wanted shares, with no permits for limited pools yet.
    pub fn new(given: &Shares) -> Self {
        let left = given.limited.iter().map(|pool| (pool.clone(), 0)).collect();
        let mut permits = Self {
            wanted: given.wanted.clone(),
            left,
            open: given.open.clone(),
            pool_column: given.pool_column,
        };
        permits.bound_shares(given);
        permits
    }

    /// Stores the permits of pools that were locked and counted.
    pub fn counted(&mut self, given: &Shares, rows: &[Vec<Value>]) {
        for row in rows {
            let Some(pool) = row.first().and_then(Value::as_text) else { continue };
            let may_go = row.get(1).map_or(0, bind::count);
            if let Some(left) = self.left.get_mut(pool) {
                *left = may_go;
            }
            if may_go > 0 && !self.open.iter().any(|open| open == pool) {
                self.open.push(pool.to_owned());
            }
        }
        self.bound_shares(given);
    }

    /// Divides the permits of each pool evenly among its shares; the first shares get the remainder.
    fn bound_shares(&mut self, given: &Shares) {
        self.wanted.clone_from(&given.wanted);
        for (pool, left) in &self.left {
            let mut left = *left;
            let mut shares: Vec<&mut Share> =
                self.wanted.iter_mut().filter(|share| share.limited.as_ref() == Some(pool)).collect();
            let mut others = shares.len() as u64;
            for share in &mut shares {
                let even = left.div_ceil(others.max(1));
                share.most = share.most.min(u32::try_from(even).unwrap_or(u32::MAX));
                left -= u64::from(share.most);
                others -= 1;
            }
        }
        self.wanted.retain(|share| share.most > 0);
    }

    /// Returns the shares with their quotas.
    pub fn shares(&self) -> &[Share] {
        &self.wanted
    }

    /// Returns the largest quota of any share.
    pub fn quota(&self) -> u32 {
        self.wanted.iter().map(|share| share.most).max().unwrap_or(0)
    }

    /// Returns the shares and quotas as the JSON of [`Param::Shares`](crate::Param::Shares).
    pub fn shares_json(&self) -> String {
        let shares = self.wanted.iter().map(|share| json!({ "s": share.key, "n": share.most }));
        serde_json::Value::Array(shares.collect()).to_string()
    }

    /// Returns the pools with permits left as the JSON of [`Param::Open`](crate::Param::Open).
    pub fn open_json(&self) -> String {
        bind::json_texts(&self.open)
    }

    /// Returns the permits of limited pools as the JSON of [`Param::Permits`](crate::Param::Permits).
    pub fn left_json(&self) -> String {
        let left = self.left.iter().map(|(pool, left)| json!({ "p": pool, "n": left }));
        serde_json::Value::Array(left.collect()).to_string()
    }

    /// Returns the locked rows before the first one whose pool has no permit left.
    pub fn admit(&mut self, rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
        let Some(column) = self.pool_column else { return rows };
        let mut may = |row: &Vec<Value>| {
            let pool = row.get(column).and_then(Value::as_text);
            match pool.and_then(|pool| self.left.get_mut(pool)) {
                None => true,
                Some(0) => false,
                Some(left) => {
                    *left -= 1;
                    true
                }
            }
        };
        rows.into_iter().take_while(|row| may(row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(key: &str, limited: Option<&str>, most: u32) -> Share {
        Share { key: key.to_owned(), limited: limited.map(str::to_owned), most }
    }

    fn given() -> Shares {
        let wanted = vec![
            share("a", Some("p"), 9),
            share("b", None, 9),
            share("c", Some("p"), 9),
            share("d", Some("q"), 9),
        ];
        let limited = vec!["p".to_owned(), "q".to_owned()];
        Shares { wanted, limited, open: Vec::new(), pool_column: Some(1) }
    }

    fn counted(pool: &str, left: i64) -> Vec<Value> {
        vec![Value::Text(pool.to_owned()), Value::Int(left)]
    }

    #[test]
    fn j09_a_pool_that_was_not_counted_gets_nothing() {
        let permits = PoolPermits::new(&given());
        assert_eq!(permits.shares(), [share("b", None, 9)]);
        assert_eq!(permits.left_json(), r#"[{"n":0,"p":"p"},{"n":0,"p":"q"}]"#);
    }

    #[test]
    fn j09_what_a_pool_may_have_is_shared_by_its_clients() {
        let mut permits = PoolPermits::new(&given());
        permits.counted(&given(), &[counted("p", 3), counted("q", 0)]);
        assert_eq!(
            permits.shares(),
            [share("a", Some("p"), 2), share("b", None, 9), share("c", Some("p"), 1)]
        );
        assert_eq!((permits.quota(), permits.open_json()), (9, r#"["p"]"#.to_owned()));
    }

    #[test]
    fn j09_locked_rows_end_where_the_permits_do() {
        let mut permits = PoolPermits::new(&given());
        permits.counted(&given(), &[counted("p", 2)]);
        let row = |key: i64, pool: &str| vec![Value::Int(key), Value::Text(pool.to_owned())];
        assert_eq!(permits.admit(vec![row(1, "p"), row(2, "none"), row(3, "p"), row(4, "p")]).len(), 3);
        assert!(permits.admit(vec![row(5, "p")]).is_empty());
    }
}
