//! Parses `[history]`: the history table that an `[[effect]]` fills, used to count attempts where the table has no
//! attempts column.

use postrider_config::{Item, TableReader, suggestion};

use crate::identifier::identifier;
use crate::{Effect, Expr, History, Stage, Transition};

/// The transitions that the history must record to count the attempts of a row and to date them.
const RECORDED: [Transition; 6] = [
    Transition::Claimed,
    Transition::Retry,
    Transition::Deferred,
    Transition::Released,
    Transition::Reclaimed,
    Transition::Requeued,
];

pub(super) fn history(reader: &TableReader<'_>, effects: &[Effect], known: &[Stage]) -> Option<History> {
    let history = reader.table("history")?;
    let order = history.get("order").map_or_else(
        || Some("id".to_owned()),
        |item| {
            let text = item.text()?;
            identifier(text).map_err(|why| item.mistake(why, "")).ok()?;
            Some(text.to_owned())
        },
    );
    let reached_for = history.get("reached_for").map(|item| stages(&item, known)).unwrap_or_default();
    let found = history
        .required("table", "write table = \"TABLE\": the table into which an [[effect]] inserts")
        .and_then(|item| {
            let table = item.text()?;
            let Some(effect) = effects.iter().find(|effect| effect.table == table) else {
                item.mistake(format!("no [[effect]] inserts into `{table}`"), "name the table of an effect");
                return None;
            };
            let column = |wanted: fn(&Expr) -> bool| {
                effect.values.iter().find(|(_, value)| wanted(value)).map(|(column, _)| column.clone())
            };
            let row = column(|value| *value == Expr::Id);
            let state = column(|value| *value == Expr::State);
            let reason = column(|value| matches!(value, Expr::Reason { .. }));
            let all = RECORDED.iter().all(|transition| effect.on.contains(transition));
            let (Some(row), Some(state), Some(reason), true) = (row, state, reason, all) else {
                let names: Vec<&str> = RECORDED.iter().map(|transition| transition.name()).collect();
                let remedy = format!("insert `$id`, `$state` and `$reason or null`, on {}", names.join(", "));
                item.mistake(format!("the effect on `{table}` does not record every attempt"), remedy);
                return None;
            };
            let time = column(|value| *value == Expr::Now);
            if time.is_none() && !reached_for.is_empty() {
                item.mistake(
                    "the effect does not insert the time, which `reached_for` needs",
                    "add a column with `$now` to the effect, or remove `reached_for`",
                );
            }
            Some((table.to_owned(), row, state, reason, time))
        });
    history.finish();
    let (table, row, state, reason, time) = found?;
    Some(History { table, order: order?, row, state, reason, time, reached_for })
}

fn stages(item: &Item<'_>, known: &[Stage]) -> Vec<String> {
    let stage = |item: &Item<'_>| {
        let name = item.text()?;
        let names = || known.iter().map(|stage| stage.name.as_str());
        if !names().any(|known| known == name) {
            item.mistake(format!("unknown stage `{name}`"), suggestion(name, names()));
        }
        Some(name.to_owned())
    };
    item.one_or_many().iter().filter_map(stage).collect()
}
