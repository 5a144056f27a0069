//! What rendering yields: scripts that a store runs as they are, binding what each step names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use postrider_contract::{Contract, Transition};

use crate::ddl;
use crate::unheld::UnheldScripts;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    Postgres,
    /// MySQL 8+ and MariaDB 10.6+.
    Mysql,
    Sqlite,
}

/// The columns that a table has, as its database describes them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    pub columns: Vec<ShapeColumn>,
    /// Table name → columns of the tables that effects insert into. Where one is missing here, its columns are
    /// taken for text.
    pub related: BTreeMap<String, Vec<ShapeColumn>>,
    /// Columns by which all rows can be found: those that an index begins with. `true`: also by how they begin.
    pub indexed: BTreeMap<String, bool>,
    /// Columns whose index holds how their values begin, as `migrate --search` makes it on PostgreSQL.
    pub begun: BTreeSet<String>,
    /// Tables and columns that hold the keys of rows and go with them (ON DELETE CASCADE), where the database would not do
    /// it for us: SQLite does it only on connections that ask for all foreign keys to be enforced.
    pub cascades: Vec<(String, String)>,
    /// Is our own table there that remembers who has a mail?
    pub recipients: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeColumn {
    pub name: String,
    /// As the database spells it, precision included: `timestamp(3) without time zone`, `varchar(26)`, `INTEGER`.
    pub sql_type: String,
    /// MySQL only: keys and fences in JSON are compared in the column's own collation, else no index serves.
    pub collation: Option<String>,
    pub nullable: bool,
    pub has_default: bool,
}

impl ShapeColumn {
    /// A nullable column.
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
    pub fn column(&self, name: &str) -> Option<&ShapeColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// A column whose name differs only in case.
    pub(crate) fn namesake(&self, name: &str) -> Option<&str> {
        let same = |column: &&ShapeColumn| column.name != name && column.name.eq_ignore_ascii_case(name);
        self.columns.iter().find(same).map(|column| column.name.as_str())
    }

    /// Spells columns as the contract does, for databases that do not tell cases apart in names.
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

/// Steps that run in one transaction; a single step needs none of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub steps: Vec<Step>,
}

/// One statement. Its text has the dialect's placeholders in the order of `binds`: `$1…` on PostgreSQL and `?1…` on
/// SQLite (each bind once, however often it is used), `?` on MySQL (a bind for every use). On MySQL a [`Bind::Held`]
/// or [`Bind::Ids`] stands as the marker `{held}` or `{ids}`, which the store expands to `?, ?, …`. A step that binds
/// `Held` is left out when there are no keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub sql: String,
    pub binds: Vec<Bind>,
    pub yields: Yields,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yields {
    Nothing,
    /// One column: the keys of the rows that moved. Later steps of the script bind them as [`Bind::Held`].
    Keys,
    /// Rows in the order of [`Layout`]; their keys are [`Bind::Held`] for later steps.
    Rows,
    /// Key, then the new fence values, of each row whose lease was prolonged.
    Leases,
    /// Groups as text, and how each was found (0: it has new rows, 1: on the ring, 2 and 3: not a group but where the ring
    /// was left, NULL after a full turn). Of a look before the transaction also whether its head may go, and on MySQL the
    /// key of its first live row. Later steps bind the groups as [`Bind::Groups`] and [`Bind::Group`].
    Groups,
    /// The first rows of one group, laid out as `Rows`, with one more column: 1 may go, 0 may not, -1 is in flight.
    Run,
    /// Pools, and how many of their rows may go. Shares and runs of later steps are bounded by them.
    Permits,
    /// What the statement's own documentation says.
    Other,
}

/// What a step binds.
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
    /// One value that all settlements of this call share (the uniform fast path).
    One(Field),
    /// The keys that the caller named: a text[] on PostgreSQL, a JSON array on SQLite, expanded on MySQL.
    Ids,
    /// The keys that an earlier step of the script yielded, in the same forms.
    Held,
    /// MySQL claim: the claim time, the greatest that the pick step yielded at [`Layout::claim_time`].
    ClaimTime,
    /// Seconds, of an operator's "since".
    Since,
    /// How many groups a claim wants.
    GroupsWanted,
    /// The most groups on the ring to look at.
    Jumps,
    /// The most new rows to look at.
    Fresh,
    /// The last group that was looked at, as text.
    Cursor,
    /// The groups to take rows of: a text[] on PostgreSQL, a JSON array on SQLite.
    Groups,
    /// One of them: the step runs once for each (MySQL).
    Group,
    /// The most rows of one group.
    Run,
    /// The shares to take rows of, and how many of each: a JSON array of objects with `s` and `n`.
    Shares,
    /// One of them: the step runs once for each (MySQL).
    Share,
    /// The most rows of one share.
    Quota,
    /// Limited pools: a text[] on PostgreSQL, a JSON array on SQLite, expanded on MySQL.
    Pools,
    /// The pools whose rows may go: a JSON array.
    Open,
    /// How many rows of each limited pool may go: a JSON array of objects with `p` and `n`.
    Permits,
}

/// What a settlement gives for each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// As text, whatever the column's type.
    Id,
    /// The n-th value of the fence, as text, as the layout gave it.
    Fence(usize),
    /// Seconds, as a float.
    Delay,
    Reason,
    Receipt,
    /// A fresh TSID.
    Tsid,
    Envelope(String),
    Outcome(String),
    /// The same value as JSON text (`"abc"`, `30`), for a member of a JSON object; NULL where it is absent.
    Json(Box<Field>),
}

impl Field {
    /// The member's name in [`Bind::Rows`].
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

/// How a claimed row is laid out: fixed columns first, then the message fields. `attempts, max_attempts,
/// waited_micros, size` (and the key, if it is one) come as 64-bit integers, everything else as text (bytes for
/// binary columns), so that one decoder serves every table.
///
/// `id, fence…, attempts, max_attempts, schedule, group, on_error, pool, share, waited_micros, size, field…`
///
/// `group` is NULL where the row keeps no order; `on_error` is the name of its mode. A role that the contract does not have comes as NULL. A field larger than the inline limit comes as NULL, with
/// `size` telling that it was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The key is a whole number (travels as a 64-bit integer), else text.
    pub integer_id: bool,
    /// Always text: compared as such, or cast to the column's own type by the statements.
    pub fences: usize,
    /// MySQL: which of the fences is the claim time. The pick step yields a candidate for each row; the greatest is
    /// every row's, and is what the next step binds as [`Bind::ClaimTime`].
    pub claim_time: Option<usize>,
    /// Where the pool is.
    pub pool: usize,
    /// Composer field names, in order.
    pub fields: Arc<[String]>,
    /// Field names that [`Program::join`] yields (`event.section_id`), in order; empty where nothing is joined.
    pub joined: Arc<[String]>,
}

/// Everything that a store runs for one stage of one contract on one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub layout: Layout,
    /// One script per ready state on MySQL (tried in turn until the limit is reached), one in all elsewhere. On SQLite
    /// a first step yields the keys in the contract's order, a second the rows in any order: see [`bind::in_order`].
    ///
    /// [`bind::in_order`]: crate::bind::in_order
    pub claim: Vec<Script>,
    /// Where rows keep an order: their claim. The one above is then for the other rows alone.
    pub groups: Option<GroupClaim>,
    /// Where rows are claimed by shares: the claim of those that keep no order.
    pub shares: Option<ShareClaim>,
    /// Where the lane has an external queue.
    pub handoff: Option<HandoffScripts>,
    /// Yields `id, field…` for the named keys.
    pub load: Script,
    /// Yields `id, joined…` for the named keys; NULLs where the joined row is not there.
    pub join: Option<Script>,
    pub settle: BTreeMap<Transition, Settle>,
    /// What is written of a try whose row was cancelled meanwhile: it stays cancelled, and the try is on record.
    pub late: BTreeMap<Transition, Settle>,
    /// Yields `Leases`. Absent where nothing is written to keep a lease.
    pub extend: Option<Script>,
    /// Gives claimed rows without a claim time one, so that their lease can run out. `Keys`.
    pub stamp: Option<Script>,
    /// Under which name our own tables know this stage of this table.
    pub place: String,
    /// Yields those of the given leases that still hold. `Keys`.
    pub standing_leases: Script,
    /// Absent where a lease ends without a move (`lease.by = "due"`).
    pub reclaim: Option<ReclaimScripts>,
    /// Absent where the table does not say who claimed a row.
    pub unheld: Option<UnheldScripts>,
    pub spent: Option<Script>,
    /// SQLite alone: one for each time without which no claim takes a row.
    pub unreadable: Vec<UnreadableScripts>,
    /// As `contract.sweeps`. `Keys`.
    pub sweeps: Vec<Script>,
    /// One per state with a retention. `Keys`, of the rows deleted.
    pub purge: Vec<Script>,
    /// Yields one nullable integer: microseconds until the next ready row falls due (negative: it is due).
    pub next_due: Script,
    pub inspect: InspectScripts,
}

/// What ends ready rows whose time in one column can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableScripts {
    pub column: String,
    /// `Keys`. Only reads.
    pub look: Script,
    /// Binds `Ids`, yields `Keys`.
    pub end: Script,
}

/// What takes back rows whose lease ran out. All moves bind `Ids` and yield `Keys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReclaimScripts {
    /// Yields of each such row its lease (key, fence), 1 where a charge would end it, and how many attempts it may have.
    pub look: Script,
    /// Rows that were merely held: back, at no cost.
    pub free: Script,
    /// The same for begun rows with one attempt left; counts the crash.
    pub spared: Script,
    /// Back with an attempt spent; counts the crash.
    pub charged: Script,
    /// Suspects that are given up.
    pub dead: Script,
}

/// The claim of ordered groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupClaim {
    /// From the start of the ring. One script on PostgreSQL, whose first step looks for groups (and locks them) and
    /// whose second takes rows of them; elsewhere the first script looks, and the second takes rows of the groups that
    /// the caller gives it.
    pub first: Vec<Script>,
    /// The same, on from [`Bind::Cursor`].
    pub after: Vec<Script>,
    /// The same where some of their pools are limited: what they may have is counted first, and paid for.
    pub limited_first: Vec<Script>,
    pub limited_after: Vec<Script>,
    /// Rows of one group that a claim takes where other groups are free too.
    pub run: u32,
}

/// The claim by shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareClaim {
    /// Yields the keys of shares in which rows wait, in their order; [`Bind::Jumps`] of them.
    pub first: Script,
    /// The same, on from [`Bind::Cursor`].
    pub after: Script,
    /// Takes rows of [`Bind::Shares`].
    pub take: Script,
    /// Absent where the contract has no pools.
    pub pools: Option<PoolScripts>,
}

/// What concerns the limits of pools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolScripts {
    /// Yields 1 where the table of pools is there, else 0: then no pool is limited.
    pub there: Script,
    /// Yields of [`Bind::Pools`] those that are known: name, 1 where it is limited, how many rows may go, microseconds until
    /// its rate lets one go.
    pub state: Script,
    /// Gives each a row of our own: its lock and its bucket.
    pub enroll: Script,
    /// Takes rows of [`Bind::Shares`], under the locks of [`Bind::Pools`].
    pub take: Script,
    /// Gives back what [`Bind::Ids`] cost.
    pub refund: Script,
}

/// What concerns an external queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffScripts {
    /// Takes [`Bind::Ids`], as far as they may go.
    pub claim: Script,
    /// Yields of [`Bind::Ids`] those that are there: the key, and 2 where it could be claimed so, 1 where it could be, but
    /// only from the table, else 0.
    pub standing: Script,
    /// Which of [`Program::sweeps`] yields the rows that wait to be published.
    pub waiting: usize,
    /// One or two per ready state: marks rows that are due and not on the queue. `Keys`.
    pub due: Vec<Script>,
    /// One per ready state: undoes that for [`Bind::Ids`]. `Keys`.
    pub recall: Vec<Script>,
    /// Are there rows that no queue can carry?
    pub keeps_rows: bool,
}

/// The statements of one settling transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// Where all rows share the fence and every other value (`Bind::One`): `id = ANY($1)`. Absent where it can't be.
    pub uniform: Option<Script>,
    pub each: Script,
    /// For rows with something to remember of their recipients, where our own table does.
    pub remembering: Option<Script>,
}

/// What operators run.
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
    /// Claimed rows, handed back unspent.
    pub release_ids: Vec<(String, Script)>,
    pub release_state: Vec<(String, Script)>,
    /// An operator vouches for the row.
    pub complete_ids: Vec<(String, Script)>,
    /// Yields two nullable floats: seconds since the oldest due row fell due, and since the oldest claim.
    pub lag: Script,
}

impl Program {
    /// Every script that is not about settlements or leases, by what it is for.
    pub fn scripts(&self) -> Vec<(&'static str, &Script)> {
        let inspect = &self.inspect;
        let mut scripts = vec![("load", &self.load), ("next due", &self.next_due), ("lag", &inspect.lag)];
        scripts.extend(self.claim.iter().map(|script| ("claim", script)));
        if let Some(shares) = &self.shares {
            scripts.extend([("shares", &shares.first), ("claim of shares", &shares.take)]);
            // The others only where that answers 1.
            scripts.extend(shares.pools.iter().map(|pools| ("is there a table of pools", &pools.there)));
        }
        if let Some(handoff) = &self.handoff {
            scripts.extend([("claim by key", &handoff.claim), ("standing", &handoff.standing)]);
            scripts.extend(handoff.due.iter().map(|script| ("offer", script)));
            scripts.extend(handoff.recall.iter().map(|script| ("recall", script)));
        }
        scripts.extend(self.join.iter().map(|script| ("join", script)));
        scripts.extend(self.stamp.iter().map(|script| ("stamp", script)));
        // The other moves of a reclaim write into our own tables, which need not be there.
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
