//! Parses `[[sweep]]`, `[cancel]`, `[requeue]`, `[complete]` and `[retention]`: transitions that no worker makes.

use std::time::Duration;

use postrider_config::{Item, TableReader};

use crate::{ColumnRole, Columns, OperatorMove, Retention, Stage, StateId, Sweep, When};

use super::columns::Names;
use super::effects;
use super::states::States;
use super::values::{ANY_DURATION, POSITIVE};

pub(super) fn sweeps(
    reader: &TableReader<'_>,
    states: &mut States,
    names: &Names,
    columns: &Columns,
) -> Vec<Sweep> {
    let Some(items) = reader.get("sweep").and_then(|item| item.list()) else { return Vec::new() };
    items.iter().filter_map(|item| sweep(&item.table()?, states, names, columns)).collect()
}

fn sweep(reader: &TableReader<'_>, states: &mut States, names: &Names, columns: &Columns) -> Option<Sweep> {
    let from: Option<Vec<StateId>> = reader
        .required("from", "write from = \"STATE\" or a list of states")
        .map(|item| item.one_or_many().iter().filter_map(|item| states.intern(item)).collect());
    let to = reader.required("to", "write to = \"STATE\"").and_then(|item| states.intern(&item));
    let when = when(reader, names, columns);
    let name = reader.get("name").and_then(|item| item.text()).map(str::to_owned);
    let blocks_claims = reader.get("blocks_claims").and_then(|item| item.boolean()).unwrap_or(false);
    let every =
        reader.get("every").and_then(|item| item.duration(POSITIVE)).unwrap_or(Duration::from_mins(1));
    let reason = reader.get("reason").and_then(|item| item.text()).map(str::to_owned);
    let publish = reader.get("publish").and_then(|item| item.boolean()).unwrap_or(false);
    let only_with_queue =
        reader.get("only_if").and_then(|item| item.choice(&[("external_queue", true)])).unwrap_or(false);
    let writes = reader.table("write").map(|write| effects::assigned(&write, names)).unwrap_or_default();
    reader.finish();
    Some(Sweep {
        name,
        from: from?,
        to: to?,
        when: when?,
        every,
        reason,
        publish,
        only_with_queue,
        blocks_claims,
        writes,
    })
}

fn when(reader: &TableReader<'_>, names: &Names, columns: &Columns) -> Option<When> {
    let (age, since) = (reader.get("older_than"), reader.get("since"));
    let (at, before) = (reader.get("at"), reader.get("before"));
    match (age, at, before) {
        (Some(one), Some(_), _) => {
            one.mistake("cannot be combined with `at`", "remove one of the two");
            None
        }
        (Some(one), _, Some(_)) | (None, Some(one), Some(_)) => {
            one.mistake("cannot be combined with `before`", "remove one of the two");
            None
        }
        (Some(age), None, None) => {
            let since = match since {
                Some(item) => names.role_or_column(columns, &item),
                None => columns.get(ColumnRole::Created).map(str::to_owned).or_else(|| {
                    age.mistake(
                        "counts from the role `created`, which no column has",
                        "add since = \"COLUMN\"",
                    );
                    None
                }),
            };
            Some(When::OlderThan { age: age.duration(ANY_DURATION)?, since: since? })
        }
        (None, at, before) => {
            if let Some(since) = since {
                since.mistake("has no effect without `older_than`", "add older_than = \"15m\"");
            }
            let column = |item: Item<'_>| names.role_or_column(columns, &item);
            Some(match (at, before) {
                (Some(at), _) => When::At { column: column(at)? },
                (None, Some(before)) => When::Before { column: column(before)? },
                (None, None) => When::Always,
            })
        }
    }
}

/// The moves that operators can make.
pub(super) struct OperatorMoves {
    pub cancel: Option<OperatorMove>,
    pub requeue: Option<OperatorMove>,
    pub complete: Option<OperatorMove>,
}

pub(super) fn operator(
    reader: &TableReader<'_>,
    states: &mut States,
    stages: Option<&[Stage]>,
) -> OperatorMoves {
    let cancel = reader.table("cancel").and_then(|reader| operator_move(&reader, states));
    let complete = reader.table("complete").and_then(|reader| operator_move(&reader, states));
    let stages = stages.unwrap_or_default();
    let requeue = match reader.table("requeue") {
        Some(reader) => requeue(&reader, states, stages),
        None => default_requeue(states, stages),
    };
    OperatorMoves { cancel, requeue, complete }
}

fn operator_move(reader: &TableReader<'_>, states: &mut States) -> Option<OperatorMove> {
    let from = reader.required("from", "write from = \"STATE\" or a list of states");
    let to = reader.required("to", "write to = \"STATE\"").and_then(|item| states.intern(&item));
    reader.finish();
    let from: Vec<StateId> = from?.one_or_many().iter().filter_map(|item| states.known(item)).collect();
    let to = to?;
    Some(OperatorMove { moves: from.into_iter().map(|from| (from, to)).collect() })
}

fn requeue(reader: &TableReader<'_>, states: &mut States, stages: &[Stage]) -> Option<OperatorMove> {
    let to = reader.get("to").map(|item| states.intern(&item));
    let from = reader.get("from");
    reader.finish();
    let mut moves = Vec::new();
    match (from, to) {
        (_, Some(None)) => return None,
        (None, to) => {
            for (from, ready) in default_requeue(states, stages)?.moves {
                moves.push((from, to.flatten().unwrap_or(ready)));
            }
        }
        (Some(item), to) => {
            for item in item.one_or_many() {
                let Some(from) = states.known(&item) else { continue };
                match to.flatten().or_else(|| ready_of(from, stages)) {
                    Some(to) => moves.push((from, to)),
                    None if stages.is_empty() => {}
                    None => ambiguous_target(&item),
                }
            }
        }
    }
    Some(OperatorMove { moves })
}

fn ambiguous_target(item: &Item<'_>) {
    item.mistake("no stage ends in this state, so the target is not clear", "add to = \"STATE\"");
}

/// Returns the first ready state of the stage that ended in `from`, or of the only stage if none ended there.
fn ready_of(from: StateId, stages: &[Stage]) -> Option<StateId> {
    let ended = |stage: &&Stage| [stage.dead, stage.rejected, stage.skipped].contains(&from);
    let stage = stages.iter().find(ended).or(if let [only] = stages { Some(only) } else { None })?;
    stage.ready.first().copied()
}

/// Returns the default requeue: from every failed state that no stage continues from, back to its stage's ready state.
fn default_requeue(states: &States, stages: &[Stage]) -> Option<OperatorMove> {
    let mut moves: Vec<(StateId, StateId)> = Vec::new();
    for stage in stages {
        for from in [stage.dead, stage.rejected].into_iter().filter(|from| !states.list[from.0].deletes) {
            let continues = stages.iter().any(|other| other.ready.contains(&from));
            if let (false, false, Some(to)) =
                (continues, moves.iter().any(|(known, _)| *known == from), stage.ready.first())
            {
                moves.push((from, *to));
            }
        }
    }
    (!moves.is_empty()).then_some(OperatorMove { moves })
}

pub(super) fn retention(
    reader: &TableReader<'_>,
    states: &States,
    names: &Names,
    columns: &Columns,
) -> Vec<Retention> {
    let Some(reader) = reader.table("retention") else { return Vec::new() };
    let read = |(name, item): (&str, Item<'_>)| {
        let state = states.known_name(name, &item)?;
        let (after, since) = if item.is_table() {
            let reader = item.table()?;
            let after =
                reader.required("after", "write after = \"7d\"").and_then(|item| item.duration(POSITIVE));
            let since = reader.get("since").map(|item| {
                item.one_or_many().iter().filter_map(|item| names.role_or_column(columns, item)).collect()
            });
            reader.finish();
            (after, since)
        } else {
            (item.duration(POSITIVE), None)
        };
        let since: Vec<String> = since.unwrap_or_else(|| {
            [ColumnRole::Finished, ColumnRole::Attempted, ColumnRole::Updated, ColumnRole::Created]
                .into_iter()
                .filter_map(|role| columns.get(role).map(str::to_owned))
                .collect()
        });
        if since.is_empty() {
            item.mistake(
                "no column has the age of a row",
                "add since = \"COLUMN\", or a column with the role finished, updated or created",
            );
        }
        Some(Retention { state, after: after?, since })
    };
    reader.all().filter_map(read).collect()
}
