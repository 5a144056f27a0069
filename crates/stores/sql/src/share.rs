//! Claims by shares (fair queueing): a share is the rows of one pool and one client.
//!
//! A claim takes some rows of each share, so that a long share does not delay the others; rows of a limited pool are
//! claimed only with its permits.
//!
//! The key of a share is one text: the kind of row (`f` free, `o` ordered), the pool, a tab, the client. An index of
//! the ready rows starts with it, so that a loose scan finds every share without reading its rows. (On MySQL, which has
//! no such index, it is a virtual column.)
//!
//! The permits of a pool are what its limits leave: its concurrency minus the rows in flight, and the content of its
//! rate bucket. This takes two statements: the first locks the pool's internal row, the second counts with a snapshot
//! made under that lock. Invariant: rows of a limited pool are claimed only under its lock.

use postrider_contract::{Contract, Pool, Role, Stage, Transition};

use crate::column::Kind;
use crate::condition::Lookup;
use crate::ddl::index_key;
use crate::draft::Draft;
use crate::layout::Seen;
use crate::own::POOLS;
use crate::table::Table;
use crate::value::Writes;
use crate::{Bind, Dialect, Error, PoolScripts, Script, ShareClaim, Step, Yields, ident};

/// Separates the pool and the client of a share.
pub(crate) const BETWEEN: char = '\t';

/// A number larger than any claim asks for.
const MANY: i64 = 1_000_000;

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
        let needed = self.dialect == Dialect::Mysql && self.contract.has_shares();
        if needed && self.shape.column(&name).is_none() {
            return Err(Error::MissingColumns {
                table: self.contract.table.name.clone(),
                columns: vec![name],
            });
        }
        Ok(())
    }

    /// The table of pools, even if it does not exist: it may be created while a lane runs.
    fn pool_table(&self) -> Option<&Pool> {
        self.contract.pool.as_ref().filter(|_| self.contract.column(Role::Pool).is_some())
    }

    /// Yields 1 if the table of pools has all needed columns, else 0.
    fn pools_there(&self, pool: &Pool) -> Step {
        let columns = [&pool.id, &pool.concurrency, &pool.rate, &pool.paused];
        let listed = columns.map(|column| self.text(column)).join(", ");
        let (schema, name) = match pool.table.split_once('.') {
            Some((schema, name)) => (Some(schema), name),
            None => (None, pool.table.as_str()),
        };
        let found = match self.dialect {
            Dialect::Postgres => {
                let path = self.text(&ident::quote_path(self.dialect, &pool.table));
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
        Draft::own(self).finish(&format!("SELECT {} FROM {found}", self.as_integer(&whole)), Yields::Other)
    }

    /// Returns the share of a ready row, as its index has it.
    pub fn share(&self) -> String {
        match self.dialect {
            Dialect::Mysql => self.col(&self.share_column()),
            Dialect::Postgres | Dialect::Sqlite => format!("({})", self.share_rule()),
        }
    }

    /// Returns the expression of the share's key: the kind, the pool, a tab, the client.
    pub fn share_rule(&self) -> String {
        let kind = match self.group() {
            Some(group) => format!("CASE WHEN {} THEN 'o' ELSE 'f' END", self.is_ordered(group)),
            None => "'f'".to_owned(),
        };
        let text = |column: Option<&str>| match column {
            None => "''".to_owned(),
            Some(column) if self.kind(column) == Kind::Text => format!("COALESCE({}, '')", self.col(column)),
            Some(column) => format!("COALESCE({}, '')", self.as_text(&self.col(column))),
        };
        let pool = text(self.contract.column(Role::Pool));
        let client = text(self.contract.claim.fair.as_ref().map(|fair| fair.name.as_str()));
        match self.dialect {
            Dialect::Mysql => format!("CONCAT({kind}, {pool}, '{BETWEEN}', {client})"),
            Dialect::Postgres | Dialect::Sqlite => {
                format!("{kind} || {pool} || '{BETWEEN}' || {client}")
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
    pub fn share_claim(&self) -> Option<ShareClaim> {
        if !self.contract.has_shares() {
            return None;
        }
        let writes = Writes::of(self.contract, self.contract.lease_move(self.stage, Transition::Claimed));
        let take = self.share_take(&writes);
        let pools = self.pool_table().map(|pool| PoolScripts {
            there: Script { steps: vec![self.pools_there(pool)] },
            state: Script { steps: vec![self.pool_state(pool)] },
            enroll: Script { steps: vec![self.pool_enroll(pool)] },
            take: self.under_permits(take.clone()),
            refund: Script { steps: vec![self.pool_spend(pool, Bind::Ids)] },
        });
        Some(ShareClaim {
            first: Script { steps: vec![self.share_look(None)] },
            after: Script { steps: vec![self.share_look(Some(Bind::Cursor))] },
            take: Script { steps: take },
            pools,
        })
    }

    fn share_look(&self, cursor: Option<Bind>) -> Step {
        let draft = Draft::own(self);
        let (share, waiting, table) = (self.share(), self.is_waiting(), self.name());
        let cast = if self.dialect == Dialect::Postgres { "::text" } else { "" };
        let after =
            cursor.map(|cursor| format!(" AND {share} > {}{cast}", draft.bind(cursor))).unwrap_or_default();
        let next = |than: &str| {
            format!("SELECT {share} AS s FROM {table} AS t WHERE {waiting}{than} ORDER BY {share} LIMIT 1")
        };
        let jumps = draft.bind(Bind::Jumps);
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
        draft.finish(&text, Yields::Other)
    }

    /// Claims rows of the given shares, the first of each in the order of claims.
    fn share_take(&self, writes: &Writes<'_>) -> Vec<Step> {
        match self.dialect {
            Dialect::Postgres => vec![self.postgres_share_take(writes)],
            Dialect::Sqlite => {
                let draft = Draft::own(self);
                let pick = self.ranked_pick(&draft, &self.key());
                let first = draft.finish(&pick, Yields::Keys);
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
        let draft = Draft::own(self);
        let columns = draft.layout_columns(writes, Seen::Before).join(", ");
        let mut conditions = vec![format!("{} = {}", self.share(), draft.bind(Bind::Share))];
        conditions.extend(self.is_due());
        conditions.extend(self.has_attempts_left());
        conditions.extend(self.is_old_enough());
        conditions.extend(self.not_barred(&self.stage.ready));
        let text = format!(
            "SELECT {columns}, 1\nFROM {} AS t\nWHERE {}\nORDER BY {}\nLIMIT {}\nFOR UPDATE SKIP LOCKED",
            self.name(),
            conditions.join("\n  AND "),
            self.order_list(),
            draft.bind(Bind::Quota)
        );
        draft.finish(&text, Yields::Run)
    }

    /// Returns the first rows of each given share, up to its quota. The number of rows read is the same for all shares,
    /// so that the planner knows it.
    pub fn ranked_pick(&self, draft: &Draft<'_>, key: &str) -> String {
        let (table, id, order) = (self.name(), self.id(), self.claim_order());
        let (shares, quota) = (draft.bind(Bind::Shares), draft.bind(Bind::Quota));
        let mut conditions = self.claimable(&self.stage.ready);
        conditions.extend(self.group().map(|group| self.is_free(group)));
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

    /// Returns a script that counts permits under the pools' locks, claims with `take`, and spends the permits.
    pub fn under_permits(&self, take: Vec<Step>) -> Script {
        let Some(pool) = self.pool_table() else { return Script { steps: take } };
        let mut steps = self.pool_permits(pool);
        steps.extend(take);
        steps.push(self.pool_spend(pool, Bind::Held));
        Script { steps }
    }

    /// Whether the contract has a table of pools.
    pub fn has_pools(&self) -> bool {
        self.pool_table().is_some()
    }

    /// Returns the condition that the row has no pool, or one with permits left; `None` if there are no pools.
    pub fn in_open_pool(&self, draft: &Draft<'_>) -> Option<String> {
        let pool = self.role(Role::Pool).filter(|_| self.has_pools())?;
        let open = draft.bind(Bind::Open);
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
    fn pool_state(&self, pool: &Pool) -> Step {
        let draft = Draft::own(self);
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
            self.among_texts(&p.id, &draft.bind(Bind::Pools))
        );
        draft.finish(&text, Yields::Other)
    }

    /// Inserts an internal row for each pool: its lock and its rate bucket.
    fn pool_enroll(&self, pool: &Pool) -> Step {
        let draft = Draft::own(self);
        let p = PoolTerms::new(self, pool);
        let (insert, or) = match self.dialect {
            Dialect::Mysql => ("INSERT IGNORE", ""),
            Dialect::Postgres | Dialect::Sqlite => ("INSERT", " ON CONFLICT DO NOTHING"),
        };
        let text = format!(
            "{insert} INTO {POOLS} (pool, free_at) SELECT {}, 0 FROM {} AS p WHERE {}{or}",
            p.id,
            p.table,
            self.among_texts(&p.id, &draft.bind(Bind::Pools))
        );
        draft.finish(&text, Yields::Nothing)
    }

    fn pool_permits(&self, pool: &Pool) -> Vec<Step> {
        let draft = Draft::own(self);
        let lock = if self.dialect == Dialect::Sqlite { "" } else { "\nFOR UPDATE SKIP LOCKED" };
        let text = format!(
            "SELECT b.pool FROM {POOLS} AS b WHERE {} ORDER BY b.pool{lock}",
            self.among_texts("b.pool", &draft.bind(Bind::Pools))
        );
        let locked = draft.finish(&text, Yields::Keys);
        let draft = Draft::own(self);
        let p = PoolTerms::new(self, pool);
        let text = format!(
            "SELECT {}, {}\nFROM {POOLS} AS b JOIN {} AS p ON {} = b.pool\nWHERE {}",
            self.as_text(&p.id),
            self.as_integer(&p.permits(self)),
            p.table,
            p.id,
            self.among_texts("b.pool", &draft.bind(Bind::Held))
        );
        vec![locked, draft.finish(&text, Yields::Permits)]
    }

    /// Spends the permits of rows from their pools' buckets; for keys that the caller names (never attempted), returns
    /// them.
    fn pool_spend(&self, pool: &Pool, rows: Bind) -> Step {
        let draft = Draft::own(self);
        let p = PoolTerms::new(self, pool);
        let held = rows == Bind::Held;
        let among = draft.among(&self.id(), rows);
        let own = self.role(Role::Pool).unwrap_or_default();
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
        draft.finish(&text, Yields::Nothing)
    }

    /// Returns the key expressions of the share index.
    pub fn share_keys(&self) -> Vec<String> {
        let order = self.claim_order().into_iter();
        let order = order.map(|(key, direction)| format!("{}{direction}", index_key(&key)));
        std::iter::once(index_key(&self.share_rule())).chain(order).collect()
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
    fn new(table: &Table<'_>, pool: &Pool) -> Self {
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
            table: ident::quote_path(table.dialect, &pool.table),
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
        let flying = match (table.is_in_flight(), table.role(Role::Pool)) {
            (Some(flying), Some(own)) => {
                format!("(SELECT count(*) FROM {} AS t WHERE {flying} AND {own} = {id})", table.name())
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
