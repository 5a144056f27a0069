//! Makes a transition on a row of the table, with its effects.

use postrider_contract::{Contract, Effect, Move};
use postrider_rows::{Row, TransitionInput, apply_transition, effect_row, state_of};

use crate::table::TableState;

/// Makes a transition on a row that the caller has chosen and checked; does nothing if the row is gone.
pub(crate) fn apply_move(
    table: &mut TableState,
    contract: &Contract,
    step: &Move<'_>,
    id: &postrider_seams::RowId,
    input: &TransitionInput<'_>,
) {
    let Some(before) = table.rows.get(id).cloned() else { return };
    let mut tsid = table.next_tsid;
    let after = apply_transition(contract, step, &before, input, &mut tsid);
    table.next_tsid = tsid;
    if contract.deletes(step) {
        effects(contract, step, &before, &after, input, table);
        table.delete(contract, id);
        return;
    }
    let state = state_of(contract, &after);
    debug_assert!(
        step.to.is_none() || state == step.to || (state.is_some() && state == step.stage.untried),
        "a move's writes satisfy its target"
    );
    effects(contract, step, &before, &after, input, table);
    table.write(contract, id, after);
}

/// Inserts the rows of the transition's effects.
fn effects(
    contract: &Contract,
    step: &Move<'_>,
    before: &Row,
    after: &Row,
    input: &TransitionInput<'_>,
    table: &mut TableState,
) {
    let applies = |effect: &&Effect| effect.on.contains(&step.transition);
    for rule in contract.effects.iter().filter(applies) {
        let mut tsid = table.next_tsid;
        let values = effect_row(contract, rule, before, after, input, &mut tsid);
        table.next_tsid = tsid;
        table.effects.push((rule.table.clone(), values));
    }
}
