//! Renders the limits of pools: which pools there are, how many of their rows may go, and the rate buckets that rows
//! spend.
//!
//! The permits of a pool are what its limits leave: its concurrency minus the rows in flight, and the content of its
//! rate bucket. This takes two statements: the first locks the pool's internal row, the second counts with a snapshot
//! made under that lock. Invariant: rows of a limited pool are claimed only under its lock.

use postrider_contract::{ColumnRole, PoolTable};

use crate::internal::POOLS;
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::{Dialect, Param, Script, Step, Yields};

/// A number larger than any claim asks for.
const MANY: i64 = 1_000_000;

impl Table<'_> {
    /// The table of pools, even if it does not exist: it may be created while a lane runs.
    pub(super) fn pool_table(&self) -> Option<&PoolTable> {
        self.contract.pool.as_ref().filter(|_| self.contract.column(ColumnRole::Pool).is_some())
    }

    /// Yields 1 if the table of pools has all needed columns, else 0.
    pub(super) fn pool_table_exists(&self, pool: &PoolTable) -> Step {
        let columns = [&pool.id, &pool.concurrency, &pool.rate, &pool.paused];
        let listed = columns.map(|column| self.text(column)).join(", ");
        let (schema, name) = match pool.table.split_once('.') {
            Some((schema, name)) => (Some(schema), name),
            None => (None, pool.table.as_str()),
        };
        let found = match self.dialect {
            Dialect::Postgres => {
                let path = self.text(&self.dialect.quoted_path(&pool.table));
                format!(
                    "pg_catalog.pg_attribute WHERE attrelid = to_regclass({path}) AND NOT attisdropped AND attname IN \
                     ({listed})"
                )
            }
            Dialect::Mysql => format!(
                "information_schema.columns WHERE table_schema = {} AND table_name = {} AND column_name IN ({listed})",
                schema.map_or_else(|| "DATABASE()".to_owned(), |schema| self.text(schema)),
                self.text(name)
            ),
            Dialect::Sqlite => {
                format!("pragma_table_info({}) WHERE name IN ({listed})", self.text(name))
            }
        };
        let whole = format!("CASE WHEN count(*) = {} THEN 1 ELSE 0 END", columns.len());
        StepBuilder::plain(self)
            .finish(&format!("SELECT {} FROM {found}", self.as_integer(&whole)), Yields::Other)
    }

    /// Returns a script that counts permits under the pools' locks, claims with `take`, and spends the permits.
    pub fn under_permits(&self, take: Vec<Step>) -> Script {
        let Some(pool) = self.pool_table() else { return Script { steps: take } };
        let mut steps = self.pool_permits(pool);
        steps.extend(take);
        steps.push(self.pool_spend(pool, Param::Held));
        Script { steps }
    }

    /// Whether the contract has a table of pools.
    pub fn has_pools(&self) -> bool {
        self.pool_table().is_some()
    }

    /// Returns the condition that the row has no pool, or one with permits left; `None` if there are no pools.
    pub fn in_open_pool(&self, builder: &StepBuilder<'_>) -> Option<String> {
        let pool = self.role(ColumnRole::Pool).filter(|_| self.has_pools())?;
        let open = builder.bind(Param::Open);
        Some(match self.dialect {
            Dialect::Postgres => {
                format!("({pool} IS NULL OR jsonb_exists({open}::jsonb, {}))", self.as_text(&pool))
            }
            Dialect::Mysql => {
                format!("({pool} IS NULL OR JSON_CONTAINS({open}, JSON_QUOTE({})))", self.as_text(&pool))
            }
            Dialect::Sqlite => format!("({pool} IS NULL OR {pool} IN (SELECT value FROM json_each({open})))"),
        })
    }

    fn among_texts(&self, column: &str, list: &str) -> String {
        match self.dialect {
            Dialect::Postgres => format!("{column} = ANY ({list}::text[])"),
            Dialect::Mysql => format!("{column} IN ({list})"),
            Dialect::Sqlite => format!("{column} IN (SELECT value FROM json_each({list}))"),
        }
    }

    /// Yields the limited ones of the named pools, how many rows may go now, and microseconds until the rate permits
    /// one.
    pub(super) fn pool_state(&self, pool: &PoolTable) -> Step {
        let builder = StepBuilder::plain(self);
        let p = PoolTerms::new(self, pool);
        let text = format!(
            "SELECT {}, CASE WHEN {} OR {} OR {} THEN 1 ELSE 0 END, {}, {}\nFROM {} AS p LEFT JOIN {POOLS} AS b ON b.pool = \
             {}\nWHERE {}",
            self.as_text(&p.id),
            format_args!("{} IS NOT NULL", p.concurrency),
            format_args!("{} IS NOT NULL", p.rate),
            p.paused,
            self.as_integer(&p.permits(self)),
            self.as_integer(&p.wait_micros()),
            p.table,
            p.id,
            self.among_texts(&p.id, &builder.bind(Param::Pools))
        );
        builder.finish(&text, Yields::Other)
    }

    /// Inserts an internal row for each pool: its lock and its rate bucket.
    pub(super) fn pool_insert(&self, pool: &PoolTable) -> Step {
        let builder = StepBuilder::plain(self);
        let p = PoolTerms::new(self, pool);
        let (insert, or) = match self.dialect {
            Dialect::Mysql => ("INSERT IGNORE", ""),
            Dialect::Postgres | Dialect::Sqlite => ("INSERT", " ON CONFLICT DO NOTHING"),
        };
        let text = format!(
            "{insert} INTO {POOLS} (pool, free_at) SELECT {}, 0 FROM {} AS p WHERE {}{or}",
            p.id,
            p.table,
            self.among_texts(&p.id, &builder.bind(Param::Pools))
        );
        builder.finish(&text, Yields::Nothing)
    }

    fn pool_permits(&self, pool: &PoolTable) -> Vec<Step> {
        let builder = StepBuilder::plain(self);
        let lock = if self.dialect == Dialect::Sqlite { "" } else { "\nFOR UPDATE SKIP LOCKED" };
        let text = format!(
            "SELECT b.pool FROM {POOLS} AS b WHERE {} ORDER BY b.pool{lock}",
            self.among_texts("b.pool", &builder.bind(Param::Pools))
        );
        let locked = builder.finish(&text, Yields::Keys);
        let builder = StepBuilder::plain(self);
        let p = PoolTerms::new(self, pool);
        let text = format!(
            "SELECT {}, {}\nFROM {POOLS} AS b JOIN {} AS p ON {} = b.pool\nWHERE {}",
            self.as_text(&p.id),
            self.as_integer(&p.permits(self)),
            p.table,
            p.id,
            self.among_texts("b.pool", &builder.bind(Param::Held))
        );
        vec![locked, builder.finish(&text, Yields::Permits)]
    }

    /// Spends the permits of rows from their pools' buckets; for keys that the caller names (never attempted), returns
    /// them.
    pub(super) fn pool_spend(&self, pool: &PoolTable, rows: Param) -> Step {
        let builder = StepBuilder::plain(self);
        let p = PoolTerms::new(self, pool);
        let held = rows == Param::Held;
        let among = builder.among(&self.id(), rows);
        let own = self.role(ColumnRole::Pool).unwrap_or_default();
        let counted = format!(
            "(SELECT {own} AS pool, count(*) AS n FROM {} AS t WHERE {among} AND {own} IS NOT NULL GROUP BY {own}) AS x \
             JOIN {} AS p ON {} = x.pool AND {} > 0",
            self.name(),
            p.table,
            p.id,
            p.rate
        );
        let (now, every) = (&p.now, &p.every);
        let free_at = if held {
            format!("{}({}, {now}) + x.n * {every}", p.greatest, p.free_at)
        } else {
            format!("b.free_at - x.n * {every}")
        };
        let text = match self.dialect {
            Dialect::Mysql => {
                format!("UPDATE {POOLS} AS b JOIN {counted} SET b.free_at = {free_at} WHERE b.pool = x.pool")
            }
            Dialect::Postgres | Dialect::Sqlite => {
                format!("UPDATE {POOLS} AS b SET free_at = {free_at}\nFROM {counted}\nWHERE b.pool = x.pool")
            }
        };
        builder.finish(&text, Yields::Nothing)
    }
}

/// The expressions about a pool: `p` is its row of limits, `b` the internal row.
struct PoolTerms {
    table: String,
    id: String,
    concurrency: String,
    rate: String,
    paused: String,
    /// Seconds since 1970.
    now: String,
    /// The time at which the pool's bucket is full again.
    free_at: String,
    /// Number of rows that may go at once: one second's worth.
    burst: String,
    /// Seconds that one row costs. The burst is subtracted from the rate, so that no minute exceeds it.
    every: String,
    greatest: &'static str,
    least: &'static str,
    dialect: Dialect,
}

impl PoolTerms {
    fn new(table: &Table<'_>, pool: &PoolTable) -> Self {
        let column = |name: &str| format!("p.{}", table.quote(name));
        let rate = column(&pool.rate);
        let (now, burst, greatest, least) = match table.dialect {
            Dialect::Postgres => (
                "extract(epoch FROM statement_timestamp())::float8",
                format!("CEIL({rate} / 60.0)"),
                "GREATEST",
                "LEAST",
            ),
            Dialect::Mysql => {
                ("(UNIX_TIMESTAMP(NOW(6)) + 0e0)", format!("CEIL({rate} / 60)"), "GREATEST", "LEAST")
            }
            Dialect::Sqlite => {
                ("((julianday('now') - 2440587.5) * 86400.0)", format!("(({rate} + 59) / 60)"), "max", "min")
            }
        };
        let steady = format!("CASE WHEN {rate} > 60 THEN {rate} - {burst} ELSE {rate} END");
        let every = match table.dialect {
            Dialect::Postgres => format!("(60.0 / NULLIF({steady}, 0))::float8"),
            Dialect::Mysql => format!("(6e1 / ({steady}))"),
            Dialect::Sqlite => format!("(60.0 / ({steady}))"),
        };
        // A time further ahead than this rate can cause is from an earlier, slower rate, and is ignored.
        let free_at = format!(
            "CASE WHEN b.free_at > {now} + ({burst} + 1) * {every} THEN 0 ELSE COALESCE(b.free_at, 0) END"
        );
        Self {
            table: table.dialect.quoted_path(&pool.table),
            id: column(&pool.id),
            concurrency: column(&pool.concurrency),
            paused: column(&pool.paused),
            rate,
            now: now.to_owned(),
            free_at,
            burst,
            every,
            greatest,
            least,
            dialect: table.dialect,
        }
    }

    /// The number of rows that may go now.
    fn permits(&self, table: &Table<'_>) -> String {
        let Self { concurrency, rate, burst, every, now, free_at, greatest, least, id, .. } = self;
        let flying = match (table.is_in_flight(), table.role(ColumnRole::Pool)) {
            (Some(flying), Some(own)) => {
                let count = |more: &str| {
                    let name = table.name();
                    format!("(SELECT count(*) FROM {name} AS t WHERE {flying}{more} AND {own} = {id})")
                };
                match table.group() {
                    // The index of rows in flight begins with the group: this way only rows of groups are read.
                    Some(group) => {
                        let by = table.col(&table.group_column(group));
                        let (free, grouped) =
                            (format!(" AND {by} IS NULL"), format!(" AND {by} IS NOT NULL"));
                        format!("({} + {})", count(&free), count(&grouped))
                    }
                    None => count(""),
                }
            }
            _ => "0".to_owned(),
        };
        // The number of rows not yet paid for by the rate, rounded up.
        let owed = format!("({greatest}({free_at}, {now}) - {now}) / {every}");
        let owed = match self.dialect {
            Dialect::Sqlite => format!("(CAST({owed} AS INTEGER) + ({owed} > CAST({owed} AS INTEGER)))"),
            Dialect::Postgres | Dialect::Mysql => format!("CEIL({owed})"),
        };
        format!(
            "CASE WHEN {} THEN 0 ELSE {least}({MANY}, CASE WHEN {concurrency} IS NULL THEN {MANY} ELSE \
             {greatest}(0, {concurrency} - {flying}) END, CASE WHEN {rate} IS NULL THEN {MANY} WHEN {rate} <= 0 THEN 0 ELSE \
             {greatest}(0, {burst} - {owed}) END) END",
            self.paused
        )
    }

    /// Microseconds until the rate permits a row; 0 if it does now.
    fn wait_micros(&self) -> String {
        let Self { rate, burst, every, now, free_at, greatest, .. } = self;
        format!(
            "CASE WHEN {rate} > 0 THEN {greatest}(0, ({free_at} - {now} - ({burst} - 1) * {every}) * 1000000) ELSE 0 END"
        )
    }
}
