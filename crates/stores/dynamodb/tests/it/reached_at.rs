//! Tests the time at which an e-mail reached the state that a callback reports.

use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::row::REACHED;
use postrider_seams::store::{LeaseResult, Settlement};
use postrider_seams::{ClaimedRow, Inspect as _, Store as _, Value, inspect::SelectedRows};

use crate::fixtures::{Fixture, claim};

/// 2026-01-01T00:00:00Z in milliseconds, which is what `put` writes.
const WRITTEN: i64 = 1_767_225_600_000;

fn reached(claimed: &[ClaimedRow]) -> &Value {
    claimed[0].fields.as_ref().expect("small rows come with their fields").get(REACHED)
}

fn refused(claimed: &[ClaimedRow], transition: Transition) -> Settlement {
    Settlement {
        transition,
        reason: Some("500 from app.example".to_owned()),
        delay: Duration::ZERO,
        ..Settlement::released(claimed[0].lease.clone())
    }
}

#[tokio::test]
async fn e09_every_try_of_a_callback_reports_when_the_state_was_reached() {
    let fixture = Fixture::new().await;
    fixture.boto3("put('e-1', 'SENT')").await;
    let sent = fixture.open("sent_callback").await;
    for transition in [Transition::Retry, Transition::Released, Transition::Retry, Transition::Dead] {
        let claimed = claim(&sent, 1).await;
        assert_eq!(reached(&claimed), &Value::Int(WRITTEN), "before {transition:?}");
        let loaded = sent.load(&[claimed[0].lease.clone()]).await.unwrap();
        assert_eq!(loaded[0].as_ref().unwrap().get(REACHED), &Value::Int(WRITTEN));
        assert_eq!(sent.settle(&[refused(&claimed, transition)]).await.unwrap(), [LeaseResult::Held]);
        let seen = fixture.boto3("answer(all('e-1'))").await;
        assert_eq!(seen["_META"]["Attributes"]["Latest"], "SENT");
        assert_ne!(seen["SENT"]["Attributes"]["UpdatedAt"], "2026-01-01T00:00:00Z", "it was stepped back to");
    }
    assert!(claim(&sent, 1).await.is_empty(), "given up");
    assert_eq!(sent.requeue(&SelectedRows::Ids(vec!["e-1".to_owned()])).await.unwrap(), 1);
    let claimed = claim(&sent, 1).await;
    assert_eq!(reached(&claimed), &Value::Int(WRITTEN));
    let done =
        Settlement { transition: Transition::Delivered, ..Settlement::released(claimed[0].lease.clone()) };
    assert_eq!(sent.settle(&[done]).await.unwrap(), [LeaseResult::Held]);
    let seen = fixture.boto3("answer(all('e-1'))").await;
    assert_eq!(seen["_META"]["Attributes"]["Latest"], "SENT-ACKNOWLEDGED");
    assert!(seen["_META"]["Attributes"].get("ReachedAt").is_none(), "nothing is left to tell: {seen}");
}

#[tokio::test]
async fn e09_a_failure_of_our_own_send_is_reported_with_its_time() {
    let fixture = Fixture::new().await;
    fixture.boto3("put('e-1', 'READY')").await;
    let send = fixture.open("send").await;
    let claimed = claim(&send, 1).await;
    assert_eq!(send.settle(&[refused(&claimed, Transition::Rejected)]).await.unwrap(), [LeaseResult::Held]);
    let failed = fixture.open("failed_callback").await;
    let mut times = Vec::new();
    for _ in 0..2 {
        let claimed = claim(&failed, 1).await;
        times.push(reached(&claimed).clone());
        assert_eq!(
            failed.settle(&[refused(&claimed, Transition::Retry)]).await.unwrap(),
            [LeaseResult::Held]
        );
    }
    let seen = fixture.boto3("from datetime import datetime\nat = all('e-1')['_META']['Attributes']['ReachedAt']\nanswer(int(datetime.fromisoformat(at).timestamp()))").await;
    let Value::Int(millis) = times[0] else { panic!("{times:?}") };
    assert_eq!(times[1], times[0]);
    assert_eq!(millis.div_euclid(1000), seen.as_i64().unwrap(), "the record says it too");
    assert!(millis > WRITTEN, "when it failed, not when it was made");
}
