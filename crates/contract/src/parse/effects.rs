//! Parses `[[effect]]`, `[write]` and `[[join]]`, and the values in them.

use postrider_config::{Item, TableReader, Value, suggestion};

use crate::identifier::identifier;
use crate::{Absent, Column, Effect, Expr, Join, JoinedColumn, Literal, ManyRows, Transition, Write};

use super::columns::Names;
use super::values::literal;

const FAILED: [Transition; 4] =
    [Transition::Retry, Transition::Dead, Transition::Rejected, Transition::Skipped];

/// Returns the transition of that name; `failed` stands for four of them.
fn transitions(name: &str, item: &Item<'_>) -> Vec<Transition> {
    if name == "failed" {
        return FAILED.to_vec();
    }
    let found = Transition::from_name(name);
    if found.is_none() {
        let known = Transition::ALL.iter().map(|transition| transition.name()).chain(["failed"]);
        item.mistake(format!("unknown transition `{name}`"), suggestion(name, known));
    }
    found.into_iter().collect()
}

pub(super) fn effects(reader: &TableReader<'_>, names: &Names) -> Vec<Effect> {
    let Some(items) = reader.get("effect").and_then(|item| item.list()) else { return Vec::new() };
    items.iter().filter_map(|item| effect(&item.table()?, names)).collect()
}

fn effect(reader: &TableReader<'_>, names: &Names) -> Option<Effect> {
    let on = reader.required("on", "write on = [\"TRANSITION\"]").map(|item| {
        let mut on: Vec<Transition> = Vec::new();
        for item in item.one_or_many() {
            for transition in item.text().map(|name| transitions(name, &item)).unwrap_or_default() {
                if !on.contains(&transition) {
                    on.push(transition);
                }
            }
        }
        on
    });
    let table = reader.required("insert", "write insert = \"TABLE\"").and_then(|item| table_name(&item));
    let values = reader.required("values", "write values = { COLUMN = value }").and_then(|item| {
        let values = item.table()?;
        Some(
            values
                .all()
                .filter_map(|(column, item)| {
                    if let Err(why) = identifier(column) {
                        item.mistake(why, "");
                    }
                    Some((column.to_owned(), inserted(&item, names)?))
                })
                .collect(),
        )
    });
    reader.finish();
    Some(Effect { on: on?, table: table?, values: values? })
}

fn table_name(item: &Item<'_>) -> Option<String> {
    let text = item.text()?;
    let parts: Vec<&str> = text.splitn(2, '.').collect();
    for part in parts {
        if let Err(why) = identifier(part) {
            item.mistake(why, "");
        }
    }
    Some(text.to_owned())
}

pub(super) fn writes(reader: &TableReader<'_>, names: &Names) -> Vec<Write> {
    let Some(reader) = reader.table("write") else { return Vec::new() };
    let mut found = Vec::new();
    for (name, item) in reader.all() {
        let on = transitions(name, &item);
        let Some(columns) = item.table() else { continue };
        for (column, value) in assigned(&columns, names) {
            found.push(Write { on: on.clone(), column, value });
        }
    }
    found
}

/// Parses `column = value` pairs; a column may end in `?`.
pub(super) fn assigned(reader: &TableReader<'_>, names: &Names) -> Vec<(Column, Expr)> {
    reader
        .all()
        .filter_map(|(column, item)| Some((names.optional(column, &item), expr(&item, names)?)))
        .collect()
}

/// Parses a value of an inserted row or of a JSON object, which have no earlier value to keep.
fn inserted(item: &Item<'_>, names: &Names) -> Option<Expr> {
    let found = expr(item, names)?;
    if found.keeps_column() {
        item.mistake("there is no earlier value to keep here", "write ` or null` instead of ` or keep`");
    }
    Some(found)
}

fn expr(item: &Item<'_>, names: &Names) -> Option<Expr> {
    match &item.node.value {
        Value::Text(text) => match text.strip_prefix('$') {
            Some(rest) if !rest.starts_with('$') => variable(rest, item, names),
            Some(rest) => Some(Expr::Literal(Literal::Text(rest.to_owned()))),
            None => Some(Expr::Literal(Literal::Text(text.clone()))),
        },
        Value::Table(_) => json(item, names),
        _ => literal(item).map(Expr::Literal),
    }
}

fn json(item: &Item<'_>, names: &Names) -> Option<Expr> {
    let reader = item.table()?;
    let object = reader.required("json", "write { json = { MEMBER = value } }").and_then(|item| item.table());
    reader.finish();
    let members =
        object?.all().filter_map(|(name, item)| Some((name.to_owned(), inserted(&item, names)?))).collect();
    Some(Expr::Json(members))
}

/// Parses a variable: the text after the `$`.
fn variable(text: &str, item: &Item<'_>, names: &Names) -> Option<Expr> {
    const KNOWN: [&str; 12] = [
        "$now",
        "$id",
        "$state",
        "$from",
        "$reason",
        "$attempts",
        "$claimed_at",
        "$worker",
        "$tsid",
        "$row.COLUMN",
        "$envelope.FIELD",
        "$outcome.FIELD",
    ];
    let (name, absent) = if let Some(name) = text.strip_suffix(" or null") {
        (name, Absent::Null)
    } else if let Some(name) = text.strip_suffix(" or keep") {
        (name, Absent::Keep)
    } else {
        (text, Absent::Required)
    };
    let simple = match name {
        "now" => Some(Expr::Now),
        "id" => Some(Expr::Id),
        "state" => Some(Expr::State),
        "from" => Some(Expr::From),
        "attempts" => Some(Expr::Attempts),
        "claimed_at" => Some(Expr::ClaimedAt),
        "worker" => Some(Expr::Worker),
        "tsid" => Some(Expr::Tsid),
        "reason" => return Some(Expr::Reason { absent }),
        _ => None,
    };
    if let Some(simple) = simple {
        if absent != Absent::Required {
            item.mistake(format!("`${name}` is never absent"), format!("write \"${name}\""));
        }
        return Some(simple);
    }
    let found = match name.split_once('.') {
        Some(("row", column)) => Some(Expr::Row { column: names.column(column, item), absent }),
        Some(("envelope", field)) if is_field(field) => {
            Some(Expr::Envelope { field: field.to_owned(), absent })
        }
        Some(("outcome", field)) if is_field(field) => {
            Some(Expr::Outcome { field: field.to_owned(), absent })
        }
        _ => None,
    };
    if found.is_none() {
        let remedy = format!(
            "{}; write `$$` for text that starts with a dollar sign",
            suggestion(&format!("${name}"), KNOWN)
        );
        item.mistake(format!("unknown value `${text}`"), remedy);
    }
    found
}

pub(super) fn is_field(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(super) fn joins(reader: &TableReader<'_>, names: &Names) -> Vec<Join> {
    let Some(items) = reader.get("join").and_then(|item| item.list()) else { return Vec::new() };
    let mut known: Vec<String> = vec!["row".to_owned()];
    let mut found = Vec::new();
    for item in items {
        let Some(join) = item.table().and_then(|reader| join(&reader, &known, names)) else { continue };
        if known.contains(&join.alias) || found.iter().any(|other: &Join| other.alias == join.alias) {
            item.mistake(format!("another join is named `{}`", join.alias), "choose another name");
        }
        // The rows of a join that reads several are no single row to join on.
        if join.many.is_none() {
            known.push(join.alias.clone());
        }
        found.push(join);
    }
    found
}

fn join(reader: &TableReader<'_>, known: &[String], names: &Names) -> Option<Join> {
    let alias = reader
        .required("as", "write as = \"NAME\": the composer reads the columns as NAME.COLUMN")
        .and_then(|item| {
            let text = item.text()?;
            if !is_field(text) {
                item.mistake(format!("invalid name {text:?}"), "use letters, digits and `_`");
            }
            Some(text.to_owned())
        });
    let table = reader.required("table", "write table = \"TABLE\"").and_then(|item| table_name(&item));
    let on = reader.required("on", "write on = { ITS_COLUMN = \"row.COLUMN\" }").and_then(|item| {
        let pairs = item.table()?;
        Some(
            pairs
                .all()
                .filter_map(|(column, item)| equality(column, &item, known, names))
                .collect::<Vec<_>>(),
        )
    });
    let columns =
        reader.required("columns", "write columns = [\"COLUMN\"]").map(|item| joined_columns(&item));
    let at_most = reader.get("many").map(|item| item.number(1..=1000));
    let order = reader.get("order").map(|item| (joined_order(&item), item));
    if let (None, Some((_, item))) = (at_most, &order) {
        item.mistake("has no effect without `many`", "add many = 100, or remove it");
    }
    let order = order.map_or_else(Vec::new, |(order, _)| order);
    let many = at_most.map(|at_most| Some(ManyRows { at_most: at_most?, order }));
    let optional = reader.get("optional").and_then(|item| item.boolean()).unwrap_or(false);
    reader.finish();
    let many = match many {
        Some(many) => Some(many?),
        None => None,
    };
    Some(Join { alias: alias?, table: table?, on: on?, columns: columns?, many, optional })
}

/// Reads columns under their own names, or `{ NAME = "COLUMN" }`.
fn joined_columns(item: &Item<'_>) -> Vec<JoinedColumn> {
    if !item.is_table() {
        let columns = item.one_or_many().into_iter().filter_map(|item| super::columns::column(&item));
        return columns.map(|column| JoinedColumn { name: column.name.clone(), column }).collect();
    }
    let Some(named) = item.table() else { return Vec::new() };
    let one = |(name, item): (&str, Item<'_>)| {
        if !is_field(name) {
            item.mistake(format!("invalid name {name:?}"), "use letters, digits and `_`");
        }
        Some(JoinedColumn { name: name.to_owned(), column: super::columns::column(&item)? })
    };
    named.all().filter_map(one).collect()
}

fn joined_order(item: &Item<'_>) -> Vec<String> {
    let name = |item: &Item<'_>| {
        let text = item.text()?;
        if let Err(why) = identifier(text) {
            item.mistake(why, "");
        }
        Some(text.to_owned())
    };
    item.one_or_many().iter().filter_map(name).collect()
}

fn equality(
    column: &str,
    item: &Item<'_>,
    known: &[String],
    names: &Names,
) -> Option<(String, (String, String))> {
    let text = item.text()?;
    let Some((side, other)) = text.split_once('.') else {
        item.mistake(format!("{text:?} does not name a table"), format!("write \"row.{text}\""));
        return None;
    };
    if !known.iter().any(|known| known == side) {
        let remedy = suggestion(side, known.iter().map(String::as_str));
        item.mistake(format!("no join above is named `{side}`"), remedy);
    }
    let other = if side == "row" { names.column(other, item) } else { other.to_owned() };
    Some((column.to_owned(), (side.to_owned(), other)))
}
