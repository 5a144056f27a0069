//! Tests the guards of concurrent workers: every move compares the state and the time, and is one transaction.

use postrider_contract::Transition;
use postrider_seams::store::{Class, LeaseResult, Reclaimed, Settlement};
use postrider_seams::{ClaimedRow, Store as _};
use postrider_store_dynamodb::DynamoStore;

use crate::fixtures::{Fixture, claim, ids};

/// Returns a worker that holds `e-1`, claimed from the given state.
async fn holding(fixture: &Fixture, stage: &str, state: &str) -> (std::sync::Arc<DynamoStore>, ClaimedRow) {
    fixture.boto3(&format!("put('e-1', '{state}')")).await;
    let store = fixture.open(stage).await;
    let claimed = claim(&store, 1).await.remove(0);
    (store, claimed)
}

/// Writes one attribute of `_META` as another program would, and leaves the others.
async fn written(fixture: &Fixture, attribute: &str, value: &str) {
    let program = format!(
        "table.update_item(Key=dict(Id='e-1', Status='_META'), UpdateExpression='SET Attributes.{attribute} = :v',
                  ExpressionAttributeValues={{':v': '{value}'}})"
    );
    fixture.boto3(&program).await;
}

async fn latest(fixture: &Fixture) -> String {
    let seen = fixture.boto3("answer(all('e-1')['_META']['Attributes'])").await;
    seen["Latest"].as_str().unwrap().to_owned()
}

fn settlement(claimed: &ClaimedRow) -> Settlement {
    Settlement { transition: Transition::Delivered, ..Settlement::released(claimed.lease.clone()) }
}

#[tokio::test]
async fn e04_a_settle_is_refused_where_the_state_is_another_although_the_time_is_the_same() {
    let fixture = Fixture::new().await;
    let (send, claimed) = holding(&fixture, "send", "READY").await;
    written(&fixture, "Latest", "FAILED").await;
    assert_eq!(send.extend(std::slice::from_ref(&claimed.lease)).await.unwrap(), [None]);
    assert_eq!(send.settle(&[settlement(&claimed)]).await.unwrap(), [LeaseResult::Lost]);
    assert_eq!(latest(&fixture).await, "FAILED", "nothing was written");
}

#[tokio::test]
async fn e04_a_settle_is_refused_where_the_time_is_another_although_the_state_is_the_same() {
    let fixture = Fixture::new().await;
    let (send, claimed) = holding(&fixture, "send", "READY").await;
    // Reclaimed, and claimed by another worker.
    written(&fixture, "UpdatedAt", "2026-01-02T00:00:00Z").await;
    assert_eq!(send.extend(std::slice::from_ref(&claimed.lease)).await.unwrap(), [None]);
    assert_eq!(send.settle(&[settlement(&claimed)]).await.unwrap(), [LeaseResult::Lost]);
    assert_eq!(latest(&fixture).await, "PROCESSING", "nothing was written");
}

#[tokio::test]
async fn e10_a_step_back_is_refused_where_the_worker_was_only_slow() {
    let fixture = Fixture::new().await;
    let (send, claimed) = holding(&fixture, "send", "READY").await;
    assert_eq!(send.reclaim(10).await.unwrap(), Reclaimed::default(), "its lease runs");
    assert_eq!(send.settle(&[settlement(&claimed)]).await.unwrap(), [LeaseResult::Held]);
    assert_eq!(send.settle(&[settlement(&claimed)]).await.unwrap(), [LeaseResult::Lost], "once is once");
    assert_eq!(send.reclaim(10).await.unwrap(), Reclaimed::default());
    assert_eq!(latest(&fixture).await, "SENT");
}

#[tokio::test]
async fn e04_a_move_and_its_history_are_one_request() {
    let fixture = Fixture::new().await;
    fixture.boto3("put('e-1', 'READY')").await;
    let database = fixture.database();
    let send = database.open(fixture.contract.clone(), "send", "test").await.unwrap();
    let mut before = database.usage().writes;
    let mut made = || {
        let now = database.usage().writes;
        now - std::mem::replace(&mut before, now)
    };
    let claimed = claim(&send, 1).await.remove(0);
    assert_eq!(made(), 1, "the claim");
    assert_eq!(send.settle(&[settlement(&claimed)]).await.unwrap(), [LeaseResult::Held]);
    assert_eq!(made(), 1, "the settle");
    let seen = fixture.boto3("answer(sorted(all('e-1')))").await;
    assert_eq!(seen, serde_json::json!(["PROCESSING", "READY", "SENT", "_META"]));
}

#[tokio::test]
async fn e04_a_record_whose_time_has_another_type_is_taken_all_the_same() {
    let fixture = Fixture::new().await;
    let program = "
put('e-1', 'ACCEPTED')
for n, value in enumerate([1767225600, None, [1], 'yesterday', '']):
    attributes = dict(Latest='ACCEPTED', UpdatedAt=value, PayloadFilePath='p')
    table.put_item(Item=dict(Id=f'odd-{n}', Status='_META', Attributes=attributes))
";
    fixture.boto3(program).await;
    let intake = fixture.open("intake").await;
    let claimed = claim(&intake, 25).await;
    assert_eq!(ids(&claimed), ["e-1", "odd-0", "odd-1", "odd-2", "odd-3", "odd-4"]);
    let ends: Vec<Settlement> = claimed.iter().map(settlement).collect();
    assert!(intake.settle(&ends).await.unwrap().iter().all(|held| *held == LeaseResult::Held));
}

#[tokio::test]
async fn e04_every_record_has_its_reason_as_the_specification_writes_it() {
    let fixture = Fixture::new().await;
    let (send, claimed) = holding(&fixture, "send", "READY").await;
    let busy = Settlement {
        transition: Transition::Retry,
        reason: Some("451 busy".to_owned()),
        ..Settlement::released(claimed.lease.clone())
    };
    assert_eq!(send.settle(&[busy]).await.unwrap(), [LeaseResult::Held]);
    let reasons = "answer({state: record['Attributes']['Reason'] for state, record in all('e-1').items()})";
    let seen = fixture.boto3(reasons).await;
    assert_eq!(seen, serde_json::json!({"_META": "451 busy", "READY": "451 busy"}));
    let claimed = claim(&send, 1).await.remove(0);
    assert_eq!(send.settle(&[settlement(&claimed)]).await.unwrap(), [LeaseResult::Held]);
    let seen = fixture.boto3(reasons).await;
    let expected = serde_json::json!({"_META": "", "READY": "451 busy", "PROCESSING": "", "SENT": ""});
    assert_eq!(seen, expected, "empty where there is none, never missing");
}

#[tokio::test]
async fn e05_a_time_to_live_may_have_a_fraction_and_an_infinite_one_is_none() {
    let fixture = Fixture::new().await;
    let program = "
put('gone', 'ACCEPTED', ttl=Decimal('1000000000.5'))
put('kept', 'ACCEPTED', ttl=Decimal('4102444800.5'))
put('endless', 'ACCEPTED', ttl=Decimal('1e30'))
";
    fixture.boto3(program).await;
    let intake = fixture.open("intake").await;
    assert_eq!(ids(&claim(&intake, 25).await), ["endless", "kept"]);
    let seen = fixture.boto3("answer(all('kept'))").await;
    for state in ["_META", "INTAKING", "ACCEPTED"] {
        assert_eq!(seen[state]["TTL"], 4_102_444_800_i64, "{state}: {seen}");
    }
}

#[tokio::test]
async fn e04_an_unknown_record_behind_many_others_is_reported() {
    let fixture = Fixture::new().await;
    let program = "
with table.batch_writer() as batch:
    for n in range(300):
        attributes = dict(Latest='SENT-ACKNOWLEDGED', UpdatedAt='2026-01-01T00:00:00Z')
        batch.put_item(Item=dict(Id=f'e-{n:03}', Status='_META', Attributes=attributes))
put('z-1', 'TELEPORTED')
";
    fixture.boto3(program).await;
    let send = fixture.open("send").await;
    let findings = postrider_seams::Inspect::unknown_states(&*send).await.unwrap();
    assert!(findings.iter().any(|text| text.contains("1 records are in state `TELEPORTED`")), "{findings:?}");
}

#[tokio::test]
async fn e10_a_time_that_is_ahead_of_every_clock_does_not_extend_the_lease() {
    let fixture = Fixture::new().await;
    fixture.boto3("put('e-1', 'READY')").await;
    written(&fixture, "UpdatedAt", "2090-01-01T00:00:00Z").await;
    let send = fixture.open("send").await;
    let claimed = claim(&send, 1).await.remove(0);
    let meta = fixture.boto3("answer(all('e-1')['_META']['Attributes'])").await;
    assert!(meta["UpdatedAt"].as_str().unwrap() < "2080", "its worker may die: {meta}");
    assert_eq!(send.settle(&[settlement(&claimed)]).await.unwrap(), [LeaseResult::Held]);
}

#[tokio::test]
async fn e04_a_time_a_little_ahead_of_the_clock_is_followed_so_that_no_two_claims_look_alike() {
    let fixture = Fixture::new().await;
    let program = "
put('e-1', 'READY')
soon = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + 45))
table.update_item(Key=dict(Id='e-1', Status='_META'), UpdateExpression='SET Attributes.UpdatedAt = :v',
                  ExpressionAttributeValues={':v': soon})
answer(soon)
";
    let soon = fixture.boto3(program).await;
    let send = fixture.open("send").await;
    claim(&send, 1).await;
    let meta = fixture.boto3("answer(all('e-1')['_META']['Attributes'])").await;
    let (soon, after) = (soon.as_str().unwrap(), meta["UpdatedAt"].as_str().unwrap());
    assert_eq!(after, soon.replace('Z', ".000001Z"), "one tick later");
}

/// A record of more than 400 KB: its outcome must not be forgotten, and other rows go on.
#[tokio::test]
async fn a_settle_that_makes_a_record_too_large_is_refused_and_stops_no_other() {
    let fixture = Fixture::new().await;
    fixture.boto3("put('e-1', 'READY'); put('e-2', 'READY')").await;
    let store = fixture.open("send").await;
    let rows = claim(&store, 2).await;
    let fits = settlement(&rows[1]);
    let large = Settlement {
        transition: Transition::Rejected,
        reason: Some("x".repeat(450 * 1024)),
        ..settlement(&rows[0])
    };
    assert_eq!(
        store.settle(&[large.clone(), fits]).await.unwrap(),
        [LeaseResult::Refused, LeaseResult::Held]
    );
    let error = store.settle(std::slice::from_ref(&large)).await.unwrap_err();
    assert_eq!(error.class, Class::Permanent, "{error}");
    let reduced = Settlement { reason: Some("x".to_owned()), ..large };
    assert_eq!(store.settle(&[reduced]).await.unwrap(), [LeaseResult::Held]);
}
