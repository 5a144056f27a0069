//! Parses `[[stage]]`: each is one step of a row's life, complete once it is parsed.

use std::time::Duration;

use crate::reader::{Item, Scope};
use crate::{Claimed, Columns, Stage, StateId, Uncertain};

use super::schedule::{RawAttempts, RawLease, RawRetry};
use super::states::States;

/// The tables at the top of the file that apply to every stage.
struct Top<'a> {
    composer: Option<&'a str>,
    attempts: RawAttempts,
    retry: RawRetry,
    lease: RawLease,
}

pub(super) fn stages(
    scope: &Scope<'_>,
    states: &mut States,
    columns: &Columns,
    composer: Option<&str>,
) -> Option<Vec<Stage>> {
    let retry = scope.scope("retry").map(|scope| {
        let retry = RawRetry::read(&scope);
        scope.finish();
        retry
    });
    let top = Top {
        composer,
        attempts: RawAttempts::read(scope.scope("attempts")),
        retry: retry.unwrap_or_default(),
        lease: RawLease::read(scope.scope("lease")),
    };
    let items =
        scope.need("stage", "add [[stage]] with name, ready, claimed, delivered, retry and dead")?.list()?;
    let mut names: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    let mut complete = !items.is_empty();
    if items.is_empty() {
        scope.log.key("stage", "there is no stage", "add [[stage]]");
    }
    for item in &items {
        if let Some(name) = item.node.name() {
            if names.contains(&name) {
                item.wrong(format!("two stages are named `{name}`"), "give each its own name");
            }
            names.push(name);
        }
        let stage = item.scope().and_then(|scope| stage(&scope, states, columns, &top));
        complete &= stage.is_some();
        found.extend(stage);
    }
    complete.then_some(found)
}

fn stage(scope: &Scope<'_>, states: &mut States, columns: &Columns, top: &Top<'_>) -> Option<Stage> {
    let name = scope.need("name", "write name = \"deliver\"").and_then(|item| item.text());
    let composer = composer(scope, top);
    let ready: Option<Vec<StateId>> = scope
        .need("ready", "name the state that a claim takes")
        .map(|item| item.one_or_many().iter().filter_map(|item| states.intern(item)).collect());
    let claimed =
        scope.need("claimed", "name a state, or write \"same\" with lease.by = \"due\"").and_then(|item| {
            if item.text()? == "same" {
                Some(Claimed::Same)
            } else {
                states.intern(&item).map(Claimed::State)
            }
        });
    let mut state = |key, remedy| scope.need(key, remedy).and_then(|item: Item<'_>| states.intern(&item));
    let delivered = state("delivered", "name the state of success");
    let dead = state("dead", "name the state of rows whose attempts are spent");
    let lease = RawLease::read(scope.scope("lease")).over(&top.lease, columns);
    let (retry, retry_rule) = retry(scope, states, top, lease.duration);
    let mut optional = |key| scope.get(key).and_then(|item| states.intern(&item));
    let untried = optional("untried");
    let rejected = optional("rejected").or(dead);
    let skipped = optional("skipped").or(rejected);
    let uncertain = scope.get("uncertain").and_then(|item| {
        item.choice(&[
            ("retry", Uncertain::Retry),
            ("dead", Uncertain::Dead),
            ("delivered", Uncertain::Delivered),
        ])
    });
    let may_lack = scope.get("optional").and_then(|item| item.truth()).unwrap_or(false);
    let attempts = RawAttempts::read(scope.scope("attempts")).over(top.attempts);
    scope.finish();
    Some(Stage {
        name: name?.to_owned(),
        composer: composer?,
        ready: ready?,
        claimed: claimed?,
        delivered: delivered?,
        retry: retry?,
        untried,
        dead: dead?,
        rejected: rejected?,
        skipped: skipped?,
        uncertain: uncertain.unwrap_or(Uncertain::Retry),
        optional: may_lack,
        attempts,
        retry_rule,
        lease,
    })
}

fn composer(scope: &Scope<'_>, top: &Top<'_>) -> Option<String> {
    let own = scope.get("composer").map(|item| item.text());
    match (own, top.composer) {
        (Some(own), _) => own.map(str::to_owned),
        (None, Some(top)) => Some(top.to_owned()),
        (None, None) => {
            scope.need("composer", "name it here, or once at the top of the file");
            None
        }
    }
}

/// Parses `retry = "state"`, or `[stage.retry]` with `to` and its own schedule.
fn retry(
    scope: &Scope<'_>,
    states: &mut States,
    top: &Top<'_>,
    lease: Duration,
) -> (Option<StateId>, crate::Retry) {
    let item = scope.need("retry", "name the state of rows that wait for another try");
    if let Some(own) = item.as_ref().filter(|item| item.is_table()).and_then(Item::scope) {
        let to = own.need("to", "name the state of rows that wait for another try");
        let rule = RawRetry::read(&own).over(&top.retry, &own, lease);
        own.finish();
        return (to.and_then(|item| states.intern(&item)), rule);
    }
    (item.and_then(|item| states.intern(&item)), RawRetry::default().over(&top.retry, scope, lease))
}
