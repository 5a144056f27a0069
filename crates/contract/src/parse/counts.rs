//! Parses `[[count]]`: composer fields that count similar rows of the same table.

use std::time::Duration;

use postrider_config::TableReader;

use crate::{ColumnRole, Columns, CountField};

use super::columns::Names;
use super::states::States;
use super::values::POSITIVE;

pub(super) fn counts(
    scope: &TableReader<'_>,
    states: &States,
    names: &Names,
    columns: &Columns,
) -> Vec<CountField> {
    let Some(items) = scope.get("count").and_then(|item| item.list()) else { return Vec::new() };
    items.iter().filter_map(|item| count(&item.scope()?, states, names, columns)).collect()
}

fn count(scope: &TableReader<'_>, states: &States, names: &Names, columns: &Columns) -> Option<CountField> {
    let field = scope
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
    let same = scope
        .required("same", "write same = [\"COLUMN\"]: the columns that must have the same values")
        .map(|item| {
            let items = item.one_or_many();
            items.iter().filter_map(|item| names.role_or_column(columns, item)).collect::<Vec<String>>()
        });
    let state = scope
        .required("state", "write state = \"STATE\": the state of the rows to count")
        .and_then(|item| states.known(&item));
    let within = within(scope, names, columns);
    let ahead = scope.get("ahead").and_then(|item| {
        let ahead = item.boolean()?;
        if ahead && columns.get(ColumnRole::ClaimedAt).is_none() {
            item.mistake("no column has the role `claimed_at`", "add claimed_at = \"COLUMN\" to [columns]");
        }
        Some(ahead)
    });
    scope.finish();
    Some(CountField { field: field?, same: same?, state: state?, within, ahead: ahead.unwrap_or(false) })
}

/// Parses `within` and `since`; `since` defaults to the last attempt.
fn within(scope: &TableReader<'_>, names: &Names, columns: &Columns) -> Option<(Duration, String)> {
    let (within, since) = (scope.get("within"), scope.get("since"));
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
