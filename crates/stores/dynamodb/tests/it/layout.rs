//! Tests what the store's moves leave in the table.

use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::inspect::SelectedRows;
use postrider_seams::store::{LeaseResult, Reclaimed, Settlement};
use postrider_seams::{Inspect as _, Store as _};

use crate::fixtures::{Fixture, claim, ids};

#[tokio::test]
async fn e04_pages_are_followed_until_there_are_twenty_five() {
    let fixture = Fixture::new().await;
    // Two of three are finished, so that one page has too few and one claim does not get all.
    let program = "
with table.batch_writer() as batch:
    for n in range(180):
        latest = 'ACCEPTED' if n % 3 == 0 else 'SENT-ACKNOWLEDGED'
        attributes = dict(Latest=latest, UpdatedAt='2026-01-01T00:00:00Z', PayloadFilePath='p')
        batch.put_item(Item=dict(Id=f'e-{n:03}', Status='_META', Attributes=attributes))
";
    fixture.boto3(program).await;
    let intake = fixture.open("intake").await;
    let mut all = Vec::new();
    for expected in [25, 25, 10, 0] {
        let claimed = claim(&intake, 25).await;
        assert_eq!(claimed.len(), expected);
        all.extend(ids(&claimed));
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 60, "each once");
}

#[tokio::test]
async fn e05_expired_records_are_ignored_and_others_keep_their_time() {
    let fixture = Fixture::new().await;
    let program = "
put('gone', 'ACCEPTED', ttl=1_000_000_000)
put('gone-too', 'ACCEPTED', legacy=1_000_000_000)
put('kept', 'ACCEPTED', ttl=4_102_444_800)
put('no-number', 'ACCEPTED', legacy='tomorrow')
";
    fixture.boto3(program).await;
    let intake = fixture.open("intake").await;
    assert_eq!(ids(&claim(&intake, 25).await), ["kept", "no-number"]);
    let seen = fixture.boto3("answer([all('kept'), all('no-number')])").await;
    assert_eq!(seen[0]["_META"]["TTL"], 4_102_444_800_i64);
    assert_eq!(seen[0]["INTAKING"]["TTL"], 4_102_444_800_i64);
    assert!(seen[1]["INTAKING"].get("TTL").is_none(), "none is none");
}

#[tokio::test]
async fn e05_a_retention_sets_the_time_to_live_of_finished_mails() {
    let mut fixture = Fixture::new().await;
    let table = fixture.contract.table.name.clone();
    let over = toml::from_str("[retention]\nINVALID = \"7d\"").unwrap();
    let layer = postrider_contract::Layer::new("settings", "lanes.test", over);
    let text = postrider_contract::Contract::builtin("emails").unwrap();
    fixture.contract = postrider_contract::Contract::parse_with("emails.toml", text, &[layer]).unwrap();
    fixture.contract.table.name = table;
    fixture.boto3("put('e-1', 'ACCEPTED')").await;
    let intake = fixture.open("intake").await;
    let claimed = claim(&intake, 1).await;
    let seen = fixture.boto3("answer(all('e-1'))").await;
    assert!(seen["_META"].get("TTL").is_none(), "off until its end: {seen}");
    let end = Settlement {
        transition: Transition::Rejected,
        reason: Some("no payload".to_owned()),
        ..Settlement::released(claimed[0].lease.clone())
    };
    assert_eq!(intake.settle(&[end]).await.unwrap(), [LeaseResult::Held]);
    let seen = fixture.boto3("answer([all('e-1'), int(time.time())])").await;
    let (meta, now) = (&seen[0]["_META"], seen[1].as_i64().unwrap());
    let left = meta["TTL"].as_i64().unwrap() - now;
    assert!((7 * 86_400 - 600..=7 * 86_400 + 600).contains(&left), "{left} s");
    for state in ["ACCEPTED", "INTAKING", "INVALID"] {
        assert_eq!(seen[0][state]["TTL"], meta["TTL"], "none of its records outlives it: {}", seen[0]);
    }

    // After a requeue neither the record nor those of its former states have a time to live.
    assert_eq!(intake.requeue(&SelectedRows::Ids(vec!["e-1".to_owned()])).await.unwrap(), 1);
    let seen = fixture.boto3("answer(all('e-1'))").await;
    for (state, record) in seen.as_object().unwrap() {
        assert!(record.get("TTL").is_none(), "{state}: {record}");
    }
}

#[tokio::test]
async fn e10_a_step_back_is_one_move_of_three_records() {
    let fixture = Fixture::new().await;
    fixture.boto3("put('e-1', 'READY')").await;
    let send = fixture.open("send").await;
    let claimed = claim(&send, 1).await;
    let seen = fixture.boto3("answer(all('e-1'))").await;
    assert_eq!(seen["_META"]["Attributes"]["Latest"], "PROCESSING");
    assert!(seen.get("PROCESSING").is_some() && seen.get("READY").is_some(), "{seen}");
    let busy = Settlement {
        transition: Transition::Retry,
        delay: Duration::from_mins(1),
        reason: Some("451 busy".to_owned()),
        ..Settlement::released(claimed[0].lease.clone())
    };
    assert_eq!(send.settle(&[busy]).await.unwrap(), [LeaseResult::Held]);
    let seen = fixture.boto3("answer(all('e-1'))").await;
    let meta = &seen["_META"]["Attributes"];
    assert_eq!(
        (&meta["Latest"], &meta["Reason"], &meta["Attempts"]),
        (&"READY".into(), &"451 busy".into(), &1.into())
    );
    assert!(meta["NextAttemptAt"].as_str().is_some(), "{meta}");
    assert!(seen.get("PROCESSING").is_none(), "what was left is gone: {seen}");
    assert_eq!(seen["READY"]["Attributes"]["Reason"], "451 busy");

    // The worker is gone: another one reclaims the row, and the state can be reached again.
    fixture
        .boto3(
            "
table.update_item(Key=dict(Id='e-1', Status='_META'), UpdateExpression='REMOVE Attributes.NextAttemptAt')
",
        )
        .await;
    assert_eq!(claim(&send, 1).await.len(), 1);
    let program = "
table.update_item(Key=dict(Id='e-1', Status='_META'), UpdateExpression='SET Attributes.UpdatedAt = :old',
                  ExpressionAttributeValues={':old': '2026-01-01T00:00:00Z'})
";
    fixture.boto3(program).await;
    assert_eq!(send.reclaim(10).await.unwrap(), Reclaimed { retried: 0, dead: 0, free: 1 });
    let seen = fixture.boto3("answer(all('e-1'))").await;
    assert_eq!(seen["_META"]["Attributes"]["Attempts"], 1, "it was held, and never begun");
    assert!(seen.get("PROCESSING").is_none());
    assert_eq!(claim(&send, 1).await.len(), 1, "and it is claimed again");
}
