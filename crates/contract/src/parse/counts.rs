//! Parses `[[count]]`: composer fields that count similar rows of the same table.

use std::time::Duration;

use postrider_config::TableReader;

use crate::{ColumnRole, Columns, CountField};

use super::columns::Names;
use super::states::States;
use super::values::POSITIVE;

pub(super) fn counts(
    reader: &TableReader<'_>,
    states: &States,
    names: &Names,
    columns: &Columns,
) -> Vec<CountField> {
    let Some(items) = reader.get("count").and_then(|item| item.list()) else { return Vec::new() };
    items.iter().filter_map(|item| count(&item.table()?, states, names, columns)).collect()
}

fn count(reader: &TableReader<'_>, states: &States, names: &Names, columns: &Columns) -> Option<CountField> {
    let field = reader
        .required("as", "write as = \"NAME\": the composer reads the count under this name")
        .and_then(|item| {
            let text = item.text()?;
            let fine = text.split('.').all(super::effects::is_field);
            if !fine {
                item.mistake(
                    format!("invalid name {text:?}"),
                    "use letters, digits and `_`, with dots between them",
                );
            }
            fine.then(|| text.to_owned())
        });
    let same = reader
        .required("same", "write same = [\"COLUMN\"]: the columns that must have the same values")
        .map(|item| {
            let items = item.one_or_many();
            items.iter().filter_map(|item| names.role_or_column(columns, item)).collect::<Vec<String>>()
        });
    let state = reader
        .required("state", "write state = \"STATE\": the state of the rows to count")
        .and_then(|item| states.known(&item));
    let within = within(reader, names, columns);
    let ahead = reader.get("ahead").and_then(|item| {
        let ahead = item.boolean()?;
        if ahead && columns.get(ColumnRole::ClaimedAt).is_none() {
            item.mistake("no column has the role `claimed_at`", "add claimed_at = \"COLUMN\" to [columns]");
        }
        Some(ahead)
    });
    reader.finish();
    Some(CountField { field: field?, same: same?, state: state?, within, ahead: ahead.unwrap_or(false) })
}

/// Parses `within` and `since`; `since` defaults to the last attempt.
fn within(reader: &TableReader<'_>, names: &Names, columns: &Columns) -> Option<(Duration, String)> {
    let (within, since) = (reader.get("within"), reader.get("since"));
    let Some(within) = within else {
        if let Some(since) = since {
            since.mistake("has no effect without `within`", "add within = \"3m\"");
        }
        return None;
    };
    let column = match since {
        Some(item) => names.role_or_column(columns, &item),
        None => columns.get(ColumnRole::Attempted).map(str::to_owned).or_else(|| {
            within.mistake("counts from the role `attempted`, which no column has", "add since = \"COLUMN\"");
            None
        }),
    };
    Some((within.duration(POSITIVE)?, column?))
}
