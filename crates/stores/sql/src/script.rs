//! The parts of a statement that is rendered once and bound on each call: its SQL, its parameters, and the kind of its
//! rows.

use std::sync::Arc;

/// Steps that run in one transaction; a single step needs no explicit transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub steps: Vec<Step>,
}

/// One statement, with the dialect's placeholders in the order of `params`.
///
/// They are `$1…` on PostgreSQL and `?1…` on SQLite (each bind once, even if used repeatedly), and `?` on MySQL (a bind
/// for every use). On MySQL a [`Param::Held`] or [`Param::Ids`] is the marker `{held}` or `{ids}`, which the store
/// expands to `?, ?, …`. A step that binds `Held` is skipped if there are no keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub sql: String,
    pub params: Vec<Param>,
    pub yields: Yields,
}

/// The rows that a step returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yields {
    Nothing,
    /// One column: the keys of the rows that moved. Later steps of the script bind them as [`Param::Held`].
    Keys,
    /// Rows in the order of [`Layout`]; their keys are [`Param::Held`] for later steps.
    Rows,
    /// Key, then the new fence values, of each row whose lease was extended.
    Leases,
    /// Groups as text, and how each was found: 0 it has new rows, 1 from the group cursor; 2 and 3 are not groups but
    /// the new cursor, NULL after a full round. A search before the transaction also returns whether the head may go,
    /// and on MySQL the key of its first live row. Later steps bind the groups as [`Param::Groups`] and [`Param::Group`].
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
pub enum Param {
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

impl Param {
    /// Returns the text that stands for a list on MySQL until its length is known; for other parameters the placeholder.
    pub(crate) fn marker(&self) -> &'static str {
        match self {
            Self::Ids => "{ids}",
            Self::Held => "{held}",
            Self::Pools => "{pools}",
            _ => "?",
        }
    }
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
    /// Returns the name of the field's member in [`Param::Rows`].
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
    /// greatest one applies to all rows, and the next step binds it as [`Param::ClaimTime`].
    pub claim_time: Option<usize>,
    /// Position of the pool.
    pub pool: usize,
    /// Composer field names, in order.
    pub fields: Arc<[String]>,
    /// Field names that [`Statements::join`] yields (`event.section_id`), in order; empty if there are no joins.
    pub joined: Arc<[String]>,
}
