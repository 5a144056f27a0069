//! The arguments that a caller passes to a script, and the value of each bind.

use postrider_seams::row::{Lease, RowId, Value};
use postrider_seams::store::Settlement;
use serde_json::{Map, Number, Value as Json};

use super::tsid::tsid;
use crate::Field;

/// The rows that a settle or an extend works on.
#[derive(Debug, Clone, Default)]
pub enum Moves<'a> {
    #[default]
    None,
    Settlements(Vec<&'a Settlement>),
    Leases(Vec<&'a Lease>),
}

/// Everything that the binds of a script can refer to, except the keys that its own steps hold.
#[derive(Debug, Clone, Default)]
pub struct Values<'a> {
    pub limit: u32,
    pub owner: &'a str,
    pub moves: Moves<'a>,
    pub ids: Vec<RowId>,
    /// In seconds.
    pub since: Option<f64>,
    /// MySQL's claim: the column in which the pick step yields the claim time.
    pub claim_time: Option<usize>,
    pub groups: Groups,
    pub shares: Shares,
}

/// The shares that a claim asks for, and the state of the pools.
#[derive(Debug, Clone, Default)]
pub struct Shares {
    pub wanted: Vec<Share>,
    /// Pools with limits; their rows in flight are counted under the pool's lock.
    pub limited: Vec<String>,
    /// Pools that, by the last known counts, have permits left.
    pub open: Vec<String>,
    /// MySQL: the column in which a pick yields the pool.
    pub pool_column: Option<usize>,
}

/// The rows of one pool and one client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    pub key: String,
    /// The pool, if it is limited.
    pub limited: Option<String>,
    pub most: u32,
}

/// The arguments of a claim of ordered groups.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    /// The number of groups to claim.
    pub wanted: u32,
    /// Maximum number of groups to read from the group cursor on.
    pub jumps: u32,
    /// Maximum number of new rows to read.
    pub fresh: u32,
    /// The last group that was read.
    pub cursor: Option<String>,
    /// Minimum number of rows to claim of each group, if the group has that many.
    pub run: u32,
    /// The groups that the search found, for the script that claims their rows.
    pub found: Vec<String>,
}

impl<'a> Values<'a> {
    /// Arguments of a script that works on up to `limit` rows.
    pub fn limit(owner: &'a str, limit: u32) -> Self {
        Self { limit, owner, ..Self::default() }
    }

    /// Arguments of a script that works on the rows with these keys.
    pub fn ids(owner: &'a str, ids: Vec<RowId>) -> Self {
        Self { ids, owner, limit: u32::MAX, ..Self::default() }
    }

    /// Arguments of a script that settles these rows.
    pub fn settlements(owner: &'a str, settlements: Vec<&'a Settlement>) -> Self {
        let ids = settlements.iter().map(|settlement| settlement.lease.id.clone()).collect();
        Self { moves: Moves::Settlements(settlements), ..Self::ids(owner, ids) }
    }

    /// Arguments of a script that works on these leases.
    pub fn leases(owner: &'a str, leases: Vec<&'a Lease>) -> Self {
        let ids = leases.iter().map(|lease| lease.id.clone()).collect();
        Self { moves: Moves::Leases(leases), ..Self::ids(owner, ids) }
    }

    /// Returns the values of a field, one per row.
    pub fn column(&self, field: &Field) -> Vec<Value> {
        match &self.moves {
            Moves::None => unreachable!("{field:?} is a value of settlements or leases, and there are none"),
            Moves::Settlements(settlements) => settlements.iter().map(|one| value(field, one)).collect(),
            Moves::Leases(leases) => leases.iter().map(|lease| lease_value(field, lease)).collect(),
        }
    }

    /// Returns the value of a field that all rows share: that of the first row, NULL if there are no rows.
    pub fn shared(&self, field: &Field) -> Value {
        match &self.moves {
            Moves::None => unreachable!("{field:?} is a value of settlements or leases, and there are none"),
            Moves::Settlements(settlements) => {
                settlements.first().map_or(Value::Null, |one| value(field, one))
            }
            Moves::Leases(leases) => leases.first().map_or(Value::Null, |lease| lease_value(field, lease)),
        }
    }

    /// Returns a JSON array with one object per row, with these members.
    pub fn json_rows(&self, fields: &[Field]) -> String {
        let rows: Vec<Json> = match &self.moves {
            Moves::None => unreachable!("{fields:?} are values of settlements or leases, and there are none"),
            Moves::Settlements(settlements) => {
                settlements.iter().map(|one| object(fields, |field| value(field, one))).collect()
            }
            Moves::Leases(leases) => {
                leases.iter().map(|lease| object(fields, |field| lease_value(field, lease))).collect()
            }
        };
        Json::Array(rows).to_string()
    }
}

/// Returns the value that a settlement has for a field; NULL if it has none.
pub fn value(field: &Field, settlement: &Settlement) -> Value {
    match field {
        Field::Id | Field::Fence(_) => lease_value(field, &settlement.lease),
        Field::Delay => Value::Float(settlement.delay.as_secs_f64()),
        Field::Reason => settlement.reason.clone().map_or(Value::Null, Value::Text),
        Field::Receipt => settlement.receipt.clone().map_or(Value::Null, Value::Text),
        Field::Tsid => Value::Text(tsid()),
        Field::Envelope(name) => settlement.envelope.get(name).cloned().unwrap_or_default(),
        Field::Outcome(name) => settlement.outcome.get(name).cloned().unwrap_or_default(),
        Field::Json(field) => match value(field, settlement) {
            Value::Null => Value::Null,
            plain => Value::Text(json(plain).to_string()),
        },
    }
}

fn lease_value(field: &Field, lease: &Lease) -> Value {
    match field {
        Field::Id => Value::Text(lease.id.to_string()),
        Field::Fence(index) => lease.fence.get(*index).cloned().unwrap_or_default(),
        Field::Tsid => Value::Text(tsid()),
        Field::Delay
        | Field::Reason
        | Field::Receipt
        | Field::Envelope(_)
        | Field::Outcome(_)
        | Field::Json(_) => unreachable!("no statement about leases alone has {field:?}"),
    }
}

/// Returns a value as text, for databases that cast it themselves; `None` for NULL. Bytes become PostgreSQL's hex
/// format.
pub fn text(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Int(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Text(text) => Some(without_nul(text)),
        Value::Bytes(bytes) => Some(hex(&bytes)),
    }
}

/// Replaces NUL characters, which not every database stores in text: one reason with a NUL must not fail its whole
/// batch.
pub fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::from("\\x"), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String can't fail");
        text
    })
}

/// Returns texts as a JSON array.
pub fn json_texts(texts: &[String]) -> String {
    Json::Array(texts.iter().map(|text| Json::from(text.as_str())).collect()).to_string()
}

/// Returns keys as a JSON array.
pub fn json_ids(ids: &[RowId]) -> String {
    let ids = ids.iter().map(|id| match id {
        RowId::Int(id) => Json::from(*id),
        RowId::Text(id) => Json::from(&**id),
    });
    Json::Array(ids.collect()).to_string()
}

fn object(fields: &[Field], get: impl Fn(&Field) -> Value) -> Json {
    Json::Object(fields.iter().map(|field| (field.key(), json(get(field)))).collect::<Map<_, _>>())
}

fn json(value: Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(flag),
        Value::Int(number) => Json::from(number),
        Value::Float(number) => Number::from_f64(number).map_or(Json::Null, Json::Number),
        Value::Text(text) => Json::String(without_nul(text)),
        Value::Bytes(bytes) => Json::String(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
