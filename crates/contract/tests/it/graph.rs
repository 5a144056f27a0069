//! Tests the graph of the state machine.

use postrider_contract::{Contract, Transition};

use crate::builtin;

#[test]
fn every_edge_joins_states_of_the_contract_and_each_state_is_on_one() {
    for name in Contract::builtin_names() {
        let contract = builtin(name);
        let edges = contract.edges();
        for index in 0..contract.states.len() {
            assert!(edges.iter().any(|(from, _, to)| from.0 == index || to.0 == index), "{name} {index}");
        }
    }
}

#[test]
fn final_states_are_left_by_an_operator_alone() {
    let contract = builtin("mail_outbox");
    for (state, is_final) in [("queued", false), ("dispatching", false), ("sent", true), ("failed", true)] {
        assert_eq!(contract.is_final(contract.state_named(state).expect("the state")), is_final, "{state}");
    }
    let failed = contract.state_named("failed").expect("the state");
    let out: Vec<Transition> =
        contract.edges().into_iter().filter(|(from, _, _)| *from == failed).map(|(_, by, _)| by).collect();
    assert_eq!(out, [Transition::Requeued]);
}

#[test]
fn the_mermaid_text_shows_entries_moves_and_ends() {
    let contract = builtin("mail_outbox");
    assert_eq!(
        contract.mermaid(),
        "stateDiagram-v2\n    \
         s0 : queued\n    s1 : dispatching\n    s2 : sent\n    s3 : failed\n    \
         [*] --> s0\n    \
         s0 --> s1 : claimed\n    s0 --> s3 : swept\n    s1 --> s2 : delivered\n    \
         s1 --> s0 : retry, deferred, released, reclaimed\n    s1 --> s3 : dead, rejected, skipped, reclaimed\n    \
         s3 --> s0 : [requeued]\n    s2 --> [*]\n    s3 --> [*]\n"
    );
}
