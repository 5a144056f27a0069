//! Tests connections that are cut after the service has executed a request and before it answers.

use std::sync::Arc;

use postrider_contract::Transition;
use postrider_seams::store::{Class, LeaseResult, Settlement};
use postrider_seams::{Lease, Store as _};
use postrider_services::{LostAnswer, NewConnections, Proxy};
use postrider_store_dynamodb::{Database, DynamoStore};

use crate::fixtures::{Fixture, claim};

/// Opens a store that connects through a proxy, with one request at a time and so one connection.
async fn open(fixture: &Fixture) -> (Proxy, Arc<DynamoStore>) {
    let endpoint = fixture.settings.endpoint.clone().expect("an emulator");
    let behind = endpoint.trim_start_matches("http://").trim_end_matches('/');
    let proxy = Proxy::start(behind.parse().expect("an address")).expect("a proxy");
    let mut settings = fixture.settings.clone();
    settings.endpoint = Some(format!("http://{}", proxy.address()));
    settings.requests = 1;
    let store = Database::connect(&settings).open(fixture.contract.clone(), "intake", "test").await.unwrap();
    (proxy, store)
}

fn delivered(lease: &Lease) -> Settlement {
    Settlement { transition: Transition::Delivered, ..Settlement::released(lease.clone()) }
}

#[tokio::test(flavor = "multi_thread")]
async fn g02_a_claim_with_a_lost_answer_is_repeated_and_costs_nothing() {
    let fixture = Fixture::new().await;
    fixture.boto3("for n in range(5): put(f'e-{n}', 'ACCEPTED')").await;
    let (proxy, store) = open(&fixture).await;

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

#[tokio::test(flavor = "multi_thread")]
async fn g02_a_lost_answer_to_an_extension_loses_no_lease() {
    let fixture = Fixture::new().await;
    fixture.boto3("for n in range(3): put(f'e-{n}', 'ACCEPTED')").await;
    let (proxy, store) = open(&fixture).await;
    let leases: Vec<Lease> = claim(&store, 25).await.into_iter().map(|row| row.lease).collect();
    assert_eq!(leases.len(), 3);

    // The service is away before the repetition: the whole call fails.
    proxy.lose_answers(LostAnswer::To(b"ExecuteTransaction"), 1);
    proxy.new_connections(NewConnections::Refuse);
    let error = store.extend(&leases[..1]).await.unwrap_err();
    assert_eq!((error.class, proxy.answers_to_lose()), (Class::Transient, 0), "{error}");
    let error = store.extend(&leases).await.unwrap_err();
    assert_eq!(error.class, Class::Transient, "{error}");
    proxy.new_connections(NewConnections::Forward);
    assert_eq!(store.begin(&leases, &[]).await.unwrap(), [LeaseResult::Held; 3]);
    assert_eq!(
        store.settle(&[delivered(&leases[0])]).await.unwrap(),
        [LeaseResult::Held],
        "it was sent once"
    );
    assert_eq!(
        store.settle(&[delivered(&leases[0])]).await.unwrap(),
        [LeaseResult::Lost],
        "and is settled once"
    );

    // The repetition finds what the first request wrote.
    proxy.lose_answers(LostAnswer::To(b"ExecuteTransaction"), 1);
    let extended: Vec<Lease> = store.extend(&leases[1..]).await.unwrap().into_iter().flatten().collect();
    assert_eq!((extended.len(), proxy.answers_to_lose()), (2, 0));
    let moves: Vec<Settlement> = extended.iter().map(delivered).collect();
    assert_eq!(store.settle(&moves).await.unwrap(), [LeaseResult::Held; 2]);
    assert!(claim(&store, 25).await.is_empty(), "no row is left to be handled again");
}

#[tokio::test(flavor = "multi_thread")]
async fn g02_an_extension_that_fails_for_one_row_loses_no_other() {
    let fixture = Fixture::new().await;
    fixture.boto3("for n in range(3): put(f'e-{n}', 'ACCEPTED')").await;
    let (proxy, store) = open(&fixture).await;
    let mut leases: Vec<Lease> = claim(&store, 25).await.into_iter().map(|row| row.lease).collect();
    leases.sort_by(|a, b| a.id.cmp(&b.id));
    // The answer to the second one is lost, and no connection can be opened for the third.
    proxy.lose_answers(LostAnswer::To(b"e-1"), 1);
    proxy.new_connections(NewConnections::Refuse);
    store.extend(&leases).await.unwrap_err();
    assert_eq!(proxy.answers_to_lose(), 0);
    proxy.new_connections(NewConnections::Forward);
    // Another worker takes one of them over meanwhile.
    let taken_over = "item = table.get_item(Key=dict(Id='e-2', Status='_META'))['Item']\n\
                      item['Attributes']['UpdatedAt'] = '2030-01-01T00:00:00Z'\n\
                      table.put_item(Item=item)";
    fixture.boto3(taken_over).await;
    let moves: Vec<Settlement> = leases.iter().map(delivered).collect();
    assert_eq!(
        store.settle(&moves).await.unwrap(),
        [LeaseResult::Held, LeaseResult::Held, LeaseResult::Lost]
    );
}
