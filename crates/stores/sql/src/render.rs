//! Renders the whole program of one stage on one table.

use postrider_contract::{Contract, Stage, Transition};

use crate::table::Table;
use crate::{Dialect, Error, Program, Shape};

/// Renders every statement of a stage; errs if the table does not fit the contract.
///
/// The contract must be resolved to the columns that the table has.
pub fn render(contract: &Contract, stage: &Stage, dialect: Dialect, shape: &Shape) -> Result<Program, Error> {
    let table = Table::new(contract, stage, dialect, shape)?;
    table.check_shares()?;
    Ok(Program {
        layout: table.layout(),
        claim: table.claim(),
        groups: table.group_claim(),
        shares: table.share_claim(),
        handoff: table.handoff(),
        load: table.load(),
        join: table.join(),
        settle: Transition::SETTLES
            .into_iter()
            .map(|transition| (transition, table.settle(transition)))
            .collect(),
        late: table.late(),
        extend: table.extend(),
        stamp: table.stamp(),
        place: table.place(),
        standing_leases: table.standing_leases(),
        reclaim: table.reclaim(),
        unheld: table.unheld(),
        spent: table.spent(),
        unreadable: table.unreadable(),
        sweeps: table.sweeps(),
        purge: table.purge(),
        next_due: table.next_due(),
        inspect: table.inspect(),
    })
}
