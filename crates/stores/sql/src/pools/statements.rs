//! Claims by shares (fair queueing): a share is the rows of one pool and one client.
//!
//! A claim takes some rows of each share, so that a long share does not delay the others; rows of a limited pool are
//! claimed only with its permits.
//!
//! The key of a share is one text: the kind of row (`f` free, `o` ordered), the pool, a tab, the client. An index of
//! the ready rows starts with it, so that a loose scan finds every share without reading its rows. (On MySQL, which has
//! no such index, it is a virtual column.) Ordered rows are claimed by their groups, so that the clients of a pool share
//! one key, except on MySQL.

use std::time::Duration;

use postrider_contract::{ColumnRole, Contract, Stage, Transition};
use postrider_seams::row::ClaimedRow;

use crate::bind::{Ids, in_order};
use crate::claim::columns::Seen;
use crate::claim::params::Claiming;
use crate::claim::row::ClaimReader;
use crate::ddl::index_key;
use crate::pools::cache::PoolState;
use crate::pools::permits::PoolPermits;
use crate::render::column::Kind;
use crate::render::condition::Lookup;
use crate::render::ident;
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::render::value::Writes;
use crate::typed::{Bound, Params, typed_script};
use crate::{Dialect, Error, Param, Script, Step, Yields};

/// The claim by shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareScripts {
    pub first: FindShares,
    /// The same, from the cursor on.
    pub after: FindShares,
    pub take: ClaimShares,
    /// Absent if the contract has no pools.
    pub pools: Option<PoolScripts>,
}

/// The scripts for the limits of pools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolScripts {
    pub exists: PoolTableExists,
    pub limits: ReadPoolLimits,
    pub insert: InsertPoolRows,
    /// Claims under the locks of limited pools.
    pub take: ClaimShares,
    pub refund: RefundPermits,
}

typed_script! {
    /// Yields the keys of shares with waiting rows, in order.
    pub FindShares(ShareSearch<'_>) -> String, Read, |_, mut row| row.text()
}

typed_script! {
    /// Claims rows of the wanted shares.
    pub ClaimShares { reader: ClaimReader } (Claiming<PoolPermits>) -> ClaimedRow, Write,
    |this, row| this.reader.read(row), sorted in_order
}

typed_script! {
    /// Yields whether the table of pools exists; without it no pool is limited.
    pub PoolTableExists(()) -> bool, Read, |_, mut row| Some(row.count() == 1)
}

typed_script! {
    /// Yields the state of those of the named pools that exist.
    pub ReadPoolLimits(Pools<'_>) -> (String, PoolState), Read, |_, mut row| {
        let name = row.text()?;
        let (limited, permits) = (row.count() == 1, row.count());
        Some((name, PoolState { limited, permits, wait: Duration::from_micros(row.count()) }))
    }
}

typed_script! {
    /// Inserts an internal row for each pool: its lock and its rate bucket.
    pub InsertPoolRows(Pools<'_>) -> (), Write, |_, _| None
}

typed_script! {
    /// Returns the permits that the named rows cost.
    pub RefundPermits(Ids<'_>) -> (), Write, |_, _| None
}

/// A search for shares.
#[derive(Debug, Clone, Copy)]
pub struct ShareSearch<'a> {
    /// The last share that was read.
    pub cursor: Option<&'a str>,
    pub limit: u32,
}

impl Params for ShareSearch<'_> {
    fn value(&self, param: &Param, _: Dialect) -> Option<Bound<'_>> {
        match param {
            Param::Cursor => Some(Bound::text(self.cursor?)),
            Param::Jumps => Some(Bound::int(self.limit)),
            _ => None,
        }
    }
}

/// The names of pools.
#[derive(Debug, Clone, Copy)]
pub struct Pools<'a>(pub &'a [String]);

impl Params for Pools<'_> {
    fn value(&self, param: &Param, _: Dialect) -> Option<Bound<'_>> {
        (*param == Param::Pools).then_some(Bound::Texts(self.0))
    }
}

/// Separates the pool and the client of a share.
pub(crate) const BETWEEN: char = '\t';

/// Returns the name of MySQL's column that holds the share of a ready row.
pub(crate) fn share_column(contract: &Contract, stage: &Stage) -> String {
    match contract.stages.len() {
        1 => "ready_share".to_owned(),
        _ => ident::bounded(&format!("{}_ready_share", stage.name.replace('-', "_"))),
    }
}

impl Table<'_> {
    /// Returns the name of MySQL's share column for this stage.
    pub fn share_column(&self) -> String {
        share_column(self.contract, self.stage)
    }

    /// Errs if the contract has shares and MySQL's share column is missing.
    pub fn check_shares(&self) -> Result<(), Error> {
        let name = self.share_column();
        let needed = self.dialect == Dialect::Mysql && self.contract.limits_claims();
        if needed && self.shape.column(&name).is_none() {
            return Err(Error::MissingColumns {
                table: self.contract.table.name.clone(),
                columns: vec![name],
            });
        }
        Ok(())
    }

    /// Returns the share of a ready row, as its index has it.
    pub fn share(&self) -> String {
        match self.dialect {
            Dialect::Mysql => self.col(&self.share_column()),
            Dialect::Postgres | Dialect::Sqlite => format!("({})", self.share_rule()),
        }
    }

    /// Returns the expression of the share's key: the kind, the pool, a tab, for free rows the client.
    pub fn share_rule(&self) -> String {
        let ordered = self.group().map(|group| self.is_ordered(group));
        let text = |column: Option<&str>| match column {
            None => "''".to_owned(),
            Some(column) if self.kind(column) == Kind::Text => format!("COALESCE({}, '')", self.col(column)),
            Some(column) => format!("COALESCE({}, '')", self.as_text(&self.col(column))),
        };
        let pool = text(self.contract.column(ColumnRole::Pool));
        let client = text(self.contract.claim.fair.as_ref().map(|fair| fair.name.as_str()));
        match (self.dialect, ordered) {
            (Dialect::Mysql, ordered) => {
                let kind = ordered.map_or_else(
                    || "'f'".to_owned(),
                    |ordered| format!("CASE WHEN {ordered} THEN 'o' ELSE 'f' END"),
                );
                format!("CONCAT({kind}, {pool}, '{BETWEEN}', {client})")
            }
            (Dialect::Postgres | Dialect::Sqlite, Some(ordered)) => format!(
                "CASE WHEN {ordered} THEN 'o' || {pool} || '{BETWEEN}' ELSE 'f' || {pool} || '{BETWEEN}' || {client} END"
            ),
            (Dialect::Postgres | Dialect::Sqlite, None) => {
                format!("'f' || {pool} || '{BETWEEN}' || {client}")
            }
        }
    }

    /// Returns the condition of the share index: the row is ready, whether due or not.
    pub fn is_waiting(&self) -> String {
        let mut conditions = vec![self.in_states(&self.stage.ready, Lookup::Index)];
        conditions.extend(self.filter());
        conditions.join(" AND ")
    }

    /// Returns the scripts of the claim by shares; `None` if the contract has no shares.
    pub fn share_claim(&self) -> Option<ShareScripts> {
        if !self.contract.limits_claims() {
            return None;
        }
        let writes = Writes::of(self.contract, self.contract.lease_move(self.stage, Transition::Claimed));
        let take = self.share_take(&writes);
        let one = |step| Script { steps: vec![step] };
        let claim = |script| ClaimShares { script, reader: self.claim_reader(&[]) };
        let pools = self.pool_table().map(|pool| PoolScripts {
            exists: PoolTableExists { script: one(self.pool_table_exists(pool)) },
            limits: ReadPoolLimits { script: one(self.pool_state(pool)) },
            insert: InsertPoolRows { script: one(self.pool_insert(pool)) },
            take: claim(self.under_permits(take.clone())),
            refund: RefundPermits { script: one(self.pool_spend(pool, Param::Ids)) },
        });
        Some(ShareScripts {
            first: FindShares { script: one(self.share_search(None)) },
            after: FindShares { script: one(self.share_search(Some(Param::Cursor))) },
            take: claim(Script { steps: take }),
            pools,
        })
    }

    /// Whether the index of shares also answers which row is due next, so that no index of all free rows is needed.
    pub fn shares_have_order(&self) -> bool {
        self.dialect != Dialect::Mysql
            && self.contract.limits_claims()
            && self.contract.column(ColumnRole::Due).is_some()
    }

    fn share_search(&self, cursor: Option<Param>) -> Step {
        let builder = StepBuilder::plain(self);
        let (share, waiting, table) = (self.share(), self.is_waiting(), self.name());
        let cast = if self.dialect == Dialect::Postgres { "::text" } else { "" };
        let after =
            cursor.map(|cursor| format!(" AND {share} > {}{cast}", builder.bind(cursor))).unwrap_or_default();
        let next = |than: &str| {
            format!("SELECT {share} AS s FROM {table} AS t WHERE {waiting}{than} ORDER BY {share} LIMIT 1")
        };
        let jumps = builder.bind(Param::Jumps);
        let text = match self.dialect {
            Dialect::Postgres => format!(
                "WITH RECURSIVE ring AS (\n({})\nUNION ALL\nSELECT n.s FROM ring AS r CROSS JOIN LATERAL (\n{}) AS \
                 n)\nSELECT s FROM ring LIMIT {jumps}",
                next(&after),
                next(&format!(" AND {share} > r.s"))
            ),
            Dialect::Sqlite => format!(
                "SELECT s FROM (\nWITH RECURSIVE ring(s) AS (\nSELECT * FROM ({})\nUNION ALL\nSELECT ({}) FROM ring AS r \
                 WHERE r.s IS NOT NULL\nLIMIT {jumps})\nSELECT s FROM ring)\nWHERE s IS NOT NULL",
                next(&after),
                next(&format!(" AND {share} > r.s"))
            ),
            // One hop: MySQL and MariaDB make no loose scan over a virtual column.
            Dialect::Mysql => format!(
                "SELECT {share} FROM {table} AS t WHERE {share} IS NOT NULL{after}\nORDER BY {share} LIMIT {jumps}"
            ),
        };
        builder.finish(&text, Yields::Other)
    }

    /// Claims rows of the given shares, the first of each in the order of claims.
    fn share_take(&self, writes: &Writes<'_>) -> Vec<Step> {
        match self.dialect {
            Dialect::Postgres => vec![self.postgres_share_take(writes)],
            Dialect::Sqlite => {
                let builder = StepBuilder::plain(self);
                let pick = self.ranked_pick(&builder, &self.key());
                let first = builder.finish(&pick, Yields::Keys);
                let mut steps = vec![first];
                steps.extend(self.sqlite_mark(writes));
                steps
            }
            Dialect::Mysql => {
                let mut steps = vec![self.mysql_share_pick(writes)];
                steps.extend(self.mysql_mark(writes));
                steps
            }
        }
    }

    /// Claims one share after another, because not every server has LATERAL. The share implies that the row is ready
    /// and passes the filter; repeating these conditions could make the planner choose another index.
    fn mysql_share_pick(&self, writes: &Writes<'_>) -> Step {
        let builder = StepBuilder::plain(self);
        let columns = builder.layout_columns(writes, Seen::Before).join(", ");
        let mut conditions = vec![format!("{} = {}", self.share(), builder.bind(Param::Share))];
        conditions.extend(self.is_due());
        conditions.extend(self.has_attempts_left());
        conditions.extend(self.is_old_enough());
        conditions.extend(self.not_barred(&self.stage.ready));
        conditions.extend(self.has_key());
        let text = format!(
            "SELECT {columns}, 1\nFROM {} AS t\nWHERE {}\nORDER BY {}\nLIMIT {}\nFOR UPDATE SKIP LOCKED",
            self.name(),
            conditions.join("\n  AND "),
            self.order_list(),
            builder.bind(Param::Quota)
        );
        builder.finish(&text, Yields::Run)
    }

    /// Returns the first rows of each given share, up to its quota. The number of rows read is the same for all shares,
    /// so that the planner knows it.
    pub fn ranked_pick(&self, builder: &StepBuilder<'_>, key: &str) -> String {
        let (table, id, order) = (self.name(), self.id(), self.claim_order());
        let (shares, quota) = (builder.bind(Param::Shares), builder.bind(Param::Quota));
        let mut conditions = self.claimable(&self.stage.ready);
        conditions.extend(self.free_conditions());
        let conditions = conditions.join("\n  AND ");
        let (share, listed) = (self.share(), self.order_list());
        let keys: Vec<String> =
            order.iter().enumerate().map(|(index, (key, _))| format!("{key} AS o{index}")).collect();
        let sorted = |alias: &str| {
            let sorted = order.iter().enumerate().map(|(at, (_, way))| format!("{alias}.o{at}{way}"));
            sorted.collect::<Vec<_>>().join(", ")
        };
        let places: Vec<String> = (0..order.len()).map(|index| format!("y.o{index}")).collect();
        match self.dialect {
            Dialect::Sqlite => format!(
                "SELECT y.k FROM (\nSELECT {key} AS k, {}, j.value->>'n' AS most, row_number() OVER (PARTITION BY j.key ORDER \
                 BY {listed}) AS nth\nFROM json_each({shares}) AS j CROSS JOIN {table} AS t ON {id} IN (\n  SELECT {id} FROM \
                 {table} AS t\n  WHERE {share} = j.value->>'s' AND {conditions}\n  ORDER BY {listed} LIMIT {quota})) AS \
                 y\nWHERE y.nth <= y.most\nORDER BY {}",
                keys.join(", "),
                sorted("y")
            ),
            Dialect::Postgres | Dialect::Mysql => format!(
                "SELECT y.k, {} FROM (\nSELECT r.*, w.n AS most, row_number() OVER (PARTITION BY w.s ORDER BY {}) AS \
                 nth\nFROM jsonb_to_recordset({shares}::jsonb) AS w(s text, n bigint) CROSS JOIN LATERAL (\nSELECT {id} AS \
                 k, {}\nFROM {table} AS t\nWHERE {share} = w.s AND {conditions}\nORDER BY {listed}\nLIMIT {quota}\nFOR UPDATE \
                 SKIP LOCKED) AS r) AS y\nWHERE y.nth <= y.most",
                places.join(", "),
                sorted("r"),
                keys.join(", ")
            ),
        }
    }

    /// Returns the key expressions of the share index.
    pub fn share_keys(&self) -> Vec<String> {
        let order = self.claim_order().into_iter();
        let order = order.map(|(key, direction)| format!("{}{direction}", index_key(&key)));
        let fresh = self.freshness_key().map(|key| index_key(&key.expression));
        std::iter::once(index_key(&self.share_rule())).chain(fresh).chain(order).collect()
    }
}
