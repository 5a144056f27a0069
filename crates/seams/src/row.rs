//! A claimed row as it crosses from a store to the engine and the composer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use postrider_contract::{Counters, Hold, StateId};

/// A row's key. Databases' own key types travel as text where they are not whole numbers (UUID, CHAR, TSID).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowId {
    Int(i64),
    Text(Arc<str>),
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(id) => write!(f, "{id}"),
            Self::Text(id) => f.write_str(id),
        }
    }
}

/// One value of a column, in the few forms that cross the seam.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// A binary column, or text that is not valid UTF-8.
    Bytes(Vec<u8>),
}

impl Value {
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The right to settle one row: its key, and what the claim (or the last extension) wrote, as read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Lease {
    pub id: RowId,
    pub fence: Box<[Value]>,
}

/// A row that this worker holds.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub lease: Lease,
    pub counters: Counters,
    /// Crashes in a row at which this row was being delivered; see [`postrider_contract::SUSPECT_CRASHES`].
    pub crashes: u32,
    /// Microseconds since the last of them, by the database's clock.
    pub since_crash: i64,
    /// The ready state it was claimed from, where the store can tell.
    pub from: Option<StateId>,
    /// Where the row keeps an order: rows of one key are delivered in the order of the claim, one after another.
    pub group: Option<Group>,
    pub pool: Option<Arc<str>>,
    /// Whose turn the row counts as, where rows take turns.
    pub share: Option<Arc<str>>,
    /// How long the row had been due when it was claimed, by the database's clock, in microseconds.
    pub waited_micros: i64,
    /// Bytes of all message columns. Past `store::INLINE_LIMIT` the fields are not here: `Store::load` fetches them.
    pub size: u64,
    pub fields: Option<Fields>,
}

/// The ordered group of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub key: Arc<str>,
    /// What a failure of this row does to those behind it; never `Parallel`.
    pub on_error: Hold,
}

/// The field that holds the database's clock, in milliseconds since 1970, where the contract joins or counts.
pub const CLOCK: &str = "clock";

/// The field that holds when the row came to its stage, in milliseconds since 1970, where the contract's history tells.
pub const REACHED: &str = "history.reached";

/// The message columns of one row, under the composer's field names (`to`, `headers.deal_id`, `event.section_id`).
#[derive(Debug, Clone, Default)]
pub struct Fields {
    names: Arc<[String]>,
    values: Vec<Value>,
}

impl Fields {
    /// `names` is shared by all rows of a statement.
    pub fn new(names: Arc<[String]>, values: Vec<Value>) -> Self {
        debug_assert_eq!(names.len(), values.len(), "one value per name");
        Self { names, values }
    }

    /// The value of a field; `Null` where the table has no such column.
    pub fn get(&self, name: &str) -> &Value {
        static NULL: Value = Value::Null;
        self.names.iter().position(|known| known == name).map_or(&NULL, |index| &self.values[index])
    }

    /// Does the table have a column for this field?
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.names.iter().map(String::as_str).zip(&self.values)
    }
}

/// Named values that a composer or a transport hands on for a contract's `$envelope.X` and `$outcome.X`.
pub type Detail = BTreeMap<String, Value>;
