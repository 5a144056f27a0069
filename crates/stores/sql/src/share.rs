//! Shares: the rows of one pool and one client. A claim takes some of each, so that however many wait in one share, the
//! others get their turn; and a pool's rows are taken only with its permits.
//!
//! A share's key is one text: the kind of row (`f` free, `o` ordered), the pool, a tab, the client. It is what an index
//! of the ready rows begins with, so a loose scan finds every share without reading its rows. (On MySQL, which has no
//! such index, it is a virtual column.)
//!
//! Permits of a pool are what its limits leave: concurrency less the rows in flight, counted; and what a bucket of its
//! rate holds. Two statements, never one: the first locks the pool's row in our own table, the second counts, with a
//! snapshot made under that lock. Invariant: rows of a limited pool are claimed only by who holds its lock.

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

/// Between a share's pool and its client.
pub(crate) const BETWEEN: char = '\t';

/// More than any claim asks for.
const MANY: i64 = 1_000_000;

/// MySQL: the column that holds the share of a ready row.
pub(crate) fn share_column(contract: &Contract, stage: &Stage) -> String {
    match contract.stages.len() {
        1 => "ready_share".to_owned(),
        _ => ident::bounded(&format!("{}_ready_share", stage.name.replace('-', "_"))),
    }
}

impl Table<'_> {
    /// MySQL: the name of that column.
    pub fn share_column(&self) -> String {
        share_column(self.contract, self.stage)
    }

    /// MySQL: is it there?
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

    /// The pools' table, whether it is there or not: it may be made while a lane runs.
    fn pool_table(&self) -> Option<&Pool> {
        self.contract.pool.as_ref().filter(|_| self.contract.column(Role::Pool).is_some())
    }

    /// Does the table of pools have all that is asked of it? Yields 1 or 0.
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

    /// A ready row's share, as its index has it.
    pub fn share(&self) -> String {
        match self.dialect {
            Dialect::Mysql => self.col(&self.share_column()),
            Dialect::Postgres | Dialect::Sqlite => format!("({})", self.share_rule()),
        }
    }

    /// The kind, the pool, a tab, the client.
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

    /// Ready, whether due or not: what the index of shares is made of.
    pub fn is_waiting(&self) -> String {
        let mut conditions = vec![self.in_states(&self.stage.ready, Lookup::Index)];
        conditions.extend(self.filter());
        conditions.join(" AND ")
    }

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
            // One hop: no server of this kind jumps from share to share by itself on such a column.
            Dialect::Mysql => format!(
                "SELECT {share} FROM {table} AS t WHERE {share} IS NOT NULL{after}\nORDER BY {share} LIMIT {jumps}"
            ),
        };
        draft.finish(&text, Yields::Other)
    }

    /// Rows of the given shares, the first of each in the order of claims.
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

    /// One share after another: not every server has LATERAL. That a row is ready, and ours, its share says already; said
    /// again, it would tempt a planner to another index.
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

    /// The first rows of each given share, at most as many as it may have. How many are looked at is one number for
    /// all, so that a planner knows it.
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

    /// What may be taken is counted under the pools' locks, and paid for with what was.
    pub fn under_permits(&self, take: Vec<Step>) -> Script {
        let Some(pool) = self.pool_table() else { return Script { steps: take } };
        let mut steps = self.pool_permits(pool);
        steps.extend(take);
        steps.push(self.pool_spend(pool, Bind::Held));
        Script { steps }
    }

    /// Does the table of pools count?
    pub fn has_pools(&self) -> bool {
        self.pool_table().is_some()
    }

    /// Is the row's pool, if it has one, among those that may have more?
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

    /// Which of the named pools have limits, how many rows may go now, and microseconds until the rate lets one go.
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

    /// A row of ours for each pool: its lock and its bucket.
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

    /// Takes what rows cost out of their pools' buckets; for keys that the caller names (they were never tried), puts
    /// it back.
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

    /// What the index of shares is on.
    pub fn share_keys(&self) -> Vec<String> {
        let order = self.claim_order().into_iter();
        let order = order.map(|(key, direction)| format!("{}{direction}", index_key(&key)));
        std::iter::once(index_key(&self.share_rule())).chain(order).collect()
    }
}

/// What is said of a pool: `p` is its row of limits, `b` ours.
struct PoolTerms {
    table: String,
    id: String,
    concurrency: String,
    rate: String,
    paused: String,
    /// Seconds since 1970.
    now: String,
    /// The pool's next free moment.
    free_at: String,
    /// So many may go at once: a second's worth.
    burst: String,
    /// Seconds that one row takes up. What a burst adds is taken off the rate, so that no minute has more.
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
        // More than this rate can ever owe is of a slower one before it: it counts no more.
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

    /// Rows that may go now.
    fn permits(&self, table: &Table<'_>) -> String {
        let Self { concurrency, rate, burst, every, now, free_at, greatest, least, id, .. } = self;
        let flying = match (table.is_in_flight(), table.role(Role::Pool)) {
            (Some(flying), Some(own)) => {
                format!("(SELECT count(*) FROM {} AS t WHERE {flying} AND {own} = {id})", table.name())
            }
            _ => "0".to_owned(),
        };
        // How many are still to be paid for, rounded up.
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

    /// Microseconds until the rate lets a row go; 0 where it does.
    fn wait_micros(&self) -> String {
        let Self { rate, burst, every, now, free_at, greatest, .. } = self;
        format!(
            "CASE WHEN {rate} > 0 THEN {greatest}(0, ({free_at} - {now} - ({burst} - 1) * {every}) * 1000000) ELSE 0 END"
        )
    }
}
