//! The state machine of a contract as a graph, for `verify`, the console and `contract show`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::{ClaimedState, Contract, Defer, Stage, StateId, Transition};

/// A transition between two states: from, by, to.
pub type Edge = (StateId, Transition, StateId);

impl Transition {
    /// Whether only an operator makes this transition.
    pub fn is_by_operator(self) -> bool {
        matches!(self, Self::Requeued | Self::Cancelled | Self::Completed)
    }
}

impl Contract {
    /// Returns every transition between two states once, ordered by state.
    pub fn edges(&self) -> Vec<Edge> {
        let mut edges: BTreeSet<Edge> = BTreeSet::new();
        for stage in &self.stages {
            self.stage_edges(stage, &mut edges);
        }
        for sweep in &self.sweeps {
            edges.extend(sweep.from.iter().map(|from| (*from, Transition::Swept, sweep.to)));
        }
        for (operator_move, transition) in [
            (&self.requeue, Transition::Requeued),
            (&self.cancel, Transition::Cancelled),
            (&self.complete, Transition::Completed),
        ] {
            let moves = operator_move.iter().flat_map(|operator_move| &operator_move.moves);
            edges.extend(moves.map(|(from, to)| (*from, transition, *to)));
        }
        edges.into_iter().collect()
    }

    fn stage_edges(&self, stage: &Stage, edges: &mut BTreeSet<Edge>) {
        let held: &[StateId] = match &stage.claimed {
            ClaimedState::State(claimed) => {
                edges.extend(stage.ready.iter().map(|ready| (*ready, Transition::Claimed, *claimed)));
                std::slice::from_ref(claimed)
            }
            ClaimedState::Same => &stage.ready,
        };
        for from in held {
            for transition in Transition::SETTLES {
                let locks = transition == Transition::Deferred && self.due.defer == Defer::Lease;
                if let (Some(to), false) = (stage.target(transition), locks) {
                    edges.insert((*from, transition, to));
                    let back = matches!(transition, Transition::Deferred | Transition::Released);
                    edges.extend(stage.untried.filter(|_| back).map(|kept| (*from, transition, kept)));
                }
            }
            edges.insert((*from, Transition::Reclaimed, stage.retryable));
            if stage.lease.spend || stage.lease.poison.is_some() {
                edges.insert((*from, Transition::Reclaimed, stage.dead));
            }
        }
        edges.extend(stage.ready.iter().map(|ready| (*ready, Transition::Swept, stage.dead)));
    }

    /// Whether a lane claims rows in this state.
    pub fn is_ready(&self, state: StateId) -> bool {
        self.stages.iter().any(|stage| stage.ready.contains(&state))
    }

    /// Whether rows in this state are held by a worker.
    pub fn is_claimed(&self, state: StateId) -> bool {
        self.stages.iter().any(|stage| stage.claimed == ClaimedState::State(state))
    }

    /// Whether only an operator moves a row out of this state. The ready state of an optional stage counts as not final
    /// here, although it is final on a lane without that stage.
    pub fn is_final(&self, state: StateId) -> bool {
        !self.edges().iter().any(|(from, transition, _)| *from == state && !transition.is_by_operator())
    }

    /// Returns the state machine as a Mermaid diagram. Labels in brackets are an operator's transitions.
    pub fn mermaid(&self) -> String {
        let mut text = String::from("stateDiagram-v2\n");
        for (index, state) in self.states.iter().enumerate() {
            let name = state.name.replace('"', "'");
            let _ = writeln!(text, "    s{index} : {name}");
        }
        for (index, _) in self.states.iter().enumerate().filter(|(index, _)| self.is_entry(StateId(*index))) {
            let _ = writeln!(text, "    [*] --> s{index}");
        }
        for ((from, to), labels) in self.labelled() {
            let _ = writeln!(text, "    s{} --> s{} : {labels}", from.0, to.0);
        }
        for (index, _) in self.states.iter().enumerate().filter(|(index, _)| self.is_final(StateId(*index))) {
            let _ = writeln!(text, "    s{index} --> [*]");
        }
        text
    }

    /// Whether the application inserts rows in this state.
    fn is_entry(&self, state: StateId) -> bool {
        let reached = self
            .edges()
            .iter()
            .any(|(_, transition, to)| *to == state && *transition == Transition::Delivered);
        self.producer.contains(&state) || (self.is_ready(state) && !reached && !self.keeps_error(state))
    }

    fn labelled(&self) -> Vec<((StateId, StateId), String)> {
        let mut found: Vec<((StateId, StateId), Vec<String>)> = Vec::new();
        for (from, transition, to) in self.edges() {
            let label = if transition.is_by_operator() {
                format!("[{transition}]")
            } else {
                transition.name().to_owned()
            };
            match found.iter_mut().find(|(pair, _)| *pair == (from, to)) {
                Some((_, labels)) => labels.push(label),
                None => found.push(((from, to), vec![label])),
            }
        }
        found.into_iter().map(|(pair, labels)| (pair, labels.join(", "))).collect()
    }
}
