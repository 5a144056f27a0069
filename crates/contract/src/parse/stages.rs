//! Parses `[[stage]]`: each is one step of a row's life, complete once it is parsed.

use postrider_config::{Item, TableReader};

use crate::{ClaimedState, Columns, Stage, StateId, Uncertain};

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
    reader: &TableReader<'_>,
    states: &mut States,
    columns: &Columns,
    composer: Option<&str>,
) -> Option<Vec<Stage>> {
    let top = Top {
        composer,
        attempts: RawAttempts::read(reader.table("attempts")),
        retry: RawRetry::read(reader.table("retry")),
        lease: RawLease::read(reader.table("lease")),
    };
    let items = reader
        .required("stage", "add [[stage]] with name, ready, claimed, delivered, retryable and dead")?
        .list()?;
    let mut names: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    let mut complete = !items.is_empty();
    if items.is_empty() {
        reader.report.add_for_key("stage", "there is no stage", "add [[stage]]");
    }
    for item in &items {
        if let Some(name) = item.node.name() {
            if names.contains(&name) {
                item.mistake(format!("another stage is named `{name}`"), "choose another name");
            }
            names.push(name);
        }
        let stage = item.table().and_then(|reader| stage(&reader, states, columns, &top));
        complete &= stage.is_some();
        found.extend(stage);
    }
    complete.then_some(found)
}

fn stage(reader: &TableReader<'_>, states: &mut States, columns: &Columns, top: &Top<'_>) -> Option<Stage> {
    let name = reader.required("name", "write name = \"deliver\"").and_then(|item| item.text());
    let composer = composer(reader, top);
    let ready: Option<Vec<StateId>> = reader
        .required("ready", "write ready = \"STATE\": the state from which rows are claimed")
        .map(|item| item.one_or_many().iter().filter_map(|item| states.intern(item)).collect());
    let claimed = reader
        .required("claimed", "write claimed = \"STATE\", or \"same\" with lease.by = \"due\"")
        .and_then(|item| {
            if item.text()? == "same" {
                Some(ClaimedState::Same)
            } else {
                states.intern(&item).map(ClaimedState::State)
            }
        });
    let mut end = |key, remedy| reader.required(key, remedy).and_then(|item: Item<'_>| states.end(&item));
    let delivered = end("delivered", "write delivered = \"STATE\": the state after success");
    let dead = end("dead", "write dead = \"STATE\": the state of rows that have no attempts left");
    let mut state =
        |key, remedy| reader.required(key, remedy).and_then(|item: Item<'_>| states.intern(&item));
    let retryable =
        state("retryable", "write retryable = \"STATE\": the state of rows that wait for another attempt");
    let lease = RawLease::read(reader.table("lease")).over(&top.lease, columns);
    let retry_rule = RawRetry::read(reader.table("retry")).over(&top.retry, reader, lease.duration);
    let untried = reader.get("untried").and_then(|item| states.intern(&item));
    let mut end = |key| reader.get(key).and_then(|item| states.end(&item));
    let rejected = end("rejected").or(dead);
    let skipped = end("skipped").or(rejected);
    let delete_failed = delete_failed(reader, states, [("dead", dead), ("rejected", rejected)]);
    let uncertain = reader.get("uncertain").and_then(|item| {
        item.choice(&[
            ("retry", Uncertain::Retry),
            ("dead", Uncertain::Dead),
            ("delivered", Uncertain::Delivered),
        ])
    });
    let may_lack = reader.get("optional").and_then(|item| item.boolean()).unwrap_or(false);
    let attempts = RawAttempts::read(reader.table("attempts")).over(top.attempts);
    reader.finish();
    Some(Stage {
        name: name?.to_owned(),
        composer: composer?,
        ready: ready?,
        claimed: claimed?,
        delivered: delivered?,
        retryable: retryable?,
        untried,
        dead: dead?,
        rejected: rejected?,
        skipped: skipped?,
        uncertain: uncertain.unwrap_or(Uncertain::Retry),
        delete_failed,
        optional: may_lack,
        attempts,
        retry_rule,
        lease,
    })
}

/// Reads `delete_failed`, without which failed rows cannot be deleted.
fn delete_failed(
    reader: &TableReader<'_>,
    states: &States,
    ends: [(&'static str, Option<StateId>); 2],
) -> bool {
    let item = reader.get("delete_failed");
    let allowed = item.as_ref().and_then(Item::boolean).unwrap_or(false);
    let deletes = |end: Option<StateId>| end.is_some_and(|end| states.list[end.0].deletes);
    let deleting = ends.into_iter().find(|(_, end)| deletes(*end));
    match (item, deleting) {
        (Some(item), None) if allowed => item.mistake(
            "has no effect: neither `dead` nor `rejected` is \"delete\"",
            "remove it, or write dead = \"delete\"",
        ),
        (_, Some((key, _))) if !allowed => {
            let what = "\"delete\" would delete failed rows without a trace";
            let remedy = "name a state and give it a [retention], or add delete_failed = true to the stage";
            reader.report.add_for_key(&reader.key(key), what, remedy);
        }
        _ => {}
    }
    allowed
}

fn composer(reader: &TableReader<'_>, top: &Top<'_>) -> Option<String> {
    let own = reader.get("composer").map(|item| item.text());
    match (own, top.composer) {
        (Some(own), _) => own.map(str::to_owned),
        (None, Some(top)) => Some(top.to_owned()),
        (None, None) => {
            reader.required("composer", "write composer = \"NAME\" here, or once at the top of the file");
            None
        }
    }
}
