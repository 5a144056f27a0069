//! Renders the whole program of one stage on one table.

pub(crate) mod column;
pub(crate) mod condition;
mod effect;
mod history;
pub(crate) mod ident;
pub(crate) mod moves;
pub(crate) mod rare;
pub(crate) mod step_builder;
pub(crate) mod table;
mod takeover;
pub(crate) mod text_column;
pub(crate) mod time;
pub(crate) mod tsid;
pub(crate) mod value;

use postrider_contract::{Contract, Stage, Transition};

use crate::render::table::Table;
use crate::{Dialect, Error, Shape, Statements};

/// Renders every statement of a stage; errs if the table does not fit the contract.
///
/// The contract must be resolved to the columns that the table has.
pub fn render(
    contract: &Contract,
    stage: &Stage,
    dialect: Dialect,
    shape: &Shape,
) -> Result<Statements, Error> {
    let table = Table::new(contract, stage, dialect, shape)?;
    table.check_shares()?;
    Ok(Statements {
        layout: table.layout(),
        claim: table.claim(),
        groups: table.group_claim(),
        shares: table.share_claim(),
        handoff: table.handoff(),
        load: table.load(),
        join: table.join(),
        lists: table.lists(),
        settle: Transition::SETTLES
            .into_iter()
            .map(|transition| (transition, table.settle(transition)))
            .collect(),
        late: table.late(),
        extend: table.extend(),
        renewed: table.renewed(),
        stamp: table.stamp(),
        stage_key: table.stage_key(),
        valid_leases: table.valid_leases(),
        reclaim: table.reclaim(),
        lost_claims: table.lost_claims(),
        spent: table.spent(),
        unreadable: table.unreadable(),
        sweeps: table.sweeps(),
        purge: table.purge(),
        next_due: table.next_due(),
        inspect: table.inspect(),
    })
}
