//! Checks the state machine: every state is reachable, none holds a row forever, only operators leave final states.

use std::collections::BTreeSet;

use crate::graph::Edge;
use crate::{ClaimedState, Stage, StateId};

use super::{Verifier, key};

impl Verifier<'_> {
    pub(super) fn machine(&self) {
        let edges = self.contract.edges();
        let valid = self.contract.stages.iter().filter(|stage| self.stage(stage, &edges)).count();
        self.shared_states();
        self.sweeps();
        self.operator_moves(&edges);
        self.retention();
        // If a stage is invalid, the checks below would only repeat its problems.
        if valid == self.contract.stages.len() {
            self.cycles(&edges);
            self.unreachable(&edges);
            self.endless(&edges);
        }
    }

    /// Checks a stage's own states; returns whether they are valid.
    fn stage(&self, stage: &Stage, edges: &[Edge]) -> bool {
        let mut valid = true;
        let mut wrong = |at: &str, what: String, remedy: &str| {
            valid = false;
            self.report.add_for_key(&key(stage, at), what, remedy);
        };
        if stage.ready.is_empty() {
            wrong("ready", "is empty".to_owned(), "name the state from which rows are claimed");
        }
        for (at, end) in [("dead", stage.dead), ("rejected", stage.rejected)] {
            let deletes = self.contract.state(end).deletes;
            if end == stage.delivered && !deletes && self.report.has_key(&key(stage, at)) {
                let what = format!(
                    "`{}` is the delivered state too: failed rows would look delivered",
                    self.name(end)
                );
                wrong(at, what, "choose another state for failed rows");
            }
        }
        // A key that is not given defaults to `dead`, and is reported there.
        for (at, end) in ends(stage).into_iter().filter(|(at, _)| self.report.has_key(&key(stage, at))) {
            if stage.ready.contains(&end) {
                let what =
                    format!("`{}` is ready too: rows that end there would be claimed again", self.name(end));
                wrong(at, what, "choose another state");
            }
            if stage.claimed == ClaimedState::State(end) {
                let what = format!(
                    "`{}` is the claimed state: rows that end there would be reclaimed",
                    self.name(end)
                );
                wrong(at, what, "choose another state");
            }
        }
        if let ClaimedState::State(claimed) = stage.claimed
            && (stage.ready.contains(&claimed) || stage.retryable == claimed)
        {
            let what = format!(
                "`{}` is ready or retryable too: claimed rows could not be distinguished from waiting ones",
                self.name(claimed)
            );
            wrong(
                "claimed",
                what,
                "choose another state, or write claimed = \"same\" with lease.by = \"due\"",
            );
        }
        let waits =
            reach([stage.retryable], edges.iter().filter(|(_, by, _)| *by == crate::Transition::Swept));
        let ends_only = !stage.ready.contains(&stage.retryable)
            && !waits.iter().any(|state| *state != stage.dead && stage.ready.contains(state));
        if ends_only {
            let what = format!(
                "rows in `{}` are never claimed, so they would never be retried",
                self.name(stage.retryable)
            );
            let near = postrider_config::closest(
                self.name(stage.retryable),
                stage.ready.iter().map(|state| self.name(*state)),
            );
            let remedy =
                near.map_or("add it to `ready`".to_owned(), |near| format!("did you mean `{near}`?"));
            wrong("retryable", what, &remedy);
        }
        valid
    }

    /// Reports states that two stages claim from or hold rows in.
    fn shared_states(&self) {
        for (index, stage) in self.contract.stages.iter().enumerate() {
            for other in &self.contract.stages[..index] {
                if let Some(state) = stage.ready.iter().find(|state| other.ready.contains(state)) {
                    let what = format!("stage `{}` claims rows from `{}` too", other.name, self.name(*state));
                    self.report.add_for_key(
                        &key(stage, "ready"),
                        what,
                        "remove the state from one of the two stages",
                    );
                }
                if let (ClaimedState::State(a), ClaimedState::State(b)) = (stage.claimed, other.claimed)
                    && a == b
                {
                    let what = format!("stage `{}` holds its rows in `{}` too", other.name, self.name(a));
                    self.report.add_for_key(
                        &key(stage, "claimed"),
                        what,
                        "choose another claimed state for one of the two stages",
                    );
                }
            }
        }
    }

    fn sweeps(&self) {
        for (index, sweep) in self.contract.sweeps.iter().enumerate() {
            let at = |key: &str| format!("{}.{key}", sweep.path(index));
            for from in &sweep.from {
                let name = self.name(*from);
                if self.contract.is_claimed(*from) {
                    let what = format!("a worker holds the rows in `{name}`");
                    self.report.add_for_key(
                        &at("from"),
                        what,
                        "remove it: expired leases are reclaimed without a sweep",
                    );
                } else if *from == sweep.to && !sweep.publish {
                    self.report.add_for_key(
                        &at("to"),
                        format!("moves rows from `{name}` to itself"),
                        "choose another state, or add publish = true",
                    );
                } else if self.is_end(*from) && !self.contract.is_ready(*from) {
                    let what = format!("`{name}` is final: only an operator moves rows from there");
                    self.report.add_for_key(
                        &at("from"),
                        what,
                        "remove it; to delete finished rows, use [retention]",
                    );
                }
            }
            if self.contract.is_claimed(sweep.to) {
                let what = format!(
                    "`{}` is a claimed state, and only a claim moves rows there",
                    self.name(sweep.to)
                );
                self.report.add_for_key(&at("to"), what, "choose another state");
            }
        }
    }

    fn operator_moves(&self, edges: &[Edge]) {
        let live = |state: StateId| self.contract.is_ready(state) || self.contract.is_claimed(state);
        for (moves, at) in [(&self.contract.cancel, "cancel.to"), (&self.contract.complete, "complete.to")] {
            let wrong = moves.iter().flat_map(|moves| &moves.moves).find(|(_, to)| live(*to));
            if let Some((_, to)) = wrong {
                let what = format!("`{}` is not final: the row would be delivered later", self.name(*to));
                self.report.add_for_key(at, what, "choose a state that no transition leaves");
            }
        }
        for (from, to) in self.contract.requeue.iter().flat_map(|requeue| &requeue.moves) {
            let goes_on = reach([*to], edges.iter().filter(|(_, by, _)| *by == crate::Transition::Swept));
            if !goes_on.iter().any(|state| self.contract.is_ready(*state)) {
                let what = format!("rows in `{}` are never claimed", self.name(*to));
                self.report.add_for_key("requeue.to", what, "choose a ready state");
            }
            if self.contract.is_claimed(*from) {
                let what = format!("a worker holds the rows in `{}`", self.name(*from));
                self.report.add_for_key("requeue.from", what, "name final states only");
            }
        }
    }

    /// Checks that a purge never deletes rows that are still to be processed.
    fn retention(&self) {
        for retention in &self.contract.retention {
            let state = retention.state;
            let optional =
                self.contract.stages.iter().all(|stage| stage.optional || !stage.ready.contains(&state));
            let swept = self.contract.sweeps.iter().any(|sweep| sweep.from.contains(&state));
            if self.contract.is_claimed(state) || !optional || swept {
                let what = format!("rows in `{}` are not finished", self.name(state));
                self.report.add_for_key(
                    &format!("retention.{}", self.name(state)),
                    what,
                    "name final states only",
                );
            }
        }
    }

    /// Reports cycles between stages, which would never end. A cycle has a step from a later stage to an earlier one,
    /// and that step is reported.
    fn cycles(&self, edges: &[Edge]) {
        let own: Vec<&Edge> = edges.iter().filter(|(_, by, _)| !by.is_by_operator()).collect();
        for (index, stage) in self.contract.stages.iter().enumerate() {
            let earlier = &self.contract.stages[..index];
            for (at, end) in ends(stage).into_iter().filter(|(at, _)| self.report.has_key(&key(stage, at))) {
                let leads_back = earlier.iter().any(|earlier| earlier.ready.contains(&end));
                let after = reach([end], own.iter().copied());
                if leads_back && stage.ready.iter().any(|ready| after.contains(ready)) {
                    let what = format!(
                        "leads back to `{}`: the row would never reach a final state",
                        self.name(end)
                    );
                    self.report.add_for_key(
                        &key(stage, at),
                        what,
                        "choose a state from which no stage claims",
                    );
                }
            }
        }
    }

    fn unreachable(&self, edges: &[Edge]) {
        let ready = self.contract.stages.iter().flat_map(|stage| stage.ready.iter().copied());
        let reached = reach(ready.chain(self.contract.producer.iter().copied()), edges.iter());
        for state in (0..self.contract.states.len()).map(StateId).filter(|state| !reached.contains(state)) {
            let name = self.name(state);
            let remedy =
                format!("remove it; or, if the application inserts rows in it, add producer = [\"{name}\"]");
            self.report.add_for_key(&self.key_of(state), format!("no transition leads to `{name}`"), remedy);
        }
    }

    /// Checks that a row can reach an end from every state without an operator.
    fn endless(&self, edges: &[Edge]) {
        let own: Vec<&Edge> = edges.iter().filter(|(_, by, _)| !by.is_by_operator()).collect();
        for state in (0..self.contract.states.len()).map(StateId) {
            let ahead = reach([state], own.iter().copied());
            if !ahead.iter().any(|state| !own.iter().any(|(from, _, _)| from == state)) {
                let what = format!("a row in `{}` can never reach a final state", self.name(state));
                self.report.add_for_key(
                    &self.key_of(state),
                    what,
                    "add a transition from it to a ready or final state",
                );
            }
        }
    }

    fn is_end(&self, state: StateId) -> bool {
        self.contract.stages.iter().any(|stage| ends(stage).iter().any(|(_, end)| *end == state))
    }
}

/// Returns the states in which a stage can end, each with its key.
fn ends(stage: &Stage) -> [(&'static str, StateId); 4] {
    [
        ("delivered", stage.delivered),
        ("dead", stage.dead),
        ("rejected", stage.rejected),
        ("skipped", stage.skipped),
    ]
}

/// Returns all reachable states, including the starts.
fn reach<'a>(
    starts: impl IntoIterator<Item = StateId>,
    edges: impl IntoIterator<Item = &'a Edge>,
) -> BTreeSet<StateId> {
    let edges: Vec<&Edge> = edges.into_iter().collect();
    let mut reached: BTreeSet<StateId> = BTreeSet::new();
    let mut open: Vec<StateId> = starts.into_iter().collect();
    while let Some(state) = open.pop() {
        if reached.insert(state) {
            open.extend(edges.iter().filter(|(from, _, _)| *from == state).map(|(_, _, to)| *to));
        }
    }
    reached
}
