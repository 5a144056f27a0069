//! Parses `[[count]]`: composer fields that count similar rows of the same table.

use std::time::Duration;

use crate::reader::Scope;
use crate::{Columns, Role, Tally};

use super::columns::Names;
use super::states::States;

pub(super) fn tallies(scope: &Scope<'_>, states: &States, names: &Names, columns: &Columns) -> Vec<Tally> {
    let Some(items) = scope.get("count").and_then(|item| item.list()) else { return Vec::new() };
    items.iter().filter_map(|item| tally(&item.scope()?, states, names, columns)).collect()
}

fn tally(scope: &Scope<'_>, states: &States, names: &Names, columns: &Columns) -> Option<Tally> {
    let field = scope.need("as", "write as = \"the name that the composer reads it by\"").and_then(|item| {
        let text = item.text()?;
        let fine = text.split('.').all(super::effects::is_field);
        if !fine {
            item.wrong(format!("{text:?} is no name"), "letters, digits, `_` and dots between them");
        }
        fine.then(|| text.to_owned())
    });
    let same = scope.need("same", "list the columns in which the rows are alike").map(|item| {
        let items = item.one_or_many();
        items.iter().filter_map(|item| names.role_or_column(columns, item)).collect::<Vec<String>>()
    });
    let state =
        scope.need("state", "name the state of the rows to count").and_then(|item| states.known(&item));
    let within = within(scope, names, columns);
    let ahead = scope.get("ahead").and_then(|item| {
        let ahead = item.truth()?;
        if ahead && columns.get(Role::ClaimedAt).is_none() {
            item.wrong("no column plays the role `claimed_at`", "add claimed_at = \"COLUMN\" to [columns]");
        }
        Some(ahead)
    });
    scope.finish();
    Some(Tally { field: field?, same: same?, state: state?, within, ahead: ahead.unwrap_or(false) })
}

/// Parses `within` and `since`; `since` defaults to the last attempt.
fn within(scope: &Scope<'_>, names: &Names, columns: &Columns) -> Option<(Duration, String)> {
    let (within, since) = (scope.get("within"), scope.get("since"));
    let Some(within) = within else {
        if let Some(since) = since {
            since.wrong("has no meaning without `within`", "add within = \"3m\"");
        }
        return None;
    };
    let column = match since {
        Some(item) => names.role_or_column(columns, &item),
        None => columns.get(Role::Attempted).map(str::to_owned).or_else(|| {
            within.wrong("counts since `attempted`, and no column plays that role", "add since = \"COLUMN\"");
            None
        }),
    };
    Some((within.positive()?, column?))
}
