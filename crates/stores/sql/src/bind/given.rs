//! What a caller gives to a script, and the value of each bind.

use postrider_seams::row::{Lease, RowId, Value};
use postrider_seams::store::Settlement;
use serde_json::{Map, Number, Value as Json};

use super::tsid::tsid;
use crate::Field;

/// The rows that a settle or an extend is about.
#[derive(Debug, Clone, Default)]
pub enum Moves<'a> {
    #[default]
    None,
    Settlements(Vec<&'a Settlement>),
    Leases(Vec<&'a Lease>),
}

/// Everything that a script's binds can name, but the keys that its own steps hold.
#[derive(Debug, Clone, Default)]
pub struct Given<'a> {
    pub limit: u32,
    pub owner: &'a str,
    pub moves: Moves<'a>,
    pub ids: Vec<RowId>,
    /// Seconds.
    pub since: Option<f64>,
    /// MySQL's claim: in which column the pick step yields the claim time.
    pub claim_time: Option<usize>,
    pub groups: Groups,
    pub shares: Shares,
}

/// What a claim by shares asks for, and what is known of pools.
#[derive(Debug, Clone, Default)]
pub struct Shares {
    pub wanted: Vec<Share>,
    /// Pools with limits: what they may have is counted under their locks.
    pub limited: Vec<String>,
    /// Pools that may have more, as far as is known.
    pub open: Vec<String>,
    /// MySQL: in which column a pick yields the pool.
    pub pool_column: Option<usize>,
}

/// Rows of one pool and one client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    pub key: String,
    /// Its pool, where that is limited.
    pub limited: Option<String>,
    pub most: u32,
}

/// What a claim of ordered groups asks for.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    /// How many groups it wants.
    pub wanted: u32,
    /// The most groups on the ring to look at.
    pub jumps: u32,
    /// The most new rows to look at.
    pub fresh: u32,
    /// The last group that was looked at.
    pub cursor: Option<String>,
    /// Rows of one group, at least, where it has them.
    pub run: u32,
    /// Those that a look found, for the script that takes their rows.
    pub found: Vec<String>,
}

impl<'a> Given<'a> {
    pub fn limit(owner: &'a str, limit: u32) -> Self {
        Self { limit, owner, ..Self::default() }
    }

    pub fn ids(owner: &'a str, ids: Vec<RowId>) -> Self {
        Self { ids, owner, limit: u32::MAX, ..Self::default() }
    }

    pub fn settlements(owner: &'a str, settlements: Vec<&'a Settlement>) -> Self {
        let ids = settlements.iter().map(|settlement| settlement.lease.id.clone()).collect();
        Self { moves: Moves::Settlements(settlements), ..Self::ids(owner, ids) }
    }

    pub fn leases(owner: &'a str, leases: Vec<&'a Lease>) -> Self {
        let ids = leases.iter().map(|lease| lease.id.clone()).collect();
        Self { moves: Moves::Leases(leases), ..Self::ids(owner, ids) }
    }

    /// A field's values, one per row.
    pub fn column(&self, field: &Field) -> Vec<Value> {
        match &self.moves {
            Moves::None => Vec::new(),
            Moves::Settlements(settlements) => settlements.iter().map(|one| value(field, one)).collect(),
            Moves::Leases(leases) => leases.iter().map(|lease| lease_value(field, lease)).collect(),
        }
    }

    /// A field's value where all rows share it: the first row's.
    pub fn shared(&self, field: &Field) -> Value {
        match &self.moves {
            Moves::None => Value::Null,
            Moves::Settlements(settlements) => {
                settlements.first().map_or(Value::Null, |one| value(field, one))
            }
            Moves::Leases(leases) => leases.first().map_or(Value::Null, |lease| lease_value(field, lease)),
        }
    }

    /// A JSON array of objects, one per row, with these members.
    pub fn json_rows(&self, fields: &[Field]) -> String {
        let rows: Vec<Json> = match &self.moves {
            Moves::None => Vec::new(),
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

/// What a settlement gives for a field; NULL where it has no such value.
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

/// A value as text, for databases that cast on their side. Bytes travel as PostgreSQL's hex form.
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

/// No database of ours keeps NUL in text everywhere; one reason with a NUL must not fail its whole batch.
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

/// Texts as a JSON array.
pub fn json_texts(texts: &[String]) -> String {
    Json::Array(texts.iter().map(|text| Json::from(text.as_str())).collect()).to_string()
}

/// Keys as a JSON array.
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
