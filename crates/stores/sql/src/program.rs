//! What rendering yields: scripts that a store runs as they are, binding what each step names.

use std::collections::BTreeMap;
use std::sync::Arc;

use postrider_contract::Transition;

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
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeColumn {
    pub name: String,
    /// As the database spells it, precision included: `timestamp(3) without time zone`, `varchar(26)`, `INTEGER`.
    pub sql_type: String,
    pub nullable: bool,
    pub has_default: bool,
}

/// Steps that run in one transaction; a single step needs none of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub steps: Vec<Step>,
}

/// One statement. Its text has the dialect's placeholders (`$1…` or `?`), in the order of `binds`; on MySQL a
/// [`Bind::Held`] or [`Bind::Ids`] stands as the marker `{held}` or `{ids}`, which the store expands to `?, ?, …`.
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
    /// MySQL, SQLite: one JSON array of objects, one per settlement, each with these members (see [`Field::key`]).
    Rows(Vec<Field>),
    /// One value that all settlements of this call share (the uniform fast path).
    One(Field),
    /// The keys that the caller named: a text[] on PostgreSQL, a JSON array on SQLite, expanded on MySQL.
    Ids,
    /// The keys that an earlier step of the script yielded, in the same forms.
    Held,
    /// MySQL claim: the claim time, the greatest that the pick step yielded.
    ClaimTime,
    /// Keyset paging: the last key of the page before.
    After,
    /// Seconds, of an operator's "since".
    Since,
}

/// What a settlement gives for each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    Id,
    /// The n-th value of the fence.
    Fence(usize),
    /// Seconds, as a float.
    Delay,
    Reason,
    Receipt,
    /// A fresh TSID.
    Tsid,
    Envelope(String),
    Outcome(String),
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
        }
    }
}

/// How a claimed row is laid out: fixed columns first, then the message fields. All whole numbers come as 64-bit
/// integers, everything else as text (or bytes for binary columns), so that one decoder serves every table.
///
/// `id, fence…, attempts, max_attempts, schedule, group, pool, waited_micros, size, field…`
///
/// A role that the contract does not have comes as NULL. A field larger than the inline limit comes as NULL, with
/// `size` telling that it was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The key is a whole number (travels as a 64-bit integer), else text.
    pub integer_id: bool,
    pub fences: usize,
    /// Composer field names, in order.
    pub fields: Arc<[String]>,
}

/// Everything that a store runs for one stage of one contract on one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub layout: Layout,
    /// One script per ready state on MySQL (tried in turn until the limit is reached), one in all elsewhere.
    pub claim: Vec<Script>,
    /// Yields `id, field…` for the named keys.
    pub load: Script,
    pub settle: BTreeMap<Transition, Settle>,
    pub extend: Script,
    /// Poison guard first (spent rows to the dead state), then the rest back to be tried.
    pub reclaim_dead: Option<Script>,
    pub reclaim: Script,
    pub spent: Option<Script>,
    /// As `contract.sweeps`.
    pub sweeps: Vec<Script>,
    /// One per state with a retention.
    pub purge: Vec<Script>,
    /// Yields one nullable integer: microseconds until the next ready row falls due (negative: it is due).
    pub next_due: Script,
    pub inspect: InspectScripts,
}

/// The statements of one settling transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// Where no row carries a value of its own and all share the fence: `id = ANY($1)`. Absent where it can't be.
    pub uniform: Option<Script>,
    pub each: Script,
}

/// What operators run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectScripts {
    /// State name → yields one integer, counted up to the seam's limit + 1.
    pub census: Vec<(String, Script)>,
    /// Newest key first. Yields `state name, id as text, every column as text in the shape's order`. The second takes `After`.
    pub browse_first: BTreeMap<Option<String>, Script>,
    pub browse_after: BTreeMap<Option<String>, Script>,
    /// The same columns for `Ids`.
    pub show: Script,
    /// From-state name → the move. Binds `Ids`.
    pub requeue_ids: Vec<(String, Script)>,
    /// Binds `Limit`, and `Since` (seconds; NULL for any).
    pub requeue_state: Vec<(String, Script)>,
    pub cancel_ids: Vec<(String, Script)>,
    pub cancel_state: Vec<(String, Script)>,
    /// Yields two nullable floats: seconds since the oldest due row fell due, and since the oldest claim.
    pub lag: Script,
}
