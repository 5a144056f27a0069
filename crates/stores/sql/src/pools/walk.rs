//! Renders queries that walk the shares of a kind and read the first rows of each, by the index of shares.
//!
//! Must not: read a number of rows that depends on the backlog.

use crate::Dialect;
use crate::render::table::Table;

/// Maximum number of shares that are read to find the next due row, or the newest ordered rows; polling and the group
/// cursor find those of others.
const SHARES_READ: u32 = 1_000;

/// The kind of the rows of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShareKind {
    Free,
    Ordered,
}

impl Table<'_> {
    /// Returns a query for `value AS w` of the first row of each share of a kind that satisfies the conditions. It reads
    /// a limited number of shares.
    pub fn first_of_shares(
        &self,
        kind: ShareKind,
        value: &str,
        conditions: &[String],
        order: &str,
    ) -> String {
        let (share, table) = (self.share(), self.name());
        let next = |than: &str| self.next_share(kind, than);
        let first = |of: &str| {
            format!(
                "SELECT {value} AS w FROM {table} AS t WHERE {share} = {of} AND {} ORDER BY {order} LIMIT 1",
                conditions.join(" AND ")
            )
        };
        match self.dialect {
            Dialect::Postgres => format!(
                "WITH RECURSIVE ring AS (\n({})\nUNION ALL\nSELECT n.s FROM ring AS r CROSS JOIN LATERAL (\n{}) AS \
                 n)\nSELECT f.w FROM (SELECT s FROM ring LIMIT {SHARES_READ}) AS r CROSS JOIN LATERAL (\n{}) AS f",
                next(""),
                next(&format!(" AND {share} > r.s")),
                first("r.s")
            ),
            Dialect::Sqlite | Dialect::Mysql => format!(
                "WITH RECURSIVE ring(s) AS (\nSELECT * FROM ({})\nUNION ALL\nSELECT ({}) FROM ring AS r WHERE r.s IS NOT \
                 NULL\nLIMIT {SHARES_READ})\nSELECT ({}) AS w FROM ring WHERE ring.s IS NOT NULL",
                next(""),
                next(&format!(" AND {share} > r.s")),
                first("ring.s")
            ),
        }
    }

    /// Returns a query for the group `g` and the key `k` of the newest rows of each share of ordered rows. It reads a
    /// limited number of shares.
    pub fn newest_of_shares(&self, by: &str, conditions: &[String], key: &str, limit: &str) -> String {
        let (share, table, id) = (self.share(), self.name(), self.id());
        let next = |than: &str| self.next_share(ShareKind::Ordered, than);
        let (first, following) = (next(""), next(&format!(" AND {share} > r.s")));
        let newest = |columns: &str, of: &str| {
            format!(
                "SELECT {columns} FROM {table} AS t WHERE {share} = {of} AND {} ORDER BY {key} DESC LIMIT {limit}",
                conditions.join(" AND ")
            )
        };
        match self.dialect {
            Dialect::Postgres => format!(
                "WITH RECURSIVE shares AS (\n({first})\nUNION ALL\nSELECT n.s FROM shares AS r CROSS JOIN LATERAL \
                 (\n{following}) AS n)\nSELECT n.g, n.k FROM (SELECT s FROM shares LIMIT {SHARES_READ}) AS r CROSS JOIN LATERAL \
                 (\n{}) AS n",
                newest(&format!("{by} AS g, {key} AS k"), "r.s")
            ),
            Dialect::Sqlite | Dialect::Mysql => format!(
                "WITH RECURSIVE shares(s) AS (\nSELECT * FROM ({first})\nUNION ALL\nSELECT ({following}) FROM shares AS r \
                 WHERE r.s IS NOT NULL\nLIMIT {SHARES_READ})\nSELECT {by} AS g, {key} AS k FROM shares AS r CROSS JOIN \
                 {table} AS t ON {id} IN (\n{})\nWHERE r.s IS NOT NULL",
                newest(&id, "r.s")
            ),
        }
    }

    /// Returns a query for the first share `s` of a kind that satisfies a condition on it.
    fn next_share(&self, kind: ShareKind, than: &str) -> String {
        let (share, waiting, table) = (self.share(), self.is_waiting(), self.name());
        // The kind of a share is its first letter: `f` for free rows, `o` for ordered ones.
        let range = match kind {
            ShareKind::Free => format!("{share} < 'g'"),
            ShareKind::Ordered => format!("{share} >= 'o'"),
        };
        format!(
            "SELECT {share} AS s FROM {table} AS t WHERE {waiting} AND {range}{than} ORDER BY {share} LIMIT 1"
        )
    }
}
