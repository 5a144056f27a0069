//! The result of rendering: scripts that a store runs unchanged, with the values that each step binds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use postrider_contract::{Contract, Transition};

use crate::ddl;
use crate::unheld::UnheldScripts;

/// The SQL dialect to render for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    Postgres,
    /// MySQL 8+ and MariaDB 10.6+.
    Mysql,
    Sqlite,
}

/// The columns of a table, as its database describes them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    pub columns: Vec<ShapeColumn>,
    /// Table name → columns of the tables that effects insert into. Columns of a table that is missing here are treated
    /// as text.
    pub related: BTreeMap<String, Vec<ShapeColumn>>,
    /// Columns that are the first of an index, so that a search covers all rows. `true`: prefix searches too.
    pub indexed: BTreeMap<String, bool>,
    /// Columns with an index on a prefix of their values, as `migrate --search` makes it on PostgreSQL.
    pub begun: BTreeSet<String>,
    /// Tables and columns that reference the row's key with ON DELETE CASCADE, if the database would not cascade:
    /// SQLite does so only on connections that enforce foreign keys.
    pub cascades: Vec<(String, String)>,
    /// Whether the internal table of recipient results exists.
    pub recipients: bool,
}

/// A column as its database describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeColumn {
    pub name: String,
    /// As the database spells it, precision included: `timestamp(3) without time zone`, `varchar(26)`, `INTEGER`.
    pub sql_type: String,
    /// MySQL only: keys and fences in JSON are compared in the column's collation, otherwise no index is used.
    pub collation: Option<String>,
    pub nullable: bool,
    pub has_default: bool,
}

impl ShapeColumn {
    /// A nullable column without a default.
    pub fn new(name: impl Into<String>, sql_type: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            sql_type: sql_type.into(),
            collation: None,
            nullable: true,
            has_default: false,
        }
    }
}

impl Shape {
    /// Returns the column of this name; `None` if the table has none.
    pub fn column(&self, name: &str) -> Option<&ShapeColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns a column whose name differs only in case.
    pub(crate) fn namesake(&self, name: &str) -> Option<&str> {
        let same = |column: &&ShapeColumn| column.name != name && column.name.eq_ignore_ascii_case(name);
        self.columns.iter().find(same).map(|column| column.name.as_str())
    }

    /// Renames columns to the contract's spelling, for databases that ignore case in names.
    pub fn spell(&mut self, contract: &Contract) {
        let rename = |columns: &mut [ShapeColumn], names: &[String]| {
            for column in columns {
                if let Some(name) = names.iter().find(|name| name.eq_ignore_ascii_case(&column.name)) {
                    column.name.clone_from(name);
                }
            }
        };
        rename(&mut self.columns, &ddl::known_columns(contract));
        for (table, columns) in &mut self.related {
            let effects = contract.effects.iter().filter(|effect| effect.table == *table);
            let joins = contract.joins.iter().filter(|join| join.table == *table);
            let mut names: Vec<String> =
                effects.flat_map(|effect| effect.values.iter().map(|(name, _)| name.clone())).collect();
            for join in joins {
                names.extend(join.columns.iter().map(|column| column.name.clone()));
                names.extend(join.on.iter().map(|(name, _)| name.clone()));
            }
            rename(columns, &names);
        }
    }
}

/// Steps that run in one transaction; a single step needs no explicit transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub steps: Vec<Step>,
}

/// One statement, with the dialect's placeholders in the order of `binds`.
///
/// They are `$1…` on PostgreSQL and `?1…` on SQLite (each bind once, even if used repeatedly), and `?` on MySQL (a bind
/// for every use). On MySQL a [`Bind::Held`] or [`Bind::Ids`] is the marker `{held}` or `{ids}`, which the store
/// expands to `?, ?, …`. A step that binds `Held` is skipped if there are no keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub sql: String,
    pub binds: Vec<Bind>,
    pub yields: Yields,
}

/// The rows that a step returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yields {
    Nothing,
    /// One column: the keys of the rows that moved. Later steps of the script bind them as [`Bind::Held`].
    Keys,
    /// Rows in the order of [`Layout`]; their keys are [`Bind::Held`] for later steps.
    Rows,
    /// Key, then the new fence values, of each row whose lease was extended.
    Leases,
    /// Groups as text, and how each was found: 0 it has new rows, 1 from the group cursor; 2 and 3 are not groups but
    /// the new cursor, NULL after a full round. A search before the transaction also returns whether the head may go,
    /// and on MySQL the key of its first live row. Later steps bind the groups as [`Bind::Groups`] and [`Bind::Group`].
    Groups,
    /// The first rows of one group, laid out as `Rows`, with one more column: 1 may go, 0 may not, -1 is in flight.
    Run,
    /// Pools, and how many of their rows may go. They limit the shares and runs of later steps.
    Permits,
    /// As documented at the statement.
    Other,
}

/// A value that a step binds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bind {
    Limit,
    /// This worker's id.
    Owner,
    /// PostgreSQL: one array over all settlements (text[]; float8[] for a delay).
    Array(Field),
    /// MySQL, SQLite: one JSON array of objects, one per settlement, sorted by key, each with these members (see
    /// [`Field::key`]).
    Rows(Vec<Field>),
    /// One value that all settlements of this call share (the uniform settle).
    One(Field),
    /// The keys that the caller named: a text[] on PostgreSQL, a JSON array on SQLite, expanded on MySQL.
    Ids,
    /// The keys that an earlier step of the script yielded, in the same representations.
    Held,
    /// MySQL claim: the claim time, the greatest that the pick step yielded at [`Layout::claim_time`].
    ClaimTime,
    /// The age limit of an operator's "since", in seconds.
    Since,
    /// The number of groups to claim.
    GroupsWanted,
    /// Maximum number of groups to read from the group cursor on.
    Jumps,
    /// Maximum number of new rows to read.
    Fresh,
    /// The last group that was read, as text.
    Cursor,
    /// The groups to claim rows of: a text[] on PostgreSQL, a JSON array on SQLite.
    Groups,
    /// One of the groups: the step runs once for each (MySQL).
    Group,
    /// Maximum number of rows of one group.
    Run,
    /// The shares to claim rows of, and how many of each: a JSON array of objects with `s` and `n`.
    Shares,
    /// One of the shares: the step runs once for each (MySQL).
    Share,
    /// Maximum number of rows of one share.
    Quota,
    /// Limited pools: a text[] on PostgreSQL, a JSON array on SQLite, expanded on MySQL.
    Pools,
    /// The pools whose rows may go: a JSON array.
    Open,
    /// Number of rows of each limited pool that may go: a JSON array of objects with `p` and `n`.
    Permits,
}

/// A value of a settlement, one per row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// As text, for any type of column.
    Id,
    /// The n-th value of the fence, as text, as the claim returned it.
    Fence(usize),
    /// Seconds, as a float.
    Delay,
    Reason,
    Receipt,
    /// A new TSID.
    Tsid,
    Envelope(String),
    Outcome(String),
    /// The field's value as JSON text (`"abc"`, `30`), for a member of a JSON object; NULL if it is absent.
    Json(Box<Field>),
}

impl Field {
    /// Returns the name of the field's member in [`Bind::Rows`].
    pub fn key(&self) -> String {
        match self {
            Self::Id => "id".to_owned(),
            Self::Fence(index) => format!("f{index}"),
            Self::Delay => "delay".to_owned(),
            Self::Reason => "reason".to_owned(),
            Self::Receipt => "receipt".to_owned(),
            Self::Tsid => "tsid".to_owned(),
            Self::Envelope(field) => format!("e_{field}"),
            Self::Outcome(field) => format!("o_{field}"),
            Self::Json(field) => format!("j_{}", field.key()),
        }
    }
}

/// The columns of a claimed row: fixed columns first, then the message fields.
///
/// `id, fence…, attempts, max_attempts, schedule, group, on_error, pool, share, waited_micros, size, field…`
///
/// `attempts, max_attempts, waited_micros, size` (and an integer key) are 64-bit integers, everything else is text
/// (bytes for binary columns), so that one decoder serves every table. `group` is NULL if the row keeps no order;
/// `on_error` is the name of its mode. A role that the contract does not have is NULL. A field larger than the inline
/// limit is NULL; `size` shows that it was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Whether the key is a 64-bit integer; otherwise it is text.
    pub integer_id: bool,
    /// Number of fence values. They are always text: compared as such, or cast to the column's type by the statements.
    pub fences: usize,
    /// MySQL: the index of the fence value that is the claim time. The pick step yields a candidate for each row; the
    /// greatest one applies to all rows, and the next step binds it as [`Bind::ClaimTime`].
    pub claim_time: Option<usize>,
    /// Position of the pool.
    pub pool: usize,
    /// Composer field names, in order.
    pub fields: Arc<[String]>,
    /// Field names that [`Program::join`] yields (`event.section_id`), in order; empty if there are no joins.
    pub joined: Arc<[String]>,
}

/// Every script that a store runs for one stage of one contract on one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub layout: Layout,
    /// One script per ready state on MySQL (tried in turn until the limit is reached), one script elsewhere. On SQLite
    /// a first step yields the keys in the contract's order, a second the rows in any order: see [`bind::in_order`].
    ///
    /// [`bind::in_order`]: crate::bind::in_order
    pub claim: Vec<Script>,
    /// The claim of ordered groups, if rows keep an order. `claim` is then only for the other rows.
    pub groups: Option<GroupClaim>,
    /// The claim by shares of rows that keep no order, if the contract has shares.
    pub shares: Option<ShareClaim>,
    /// Present if the lane has an external queue.
    pub handoff: Option<HandoffScripts>,
    /// Yields `id, field…` for the named keys.
    pub load: Script,
    /// Yields `id, joined…` for the named keys; NULLs if the joined row does not exist.
    pub join: Option<Script>,
    pub settle: BTreeMap<Transition, Settle>,
    /// Records an attempt whose row was cancelled meanwhile: the row stays cancelled.
    pub late: BTreeMap<Transition, Settle>,
    /// Yields `Leases`. Absent if a lease is kept without a write.
    pub extend: Option<Script>,
    /// Gives claimed rows without a claim time one, so that their lease can expire. `Keys`.
    pub stamp: Option<Script>,
    /// The name of this stage of this table in internal tables.
    pub place: String,
    /// Yields those of the given leases that still hold. `Keys`.
    pub standing_leases: Script,
    /// Absent if a lease ends without a move (`lease.by = "due"`).
    pub reclaim: Option<ReclaimScripts>,
    /// Absent if the table does not record which worker claimed a row.
    pub unheld: Option<UnheldScripts>,
    pub spent: Option<Script>,
    /// SQLite only: one for each time column that a claim requires.
    pub unreadable: Vec<UnreadableScripts>,
    /// As `contract.sweeps`. `Keys`.
    pub sweeps: Vec<Script>,
    /// One per state with a retention. `Keys`, of the rows deleted.
    pub purge: Vec<Script>,
    /// Yields one nullable integer: microseconds until the next ready row is due (negative: it is due).
    pub next_due: Script,
    pub inspect: InspectScripts,
}

/// The scripts that end ready rows whose time in one column is unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableScripts {
    pub column: String,
    /// `Keys`. Only reads.
    pub look: Script,
    /// Binds `Ids`, yields `Keys`.
    pub end: Script,
}

/// The scripts that reclaim rows whose lease expired. All moves bind `Ids` and yield `Keys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReclaimScripts {
    /// Yields for each such row its lease (key, fence), 1 if a charge would end it, and its maximum number of attempts.
    pub look: Script,
    /// Returns rows that were only held, without charging an attempt.
    pub free: Script,
    /// The same for begun rows with one attempt left; counts the crash.
    pub spared: Script,
    /// Returns rows and charges an attempt; counts the crash.
    pub charged: Script,
    /// Moves rows that crash their workers too often to the dead state.
    pub dead: Script,
}

/// The claim of ordered groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupClaim {
    /// From the first group on. One script on PostgreSQL, whose first step finds groups and locks them and whose second
    /// claims their rows; elsewhere the first script finds groups, and the second claims rows of the groups that the
    /// caller passes.
    pub first: Vec<Script>,
    /// The same, from [`Bind::Cursor`] on.
    pub after: Vec<Script>,
    /// The same if some of their pools are limited: the permits are counted first, and then spent.
    pub limited_first: Vec<Script>,
    pub limited_after: Vec<Script>,
    /// Number of rows that a claim takes of one group if other groups are free too.
    pub run: u32,
}

/// The claim by shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareClaim {
    /// Yields the keys of up to [`Bind::Jumps`] shares with waiting rows, in order.
    pub first: Script,
    /// The same, from [`Bind::Cursor`] on.
    pub after: Script,
    /// Claims rows of [`Bind::Shares`].
    pub take: Script,
    /// Absent if the contract has no pools.
    pub pools: Option<PoolScripts>,
}

/// The scripts for the limits of pools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolScripts {
    /// Yields 1 if the table of pools exists, else 0: then no pool is limited.
    pub there: Script,
    /// Yields those of [`Bind::Pools`] that exist: name, 1 if it is limited, how many rows may go, microseconds until
    /// its rate permits one.
    pub state: Script,
    /// Inserts an internal row for each pool: its lock and its rate bucket.
    pub enroll: Script,
    /// Claims rows of [`Bind::Shares`], under the locks of [`Bind::Pools`].
    pub take: Script,
    /// Returns the permits that [`Bind::Ids`] cost.
    pub refund: Script,
}

/// The scripts for an external queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffScripts {
    /// Claims those of [`Bind::Ids`] that may go.
    pub claim: Script,
    /// Yields those of [`Bind::Ids`] that exist: the key, and 2 if it can be claimed this way, 1 if it can be claimed
    /// only from the table, else 0.
    pub standing: Script,
    /// Index in [`Program::sweeps`] of the sweep that yields the rows to publish.
    pub waiting: usize,
    /// One or two per ready state: marks rows that are due and not on the queue. `Keys`.
    pub due: Vec<Script>,
    /// One per ready state: undoes that for [`Bind::Ids`]. `Keys`.
    pub recall: Vec<Script>,
    /// Whether the table can have rows that no queue can carry.
    pub keeps_rows: bool,
}

/// The statements of one settling transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// If all rows share the fence and every other value (`Bind::One`): `id = ANY($1)`. Absent if values cannot be
    /// shared.
    pub uniform: Option<Script>,
    pub each: Script,
    /// For rows with recipient results to keep, if the internal table keeps them.
    pub remembering: Option<Script>,
}

/// The scripts of operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectScripts {
    /// State name → yields one integer, counted up to the seam's limit + 1.
    pub census: Vec<(String, Script)>,
    /// From-state name → the move. Binds `Ids`.
    pub requeue_ids: Vec<(String, Script)>,
    /// Binds `Limit`, and `Since` (seconds; NULL for any).
    pub requeue_state: Vec<(String, Script)>,
    pub cancel_ids: Vec<(String, Script)>,
    pub cancel_state: Vec<(String, Script)>,
    /// Returns claimed rows without charging an attempt.
    pub release_ids: Vec<(String, Script)>,
    pub release_state: Vec<(String, Script)>,
    /// Marks a row as done because an operator vouches for it.
    pub complete_ids: Vec<(String, Script)>,
    /// Yields two nullable floats: seconds since the oldest due row became due, and since the oldest claim.
    pub lag: Script,
}

impl Program {
    /// Returns every script that is not about settlements or leases, with its purpose.
    pub fn scripts(&self) -> Vec<(&'static str, &Script)> {
        let inspect = &self.inspect;
        let mut scripts = vec![("load", &self.load), ("next due", &self.next_due), ("lag", &inspect.lag)];
        scripts.extend(self.claim.iter().map(|script| ("claim", script)));
        if let Some(shares) = &self.shares {
            scripts.extend([("shares", &shares.first), ("claim of shares", &shares.take)]);
            // The other scripts of pools can run only if this one yields 1.
            scripts.extend(shares.pools.iter().map(|pools| ("is there a table of pools", &pools.there)));
        }
        if let Some(handoff) = &self.handoff {
            scripts.extend([("claim by key", &handoff.claim), ("standing", &handoff.standing)]);
            scripts.extend(handoff.due.iter().map(|script| ("offer", script)));
            scripts.extend(handoff.recall.iter().map(|script| ("recall", script)));
        }
        scripts.extend(self.join.iter().map(|script| ("join", script)));
        scripts.extend(self.stamp.iter().map(|script| ("stamp", script)));
        // The other moves of a reclaim write to internal tables, which may not exist.
        if let Some(reclaim) = &self.reclaim {
            scripts.extend([("look for expired leases", &reclaim.look), ("reclaim", &reclaim.free)]);
        }
        if let Some(unheld) = &self.unheld {
            scripts
                .extend([("look for rows of a lost claim", &unheld.look), ("release of them", &unheld.free)]);
        }
        scripts.extend(self.spent.iter().map(|script| ("spent", script)));
        for unreadable in &self.unreadable {
            scripts.extend([
                ("look for unreadable times", &unreadable.look),
                ("end unreadable", &unreadable.end),
            ]);
        }
        scripts.extend(self.sweeps.iter().map(|script| ("sweep", script)));
        scripts.extend(self.purge.iter().map(|script| ("purge", script)));
        scripts.extend(inspect.census.iter().map(|(_, script)| ("census", script)));
        for (name, list) in [
            ("requeue by key", &inspect.requeue_ids),
            ("requeue by state", &inspect.requeue_state),
            ("cancel by key", &inspect.cancel_ids),
            ("cancel by state", &inspect.cancel_state),
            ("release by key", &inspect.release_ids),
            ("release by state", &inspect.release_state),
            ("complete by key", &inspect.complete_ids),
        ] {
            scripts.extend(list.iter().map(|(_, script)| (name, script)));
        }
        scripts
    }
}
