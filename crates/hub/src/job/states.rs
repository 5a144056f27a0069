//! The contract's index of states, by which lists find jobs of rare statuses. MySQL has an index of the API instead.

use postrider_contract::Contract;
use postrider_sql::StateIndex;

use crate::sql::Dialect;

/// The conditions that the index of states needs.
#[derive(Debug)]
pub struct JobStates(Option<StateIndex>);

impl JobStates {
    /// Returns the conditions for a table whose jobs have this many attempts if their own limit is NULL.
    pub fn new(dialect: Dialect, max_attempts: u32) -> Self {
        let text = Contract::builtin("dispatch_jobs").expect("a built-in contract");
        let mut contract = Contract::parse("dispatch_jobs", text).expect("a built-in contract is valid");
        for stage in &mut contract.stages {
            stage.attempts.max = max_attempts;
        }
        Self(StateIndex::of(&contract, dialect))
    }

    /// Returns the key that orders the jobs of each part.
    pub fn key(&self) -> &str {
        self.0.as_ref().map_or("t.id", StateIndex::key)
    }

    /// Returns the parts of the index that hold the jobs in ERROR: those that are dead, those that wait for another
    /// attempt, and those that have none left.
    pub fn failed(&self) -> Vec<String> {
        let index = self.0.iter();
        index
            .flat_map(|index| [index.has_state("DEAD"), index.has_state("RETRYING"), index.is_spent()])
            .collect()
    }

    /// Returns the part of the index that holds the jobs of this state.
    pub fn of(&self, state: &str) -> Vec<String> {
        self.0.iter().map(|index| index.has_state(state)).collect()
    }
}
