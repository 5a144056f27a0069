//! Checks that a contract is valid. Pure: it reads only the model and refers to keys; the report knows their lines.
//!
//! `states`: no row is in two states. `moves`: the assignments of each move satisfy its target state. `values`: every
//! value that a move writes is known at that time. `machine`: every state is reachable, none holds a row forever, and
//! only operators leave final states. `deletion`: nothing is
//! written to a row that a move deletes. `message`: values that may be absent have a default. `roles`: each feature has the columns that it needs, and each fence changes with
//! every claim.

mod deletion;
mod machine;
mod message;
mod moves;
mod roles;
mod states;
mod times;
mod values;

use postrider_config::Report;

use crate::{Contract, Stage, StateId};

/// The contract being verified.
struct Verifier<'a> {
    contract: &'a Contract,
    report: &'a Report,
}

pub(crate) fn verify(contract: &Contract, report: &Report) {
    let verifier = Verifier { contract, report };
    verifier.roles();
    verifier.states();
    verifier.moves();
    verifier.values();
    verifier.known_values();
    verifier.machine();
    verifier.deletion();
    verifier.times();
    verifier.message();
}

impl Verifier<'_> {
    fn name(&self, state: StateId) -> &str {
        &self.contract.state(state).name
    }

    /// Returns the key at which to report a state: its definition, or its first use.
    fn key_of(&self, state: StateId) -> String {
        let name = self.name(state);
        let described = format!("states.{name}");
        let uses = self.contract.stages.iter().flat_map(|stage| {
            let path = format!("stage.{}", stage.name);
            let mut uses: Vec<(String, Vec<StateId>)> = vec![(format!("{path}.ready"), stage.ready.clone())];
            if let crate::ClaimedState::State(claimed) = stage.claimed {
                uses.push((format!("{path}.claimed"), vec![claimed]));
            }
            for (key, state) in [
                ("delivered", stage.delivered),
                ("retryable", stage.retryable),
                ("dead", stage.dead),
                ("rejected", stage.rejected),
                ("skipped", stage.skipped),
            ] {
                uses.push((format!("{path}.{key}"), vec![state]));
            }
            uses
        });
        let sweeps = self.contract.sweeps.iter().enumerate().flat_map(|(index, sweep)| {
            let path = sweep.path(index);
            [(format!("{path}.from"), sweep.from.clone()), (format!("{path}.to"), vec![sweep.to])]
        });
        let mut candidates = [(described, vec![state])].into_iter().chain(uses).chain(sweeps);
        candidates
            .find(|(key, states)| states.contains(&state) && self.report.has_key(key))
            .map_or_else(|| format!("states.{name}"), |(key, _)| key)
    }
}

fn key(stage: &Stage, key: &str) -> String {
    format!("stage.{}.{key}", stage.name)
}
