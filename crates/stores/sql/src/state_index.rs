//! The index of states, for statements that other crates write on the table of a built-in contract.

use postrider_contract::Contract;

use crate::Dialect;
use crate::ddl::reference_shape;
use crate::render::rare::SPENT;
use crate::render::table::Table;

/// The index that has the rows of rare states, those that wait for another attempt and those in flight. Its expressions
/// name the table `t`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateIndex {
    label: String,
    key: String,
    dialect: Dialect,
}

impl StateIndex {
    /// Returns the index that `migrate` creates on the contract's table; `None` on MySQL, which has no partial index,
    /// and for a contract that is not built in.
    pub fn of(contract: &Contract, dialect: Dialect) -> Option<Self> {
        let shape = reference_shape(contract, dialect)?;
        let table = Table::new(contract, contract.stages.first()?, dialect, &shape).ok()?;
        Some(Self { label: table.label()?, key: table.key_by_state(), dialect })
    }

    /// Returns the condition that finds the rows of a state. It does not hold for rows without attempts left.
    pub fn has_state(&self, state: &str) -> String {
        format!("{} = {}", self.label, crate::render::ident::text(self.dialect, state))
    }

    /// Returns the condition that finds the ready rows without attempts left.
    pub fn is_spent(&self) -> String {
        self.has_state(SPENT)
    }

    /// Returns the row's key as the index has it: the rows of each state are in this order, except those in flight.
    pub fn key(&self) -> &str {
        &self.key
    }
}
