//! Parses `[history]`: the table of an effect in which attempts can be counted.

use crate::reader::{Item, Scope};
use crate::words;
use crate::{Effect, Expr, History, Stage, Transition};

/// The transitions that the history must record to count the attempts of a row and to date them.
const TOLD: [Transition; 6] = [
    Transition::Claimed,
    Transition::Retry,
    Transition::Deferred,
    Transition::Released,
    Transition::Reclaimed,
    Transition::Requeued,
];

pub(super) fn history(scope: &Scope<'_>, effects: &[Effect], known: &[Stage]) -> Option<History> {
    let history = scope.scope("history")?;
    let order = history.get("order").map_or_else(
        || Some("id".to_owned()),
        |item| {
            let text = item.text()?;
            words::identifier(text).map_err(|why| item.wrong(why, "")).ok()?;
            Some(text.to_owned())
        },
    );
    let tells = history.get("tells").map(|item| stages(&item, known)).unwrap_or_default();
    let found = history.need("table", "name the table that an [[effect]] fills").and_then(|item| {
        let table = item.text()?;
        let Some(effect) = effects.iter().find(|effect| effect.table == table) else {
            item.wrong(format!("no [[effect]] inserts into `{table}`"), "name a table that one does");
            return None;
        };
        let column = |wanted: fn(&Expr) -> bool| {
            effect.values.iter().find(|(_, value)| wanted(value)).map(|(column, _)| column.clone())
        };
        let row = column(|value| *value == Expr::Id);
        let state = column(|value| *value == Expr::State);
        let reason = column(|value| matches!(value, Expr::Reason { .. }));
        let all = TOLD.iter().all(|told| effect.on.contains(told));
        let (Some(row), Some(state), Some(reason), true) = (row, state, reason, all) else {
            let names: Vec<&str> = TOLD.iter().map(|told| told.name()).collect();
            let remedy = format!("insert `$id`, `$state` and `$reason?`, on {}", names.join(", "));
            item.wrong(format!("the effect on `{table}` does not tell of every try"), remedy);
            return None;
        };
        let time = column(|value| *value == Expr::Now);
        if time.is_none() && !tells.is_empty() {
            item.wrong("no column of the effect has the time", "insert `$now`, or leave `tells` out");
        }
        Some((table.to_owned(), row, state, reason, time))
    });
    history.finish();
    let (table, row, state, reason, time) = found?;
    Some(History { table, order: order?, row, state, reason, time, tells })
}

fn stages(item: &Item<'_>, known: &[Stage]) -> Vec<String> {
    let stage = |item: &Item<'_>| {
        let name = item.text()?;
        let names = || known.iter().map(|stage| stage.name.as_str());
        if !names().any(|known| known == name) {
            item.wrong(format!("no stage is named `{name}`"), words::meant(name, names()));
        }
        Some(name.to_owned())
    };
    item.one_or_many().iter().filter_map(stage).collect()
}
