//! Makes a transition on a row of the table, with its effects.

use postrider_contract::{Contract, Effect, Move};
use postrider_rows::{Given, Row, effect, moved, state_of};

use crate::table::Table;

/// Makes a transition on a row that the caller has chosen and checked; does nothing if the row is gone.
pub(crate) fn make(
    table: &mut Table,
    contract: &Contract,
    step: &Move<'_>,
    id: &postrider_seams::RowId,
    given: &Given<'_>,
) {
    let Some(before) = table.rows.get(id).cloned() else { return };
    let mut tsid = table.next_tsid;
    let after = moved(contract, step, &before, given, &mut tsid);
    table.next_tsid = tsid;
    let state = state_of(contract, &after);
    debug_assert!(
        step.to.is_none() || state == step.to || (state.is_some() && state == step.stage.untried),
        "a move's writes satisfy its target"
    );
    effects(contract, step, &before, &after, given, table);
    table.write(contract, id, after);
}

/// Inserts the rows of the transition's effects.
fn effects(
    contract: &Contract,
    step: &Move<'_>,
    before: &Row,
    after: &Row,
    given: &Given<'_>,
    table: &mut Table,
) {
    let wanted = |effect: &&Effect| effect.on.contains(&step.transition);
    for rule in contract.effects.iter().filter(wanted) {
        let mut tsid = table.next_tsid;
        let values = effect(contract, rule, before, after, given, &mut tsid);
        table.next_tsid = tsid;
        table.effects.push((rule.table.clone(), values));
    }
}
