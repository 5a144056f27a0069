//! Tests connections that are cut after the service has executed a request and before it answers.

use postrider_seams::{Lease, Store as _};
use postrider_services::{LostAnswer, Proxy};
use postrider_store_dynamodb::Database;

use crate::fixtures::{Fixture, claim};

#[tokio::test(flavor = "multi_thread")]
async fn g2_a_claim_with_a_lost_answer_is_repeated_and_costs_nothing() {
    let fixture = Fixture::new().await;
    fixture.boto3("for n in range(5): put(f'e-{n}', 'ACCEPTED')").await;
    let endpoint = fixture.settings.endpoint.clone().expect("an emulator");
    let behind = endpoint.trim_start_matches("http://").trim_end_matches('/');
    let proxy = Proxy::start(behind.parse().expect("an address")).expect("a proxy");
    let mut settings = fixture.settings.clone();
    settings.endpoint = Some(format!("http://{}", proxy.address()));
    let store = Database::connect(&settings).open(fixture.contract.clone(), "intake", "test").await.unwrap();

    proxy.lose_answers(LostAnswer::To(b"ExecuteTransaction"), 2);
    let claimed = claim(&store, 25).await;
    assert_eq!(proxy.answers_to_lose(), 0);
    // An emulator without request tokens refuses the repetition: these rows are not held, and are released.
    let held: Vec<Lease> = claimed.iter().map(|row| row.lease.clone()).collect();
    let released = store.release_lost_claims(&held).await.unwrap();
    assert_eq!(held.len() as u64 + released, 5, "{released} released");
    assert_eq!(claim(&store, 25).await.len() as u64, released, "what was released can be claimed at once");
    let seen = fixture.boto3("answer([all(f'e-{n}') for n in range(5)])").await;
    for one in seen.as_array().expect("five") {
        let meta = &one["_META"]["Attributes"];
        assert_eq!(meta["Latest"], "INTAKING", "{meta}");
        assert_eq!(meta["Attempts"].as_i64().unwrap_or(0), 0, "{meta}");
    }
}
