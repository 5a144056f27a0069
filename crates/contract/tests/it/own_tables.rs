//! Tests contracts for tables of other shapes.

use postrider_contract::{
    ClaimedState, ColumnRole, Condition, Contract, DueNull, LeaseBy, Literal, Set, Transition,
};

fn parse(text: &str) -> Contract {
    Contract::parse("own.toml", text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// UUID key, whole-number states, reserved words, nullable due time, camelCase.
const ORDERS: &str = r#"
contract = "orders"
version  = "1.0"
composer = "email"
producer = ["draft"]

[table]
name = "Order"
id   = "uuid"

[columns]
status     = "group"
attempts   = "select"
due        = "notBefore"
claimed_at = "claimedAt"
version    = "rowVersion"
error      = "order"

[message]
to      = "recipient"
subject = "from"
text    = "where"

[states]
draft   = 0
new     = 10
taken   = 20
done    = 30
refused = 99

[[stage]]
name      = "mail"
ready     = "new"
claimed   = "taken"
delivered = "done"
retryable = "new"
dead      = "refused"

[due]
null = "now"

[retry]
delays = ["1s", "1m"]
"#;

/// No claimed state: the claim moves the due time ahead.
const MOVED_DUE: &str = r#"
contract = "moved"
version  = "1.0"
composer = "record"

[table]
name = "app.events"
id   = "id"
time = "epoch_ms"

[columns]
attempts = "tries"
due      = "at"
version  = "v"

[states]
open   = { done_at = { null = true }, failed = false }
sent   = { done_at = { null = false } }
failed = { done_at = { null = true }, failed = true }

[[stage]]
name      = "publish"
ready     = "open"
claimed   = "same"
delivered = "sent"
retryable = "open"
dead      = "failed"

[lease]
by  = "due"
for = "30s"

[attempts]
count = "claims"

[retry]
base = "1s"

[write]
delivered.done_at = "$now"
"#;

/// A boolean flag, a filter, priorities, and a stage with its own schedule.
const FLAGS: &str = r#"
contract = "flags"
version  = "1.3"

[table]
name = "messages"
id   = "message$id"

[columns]
status     = "sent"
attempts   = "tries"
due        = "due_at"
claimed_at = "locked_at"
owner      = "locked_by"
priority   = "prio"
created    = "created"

[states]
waiting = { sent = false, locked_at = { null = true }, gone = false }
locked  = { sent = false, locked_at = { null = false }, gone = false }
sent    = true
gone    = { sent = false, gone = true, locked_at = { null = true } }

[claim]
order   = ["-priority", "due", "id"]
where   = { kind = "mail", tenant = 7 }
min_age = "5s"

[[stage]]
name      = "send"
composer  = "email"
ready     = "waiting"
claimed   = "locked"
delivered = "sent"
retryable = "waiting"
dead      = "gone"
uncertain = "dead"

[stage.retry]
base   = "10s"
jitter = 0.1
"#;

#[test]
fn whole_number_states_reserved_words_and_camel_case() {
    let contract = parse(ORDERS);
    let new = contract.state_named("new").expect("the state");
    assert_eq!(contract.state(new).conditions, [("group".to_owned(), Condition::Is(Literal::Int(10)))]);
    assert_eq!(contract.due.null, DueNull::Now);
    assert_eq!(contract.stages[0].lease.fence, [ColumnRole::Version]);
    assert_eq!(contract.column(ColumnRole::Id), Some("uuid"));
}

#[test]
fn a_lease_by_due_time_counts_and_gives_back_claims() {
    let contract = parse(MOVED_DUE);
    let stage = &contract.stages[0];
    assert_eq!((stage.claimed, stage.lease.by), (ClaimedState::Same, LeaseBy::Due));
    assert_eq!(contract.table.schema.as_deref(), Some("app"));
    let set = |transition, column: &str| {
        let step = contract.lease_move(stage, transition);
        contract.assignments(&step).into_iter().find(|one| one.column == column).map(|one| one.set)
    };
    assert_eq!(set(Transition::Claimed, "at"), Some(Set::LeaseEnd));
    assert_eq!(set(Transition::Claimed, "tries"), Some(Set::Increment));
    assert_eq!(set(Transition::Released, "tries"), Some(Set::Decrement));
    assert_eq!(set(Transition::Released, "at"), Some(Set::Now));
    assert_eq!(set(Transition::Dead, "tries"), None);
}

#[test]
fn flags_filters_priorities_and_a_schedule_of_the_stage() {
    let contract = parse(FLAGS);
    assert!(contract.claim.order[0].descending);
    assert_eq!(contract.claim.filter.len(), 2);
    assert_eq!(contract.stages[0].lease.fence, [ColumnRole::Owner, ColumnRole::ClaimedAt]);
    let step = contract.lease_move(&contract.stages[0], Transition::Delivered);
    let writes = contract.assignments(&step);
    assert!(writes.iter().any(|one| one.column == "locked_at" && one.set == Set::Null), "{writes:?}");
}
