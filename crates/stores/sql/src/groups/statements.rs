//! Renders the claim of ordered groups: find groups whose head may go, lock each group, then claim a run of its rows.
//!
//! The run is claimed under the lock and with what is committed by then. A single statement cannot be correct, because
//! its snapshot is older than the lock that it takes.
//!
//! | | search | mutex | run |
//! |---|---|---|---|
//! | PostgreSQL | in the transaction, lazily | an advisory lock of the transaction | a second statement |
//! | MySQL | before the transaction | the first live row, SKIP LOCKED | a locking read for each group |
//! | SQLite | before the transaction | the single writer | one SELECT |
//!
//! A search reads groups in key order from the group cursor on, and the groups of the newest due rows. Both are
//! limited, so that the cost of a claim does not depend on the number of held groups, and a new group is found at
//! once.

use postrider_contract::{ColumnRole, GroupRule, Transition};

use crate::claim::columns::Seen;
use crate::groups::scripts::{ClaimGroups, FindGroups, GroupClaim, GroupScripts};
use crate::render::column::{Kind, postgres_type};
use crate::render::condition::Lookup;
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::render::value::Writes;
use crate::{Dialect, Param, Script, Step, Yields};

/// The conditions and names that all statements of this module use.
struct GroupSql {
    table: String,
    /// The group's column, as the indexes have it.
    by: String,
    live: String,
    /// Live and not passed.
    holding: String,
    ready: String,
    order: String,
}

/// The start of a search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Start,
    Cursor,
}

impl Table<'_> {
    /// Returns the scripts that claim ordered groups; `None` if the contract has no groups.
    pub fn group_claim(&self) -> Option<GroupClaim> {
        let group = self.group()?;
        let parts = GroupSql {
            table: self.name(),
            by: self.col(&self.group_column(group)),
            live: self.is_live(group),
            holding: self.holding(group),
            ready: self.is_ready(),
            order: self.group_order(group).join(", "),
        };
        let writes = Writes::of(self.contract, self.contract.lease_move(self.stage, Transition::Claimed));
        let scripts = |from: From, limited: bool| {
            let taking =
                |steps: Vec<Step>| if limited { self.under_permits(steps) } else { Script { steps } };
            let (find, take) = match self.dialect {
                Dialect::Postgres => {
                    let search = self.postgres_group_search(group, &parts, from);
                    (None, vec![search, self.postgres_group_take(group, &parts, &writes)])
                }
                Dialect::Mysql => (
                    Some(self.mysql_group_search(group, &parts, from)),
                    self.mysql_group_take(&parts, &writes),
                ),
                Dialect::Sqlite => {
                    let search = self.sqlite_group_search(group, &parts, from);
                    (Some(search), self.sqlite_group_take(group, &parts, &writes))
                }
            };
            let reader = self.claim_reader(&self.stage.ready);
            GroupScripts {
                find: find.map(|step| FindGroups { script: Script { steps: vec![step] } }),
                take: ClaimGroups { script: taking(take), reader },
            }
        };
        let limited = || Box::new([scripts(From::Start, true), scripts(From::Cursor, true)]);
        Some(GroupClaim {
            first: scripts(From::Start, false),
            after: scripts(From::Cursor, false),
            limited: self.has_pools().then(limited),
            run: group.run,
        })
    }

    fn holding(&self, group: &GroupRule) -> String {
        let live = self.is_live(group);
        self.not_passed(group).map_or_else(|| live.clone(), |not_passed| format!("{live} AND {not_passed}"))
    }

    /// The condition that the row is ready and its pool has permits left.
    fn may_go(&self, builder: &StepBuilder<'_>, ready: &str) -> String {
        match self.in_open_pool(builder) {
            Some(open) => format!("({ready} AND {open})"),
            None => ready.to_owned(),
        }
    }

    /// The groups of the newest due rows.
    fn fresh(&self, builder: &StepBuilder<'_>, group: &GroupRule, by: &str) -> String {
        let (mut key, arrived) = self.freshness();
        let mut conditions = vec![self.in_states(&self.stage.ready, Lookup::Index)];
        conditions.extend(self.filter());
        let mut id = if key == self.id() { String::new() } else { format!(", {} DESC", self.id()) };
        conditions.push(self.ordered_condition(group));
        if let Some(of_all) = self.freshness_key() {
            (key, id) = (of_all.expression, String::new());
        }
        conditions.extend(arrived.map(|arrived| format!("{key} <= {arrived}")));
        if self.shares_have_freshness() {
            let limit = builder.bind(Param::Fresh);
            let newest = self.newest_of_shares(by, &conditions, &key, &limit);
            return format!("SELECT f.g FROM ({newest}) AS f ORDER BY f.k DESC LIMIT {limit}");
        }
        format!(
            "SELECT {by} AS g FROM {} AS t\n    WHERE {}\n    ORDER BY {key} DESC{id} LIMIT {}",
            self.name(),
            conditions.join(" AND "),
            builder.bind(Param::Fresh)
        )
    }

    /// A group key cast to its column's type.
    fn group_value(&self, group: &GroupRule, text: &str) -> String {
        match (self.dialect, self.kind(&group.by)) {
            (Dialect::Postgres, _) => {
                format!("({text}::text)::{}", postgres_type(&self.shape_of(&group.by).sql_type))
            }
            (_, Kind::Integer) => self.as_integer(text),
            _ => text.to_owned(),
        }
    }

    /// A recursive CTE walks the groups; the LIMIT of the outer query stops it, so that no more groups are read than
    /// needed.
    ///
    /// Some groups from the cursor come first, so that the cursor always advances, then groups of new rows, then more
    /// from the cursor. Two marks return the new cursor; NULL means a full round. Each row is the first live row of its
    /// group, so the row itself decides whether the group may go.
    fn postgres_group_search(&self, group: &GroupRule, parts: &GroupSql, from: From) -> Step {
        let builder = StepBuilder::plain(self);
        let GroupSql { table, by, live, holding, ready, order } = parts;
        let ready = &self.may_go(&builder, ready);
        let ok = match self.not_passed(group) {
            Some(not_passed) => format!("CASE WHEN {not_passed} THEN {ready} END"),
            None => ready.clone(),
        };
        let next = |than: &str| {
            format!(
                "SELECT {by} AS g, {ok} AS ok FROM {table} AS t\n    WHERE {live}{than}\n    ORDER BY {by}, {order} LIMIT 1"
            )
        };
        let first = match from {
            From::Start => next(""),
            From::Cursor => {
                next(&format!(" AND {by} > {}", self.group_value(group, &builder.bind(Param::Cursor))))
            }
        };
        let following = next(&format!(" AND {by} > r.g"));
        let fresh = self.fresh(&builder, group, by);
        let (wanted, jumps) = (builder.bind(Param::GroupsWanted), builder.bind(Param::Jumps));
        // The lock key includes the table's OID: a table of the same name in another schema has its own locks.
        let (name, stage) = (self.text(table), self.text(&format!("/{}", self.stage.name)));
        let text = format!(
            "SELECT (c.g)::text, c.kind FROM (\n  WITH RECURSIVE ring AS (\n    ({first})\n    UNION ALL\n    \
             SELECT n.g, n.ok FROM ring AS r CROSS JOIN LATERAL (\n    {following}) AS n),\n  fresh AS MATERIALIZED (\n    \
             SELECT DISTINCT f.g FROM (\n    {fresh}) AS f),\n  seen AS (\n    (SELECT g, ok, 1 AS kind FROM ring LIMIT \
             {wanted} * 4)\n    UNION ALL SELECT (array_agg(l.g))[({wanted} * 4)::int], NULL, 3 FROM (SELECT g FROM ring \
             LIMIT {wanted} * 4) AS l\n    UNION ALL SELECT g, NULL, 0 FROM fresh\n    UNION ALL (SELECT g, ok, 1 FROM \
             ring OFFSET {wanted} * 4 LIMIT {jumps})\n    UNION ALL SELECT (array_agg(l.g))[({jumps})::int], NULL, 2 FROM \
             (SELECT g FROM ring OFFSET {wanted} * 4 LIMIT {jumps}) AS l)\n  SELECT s.g, s.kind, CASE WHEN s.kind >= 2 \
             THEN TRUE WHEN COALESCE(s.ok, head.ok) THEN\n    pg_try_advisory_xact_lock(hashtext({name}::regclass::oid::text \
             || {stage}), hashtext((s.g)::text)) END AS mine\n  FROM seen AS s LEFT JOIN LATERAL (\n    SELECT {ready} AS ok FROM \
             {table} AS t\n    WHERE s.ok IS NULL AND s.kind < 2 AND {by} = s.g AND {holding}\n    ORDER BY {order} \
             LIMIT 1) AS head ON TRUE\n  OFFSET 0) AS c\nWHERE c.mine\nLIMIT {wanted} + 1"
        );
        builder.finish(&text, Yields::Groups)
    }

    /// A row that changed since the snapshot, or that is locked, ends the run of its group; other groups do not wait
    /// for it.
    fn postgres_group_take(&self, group: &GroupRule, parts: &GroupSql, writes: &Writes<'_>) -> Step {
        let builder = StepBuilder::plain(self);
        let GroupSql { table, by, holding, ready, order, .. } = parts;
        let ready = &self.may_go(&builder, ready);
        let (pool, permitted) = self.permitted(&builder);
        let groups = builder.bind(Param::Groups);
        let kind = postgres_type(&self.shape_of(&group.by).sql_type);
        let idle = self.none_in_flight(group, &format!("{by} = g.g"));
        let sets = builder.set_list(writes);
        let effects = builder.effect_parts(&[Transition::Claimed], writes);
        let columns = builder.layout_columns(writes, Seen::After).join(", ");
        let id = self.id();
        let returned = self.columns_read_by(&[&columns, &id, &effects]);
        let text = format!(
            "WITH {} AS MATERIALIZED (\nSELECT r.k, g.place, r.ord{}\nFROM unnest(({groups}::text[])::{kind}[]) WITH \
             ORDINALITY AS g(g, place)\nCROSS JOIN LATERAL (\n  SELECT y.k, y.ord{} FROM (\n    SELECT {id} AS k{pool}, \
             row_number() OVER w AS ord, bool_and({ready}) OVER w AS ok\n    FROM (SELECT * FROM {table} AS t WHERE \
             {by} = g.g AND {holding}\n      ORDER BY {order} LIMIT {}) AS t\n    WINDOW w AS (ORDER BY {order})) AS y\n  \
             WHERE y.ok) AS r{idle}\nORDER BY g.place, r.ord LIMIT {}),{permitted}\nlocked AS MATERIALIZED (\nSELECT {id} AS k FROM \
             {table} AS t\nWHERE {id} = ANY (ARRAY(SELECT k FROM pick)) AND {}\nFOR UPDATE SKIP LOCKED),\nmine AS \
             MATERIALIZED (\nSELECT y.k, y.place, y.ord FROM (\n  SELECT p.k, p.place, p.ord, bool_and(l.k IS NOT NULL) \
             OVER (PARTITION BY p.place ORDER BY p.ord) AS ok\n  FROM pick AS p LEFT JOIN locked AS l ON l.k = p.k) AS \
             y\nWHERE y.ok),\nmoved AS (\nUPDATE {table} AS t SET {sets}\nWHERE {id} = ANY (ARRAY(SELECT k FROM \
             mine))\nRETURNING {returned}){effects}\nSELECT {columns}\nFROM moved AS t JOIN mine AS p ON p.k = \
             {id}{}\nORDER BY p.place, p.ord",
            if permitted.is_empty() { "pick" } else { "picked" },
            if permitted.is_empty() { "" } else { ", r.pool" },
            if permitted.is_empty() { "" } else { ", y.pool" },
            builder.bind(Param::Run),
            builder.bind(Param::Limit),
            self.in_states(&self.stage.ready, Lookup::Check),
            self.unflushed_claim("\nWHERE "),
        );
        builder.finish(&text, Yields::Rows)
    }

    /// PostgreSQL and SQLite: the row's pool as a column of the pick, and the pick limited by the permits of its pools:
    /// a run ends before the first row without a permit.
    fn permitted(&self, builder: &StepBuilder<'_>) -> (String, String) {
        let Some(pool) = self.role(ColumnRole::Pool).filter(|_| self.has_pools()) else {
            return (String::new(), String::new());
        };
        let permits = builder.bind(Param::Permits);
        let (permits, all) = match self.dialect {
            Dialect::Postgres => {
                (format!("jsonb_to_recordset({permits}::jsonb) AS q(p text, n bigint)"), "bool_and")
            }
            Dialect::Mysql | Dialect::Sqlite => {
                (format!("(SELECT value->>'p' AS p, value->>'n' AS n FROM json_each({permits})) AS q"), "min")
            }
        };
        let text = format!(
            "\npick AS MATERIALIZED (\nSELECT z.k, z.place, z.ord FROM (\n  SELECT y.k, y.place, y.ord, {all}(y.n IS NULL OR \
             y.nth <= y.n) OVER (PARTITION BY y.place ORDER BY y.ord) AS ok FROM (\n    SELECT p.*, q.n, row_number() OVER \
             (PARTITION BY p.pool ORDER BY p.place, p.ord) AS nth\n    FROM picked AS p LEFT JOIN {permits} ON q.p = \
             p.pool) AS y) AS z\nWHERE z.ok),"
        );
        (format!(", {} AS pool", self.as_text(&pool)), text)
    }

    /// `WHERE …`: no row of the group is in flight. Not written as NOT EXISTS, which a planner would turn into a join
    /// of every group with every row in flight.
    fn none_in_flight(&self, group: &GroupRule, same: &str) -> String {
        let Some(flying) = self.is_in_flight() else { return String::new() };
        let (table, ordered) = (self.name(), self.is_ordered(group));
        format!(
            "\nWHERE (SELECT 1 FROM {table} AS t WHERE {same} AND {flying} AND {ordered} LIMIT 1) IS NULL"
        )
    }

    /// The server's loose index scan walks the groups. The mutex of a group is its first live row, even if that row may
    /// not go: it is the same row for every worker.
    ///
    /// MySQL does not treat equality with a column of an outer query as a constant, so the ORDER BY also names the
    /// group; otherwise a long group would be read and sorted completely.
    fn mysql_group_search(&self, group: &GroupRule, parts: &GroupSql, from: From) -> Step {
        let builder = StepBuilder::plain(self);
        let GroupSql { table, by, live, holding, ready, order } = parts;
        let ready = &self.may_go(&builder, ready);
        let order_back: Vec<String> = self
            .claim_order()
            .into_iter()
            .map(|(key, direction)| if direction.is_empty() { format!("{key} DESC") } else { key })
            .collect();
        let fresh: Vec<String> = self
            .stage
            .ready
            .iter()
            .map(|state| {
                let ordered =
                    self.kind_column().map_or_else(|| live.clone(), |_| self.ordered_condition(group));
                let mut conditions = vec![self.in_state(*state, Lookup::Index), ordered];
                conditions.extend(self.filter());
                conditions.extend(self.is_due());
                conditions.extend(self.is_old_enough());
                format!(
                    "SELECT {by} AS g FROM {table} AS t WHERE {} ORDER BY {} LIMIT {}",
                    conditions.join(" AND "),
                    order_back.join(", "),
                    builder.bind(Param::Fresh)
                )
            })
            .collect();
        let fresh = match fresh.as_slice() {
            [one] => one.clone(),
            many => format!("({})", many.join(")\n    UNION ALL (")),
        };
        let ring = match from {
            From::Start => live.clone(),
            From::Cursor => format!("{by} > {}", builder.bind(Param::Cursor)),
        };
        let text = format!(
            "SELECT CAST(s.g AS CHAR), s.kind,\n  (SELECT {ready} FROM {table} AS t WHERE {by} = s.g AND {holding} \
             ORDER BY {by}, {order} LIMIT 1),\n  (SELECT {} FROM {table} AS t WHERE {by} = s.g{} ORDER BY {by}, {order} LIMIT \
             1)\nFROM \
             (\n  SELECT DISTINCT f.g, 0 AS kind FROM (\n    {fresh}) AS f\n  UNION ALL\n  SELECT r.g, 1 FROM (SELECT {by} AS \
             g FROM {table} AS t WHERE {ring}\n    GROUP BY {by} ORDER BY {by} LIMIT {}) AS r) AS s\nORDER BY s.kind, s.g",
            self.key(),
            self.has_key().map(|has_key| format!(" AND {has_key}")).unwrap_or_default(),
            builder.bind(Param::Jumps)
        );
        builder.finish(&text, Yields::Groups)
    }

    /// Locking reads return the newest version of a row; the search may have read an older one.
    fn mysql_group_take(&self, parts: &GroupSql, writes: &Writes<'_>) -> Vec<Step> {
        let GroupSql { table, by, live, holding, ready, order } = parts;
        let builder = StepBuilder::plain(self);
        let lock = format!(
            "SELECT CAST({by} AS CHAR), 1\nFROM {table} AS t\nWHERE {} AND {live}\nORDER BY {}\nFOR UPDATE SKIP LOCKED",
            builder.among(&self.id(), Param::Ids),
            self.id()
        );
        let mut steps = vec![builder.finish(&lock, Yields::Groups)];
        let builder = StepBuilder::plain(self);
        let ready = &self.may_go(&builder, ready);
        let columns = builder.layout_columns(writes, Seen::Before).join(", ");
        let same = format!("{by} = {}", builder.bind(Param::Group));
        let flag = match self.is_in_flight() {
            Some(flying) => format!("CASE WHEN {flying} THEN -1 WHEN {ready} THEN 1 ELSE 0 END"),
            None => format!("CASE WHEN {ready} THEN 1 ELSE 0 END"),
        };
        let idle = match self.is_in_flight() {
            Some(flying) => format!(" AND NOT EXISTS (SELECT 1 FROM {table} AS t WHERE {flying} AND {same})"),
            None => String::new(),
        };
        let run = format!(
            "SELECT {columns}, {flag}\nFROM {table} AS t\nWHERE {same} AND {holding}{idle}\nORDER BY {order}\nLIMIT \
             {}\nFOR UPDATE",
            builder.bind(Param::Run)
        );
        steps.push(builder.finish(&run, Yields::Run));
        steps.extend(self.mysql_mark(writes));
        steps
    }

    fn sqlite_group_search(&self, group: &GroupRule, parts: &GroupSql, from: From) -> Step {
        let builder = StepBuilder::plain(self);
        let GroupSql { table, by, live, holding, ready, order } = parts;
        let ready = &self.may_go(&builder, ready);
        let next = |than: &str| format!("SELECT min({by}) FROM {table} AS t WHERE {live}{than}");
        let first = match from {
            From::Start => next(""),
            From::Cursor => {
                next(&format!(" AND {by} > {}", self.group_value(group, &builder.bind(Param::Cursor))))
            }
        };
        let following = next(&format!(" AND {by} > r.g"));
        let fresh = self.fresh(&builder, group, by);
        let text = format!(
            "SELECT CAST(s.g AS TEXT), s.kind,\n  (SELECT {ready} FROM {table} AS t WHERE {by} = s.g AND {holding} ORDER \
             BY {order} LIMIT 1)\nFROM (\n  SELECT DISTINCT f.g AS g, 0 AS kind FROM (\n    {fresh}) AS f\n  UNION ALL\n  \
             SELECT q.g, 1 FROM (\n    WITH RECURSIVE ring(g) AS (\n      {first}\n      UNION ALL\n      SELECT \
             ({following}) FROM ring AS r WHERE r.g IS NOT NULL\n      LIMIT {})\n    SELECT g FROM ring) AS q) AS \
             s\nWHERE s.g IS NOT NULL",
            builder.bind(Param::Jumps)
        );
        builder.finish(&text, Yields::Groups)
    }

    fn sqlite_group_take(&self, group: &GroupRule, parts: &GroupSql, writes: &Writes<'_>) -> Vec<Step> {
        let builder = StepBuilder::plain(self);
        let GroupSql { table, by, holding, ready, order, .. } = parts;
        let ready = &self.may_go(&builder, ready);
        let (id, key) = (self.id(), self.group_value(group, "j.value"));
        let same = format!("{by} = {key}");
        let idle = self.none_in_flight(group, &same);
        let (pool, permitted) = self.permitted(&builder);
        let runs = format!(
            "(\n  SELECT {} AS k{pool}, j.key AS place, row_number() OVER w AS ord, min({ready}) OVER w AS ok\n  FROM \
             json_each({}) AS j CROSS JOIN {table} AS t ON {id} IN (\n    SELECT {id} FROM {table} AS t WHERE {same} AND \
             {holding} ORDER BY {order} LIMIT {}){idle}\n  WINDOW w AS (PARTITION BY j.key ORDER BY {order})) AS y",
            self.key(),
            builder.bind(Param::Groups),
            builder.bind(Param::Run)
        );
        let limit = builder.bind(Param::Limit);
        let pick = if permitted.is_empty() {
            format!("SELECT y.k FROM {runs}\nWHERE y.ok\nORDER BY y.place, y.ord\nLIMIT {limit}")
        } else {
            let permitted = permitted.trim_end_matches(',');
            format!(
                "WITH picked AS MATERIALIZED (\nSELECT y.k, y.place, y.ord, y.pool FROM {runs}\nWHERE y.ok\nORDER BY y.place, \
                 y.ord LIMIT {limit}),{permitted}\nSELECT k FROM pick ORDER BY place, ord"
            )
        };
        let mut steps = vec![builder.finish(&pick, Yields::Keys)];
        steps.extend(self.sqlite_mark(writes));
        steps
    }
}
