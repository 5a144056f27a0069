//! Parses `[due]`, `[claim]`, `[group]` and `[pool]`: which rows are claimed next.

use std::collections::BTreeMap;
use std::time::Duration;

use postrider_config::{Item, TableReader};

use crate::{
    ClaimOrder, ClaimRule, ColumnRole, Columns, Defer, DueNull, DueRule, GroupMode, GroupRule, JsonMember,
    Literal, OnError, OrderBy, PoolTable,
};

use super::columns::Names;
use super::effects::is_field;
use super::schedule::{named_role, role};
use super::values::{ANY_DURATION, literal};

const HOLDS: [(&str, GroupMode); 4] = [
    ("parallel", GroupMode::Parallel),
    ("next", GroupMode::Next),
    ("wait", GroupMode::Wait),
    ("block", GroupMode::Block),
];

pub(super) fn due(reader: &TableReader<'_>, names: &Names, columns: &Columns) -> DueRule {
    let has_column = columns.get(ColumnRole::Due).is_some();
    let by_default = if has_column { Defer::Due } else { Defer::None };
    let mut due = DueRule { null: DueNull::Never, after: None, retry_after: None, defer: by_default };
    let Some(reader) = reader.table("due") else { return due };
    if let Some(null) =
        reader.get("null").and_then(|item| item.choice(&[("now", DueNull::Now), ("never", DueNull::Never)]))
    {
        due.null = null;
    }
    due.after = reader.get("after").and_then(|item| role(&item));
    due.retry_after = reader.get("retry_after").and_then(|item| json_member(&item, names, columns));
    if let Some(kept) = reader.get("defer").and_then(|item| defer(&item)) {
        due.defer = kept;
    }
    reader.finish();
    due
}

/// Parses `due.defer`. Earlier versions called `none` `memory`.
fn defer(item: &Item<'_>) -> Option<Defer> {
    if item.is("memory") {
        item.mistake(
            "\"memory\" is now called \"none\"",
            "write defer = \"none\": the row is due again at once",
        );
        return None;
    }
    item.choice(&[("due", Defer::Due), ("lease", Defer::Lease), ("none", Defer::None)])
}

/// Parses `role_or_column.member`.
fn json_member(item: &Item<'_>, names: &Names, columns: &Columns) -> Option<JsonMember> {
    let text = item.text()?;
    let Some((column, member)) = text.split_once('.').filter(|(_, member)| is_field(member)) else {
        item.mistake(
            format!("{text:?} is not a member of a JSON column"),
            "write \"COLUMN.MEMBER\", such as \"error.retryAfterSeconds\"",
        );
        return None;
    };
    let column = ColumnRole::from_name(column)
        .and_then(|role| columns.get(role))
        .map_or_else(|| names.column(column, item), str::to_owned);
    Some(JsonMember { column, member: member.to_owned() })
}

pub(super) fn claim(reader: &TableReader<'_>, names: &Names, columns: &Columns) -> ClaimRule {
    let by_default: &[ColumnRole] = if columns.get(ColumnRole::Due).is_some() {
        &[ColumnRole::Due, ColumnRole::Id]
    } else {
        &[ColumnRole::Id]
    };
    let order = by_default.iter().map(|role| ClaimOrder::of(*role)).collect();
    let mut claim = ClaimRule { order, batch: 200, min_age: Duration::ZERO, filter: Vec::new(), fair: None };
    let Some(reader) = reader.table("claim") else { return claim };
    if let Some(item) = reader.get("order") {
        claim.order = item.one_or_many().iter().filter_map(|item| order_by(item, names, columns)).collect();
    }
    if let Some(batch) = reader.get("batch").and_then(|item| item.number(1..=1000)) {
        claim.batch = batch;
    }
    if let Some(age) = reader.get("min_age").and_then(|item| item.duration(ANY_DURATION)) {
        claim.min_age = age;
    }
    claim.fair = reader.get("fair").and_then(|item| Some(names.optional(item.text()?, &item)));
    if let Some(filter) = reader.table("where") {
        claim.filter = filter
            .all()
            .filter_map(|(column, item)| Some((names.column(column, &item), literal(&item)?)))
            .collect();
    }
    reader.finish();
    claim
}

fn order_by(item: &Item<'_>, names: &Names, columns: &Columns) -> Option<ClaimOrder> {
    let text = item.text()?;
    let (name, descending) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
    let is_role = ColumnRole::from_name(name).is_some();
    // A role with a typing mistake would be a column that no table has.
    let nearly = postrider_config::closest(name, ColumnRole::ALL.iter().map(|role| role.name()));
    if !is_role && nearly.is_none() {
        return Some(ClaimOrder { by: OrderBy::Column(names.column(name, item)), descending });
    }
    let role = named_role(name, item)?;
    if role != ColumnRole::Id && columns.get(role).is_none() {
        item.mistake(
            format!("no column has the role `{name}`"),
            format!("add {name} = \"COLUMN\" to [columns]"),
        );
    }
    Some(ClaimOrder { by: OrderBy::Role(role), descending })
}

pub(super) fn group(reader: &TableReader<'_>, names: &Names, columns: &Columns) -> Option<GroupRule> {
    let reader = reader.table("group")?;
    let by = reader
        .required("by", "write by = \"COLUMN\": rows with the same value are one group")
        .and_then(|item| Some(names.column(item.text()?, &item)));
    let none: Option<Literal> = reader.get("none").and_then(|item| literal(&item));
    let sequence = match reader.get("sequence") {
        Some(item) => {
            item.one_or_many().iter().filter_map(|item| names.role_or_column(columns, item)).collect()
        }
        None => columns.get(ColumnRole::Created).map(str::to_owned).into_iter().collect(),
    };
    let on_error = reader.get("on_error").and_then(|item| on_error(&item, names));
    let run = reader.get("run").and_then(|item| item.number(1..=1000)).unwrap_or(50);
    reader.finish();
    Some(GroupRule {
        by: by?,
        none,
        sequence,
        on_error: on_error.unwrap_or(OnError::Always(GroupMode::Wait)),
        run,
    })
}

/// Parses `[pool]`: the table with the limits, and its columns.
pub(super) fn pool(reader: &TableReader<'_>) -> Option<PoolTable> {
    let reader = reader.table("pool")?;
    let table = reader
        .required("table", "write table = \"TABLE\": the table with the limits of pools")
        .and_then(|item| {
            let text = item.text()?;
            text.split('.').for_each(|part| super::columns::check(part, &item));
            Some(text.to_owned())
        });
    let column = |key: &'static str| {
        let Some(item) = reader.get(key) else { return Some(key.to_owned()) };
        let text = item.text()?;
        super::columns::check(text, &item);
        Some(text.to_owned())
    };
    let (id, concurrency, rate, paused) =
        (column("id"), column("concurrency"), column("rate"), column("paused"));
    reader.finish();
    Some(PoolTable { table: table?, id: id?, concurrency: concurrency?, rate: rate?, paused: paused? })
}

fn on_error(item: &Item<'_>, names: &Names) -> Option<OnError> {
    if !item.is_table() {
        return item.choice(&HOLDS).map(OnError::Always);
    }
    let reader = item.table()?;
    let column = reader
        .required("column", "write column = \"COLUMN\": the column with the mode of each row")
        .and_then(|item| {
            let name = item.text()?;
            Some(names.column(name, &item))
        });
    let values: BTreeMap<String, GroupMode> = reader
        .all()
        .filter(|(value, _)| *value != "column")
        .filter_map(|(value, item)| Some((value.to_owned(), item.choice(&HOLDS)?)))
        .collect();
    Some(OnError::ByColumn { column: column?, values })
}
