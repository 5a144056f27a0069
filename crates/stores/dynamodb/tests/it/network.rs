//! Tests network failures: connections whose peer disappeared, and connections that are cut.

use std::sync::Arc;
use std::time::{Duration, Instant};

use postrider_contract::Transition;
use postrider_seams::store::{Class, LeaseResult, Settlement};
use postrider_seams::{ClaimedRow, Store as _};
use postrider_services::{NewConnections, Proxy};
use postrider_store_dynamodb::{Database, DynamoStore};

use crate::fixtures::{Fixture, claim, ids};

/// Time limit within which the store works again after its connections were lost.
const GOES_ON: Duration = Duration::from_secs(10);

/// Opens a store that connects through a proxy.
async fn open(fixture: &Fixture) -> (Proxy, Database, Arc<DynamoStore>) {
    let endpoint = fixture.settings.endpoint.clone().unwrap();
    let behind = endpoint.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
    let proxy = Proxy::start(behind).unwrap();
    let mut settings = fixture.settings.clone();
    settings.endpoint = Some(format!("http://{}", proxy.address()));
    let database = Database::connect(&settings);
    let store = database.open(fixture.contract.clone(), "intake", "test").await.unwrap();
    (proxy, database, store)
}

/// Claims until the store answers; every failure must be transient.
async fn claimed_again(store: &DynamoStore) -> Vec<ClaimedRow> {
    loop {
        match store.claim(25).await {
            Ok(rows) => return rows,
            Err(error) => assert_eq!(error.class, Class::Transient, "{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_open_connections_are_dropped_and_the_store_goes_on() {
    let fixture = Fixture::new().await;
    let (proxy, _, store) = open(&fixture).await;
    proxy.delay(Duration::from_millis(100));
    let several = [(); 6].map(|()| store.claim(25));
    futures::future::join_all(several).await;
    proxy.delay(Duration::ZERO);
    // By now the proxy would have closed connections that are not kept.
    fixture.boto3("put('e-1', 'ACCEPTED')").await;
    assert!(proxy.open() >= 4, "several connections are kept: {}", proxy.open());
    proxy.freeze();
    let lost = Instant::now();
    assert_eq!(ids(&claimed_again(&store).await), ["e-1"]);
    assert!(lost.elapsed() > Duration::from_secs(1), "the connections were half-open: {:?}", lost.elapsed());
    assert!(lost.elapsed() < GOES_ON, "none of the others is tried: {:?}", lost.elapsed());

    // New connections get no answer either, for a while.
    fixture.boto3("put('e-2', 'ACCEPTED')").await;
    proxy.black_hole();
    let error = store.claim(25).await.unwrap_err();
    assert_eq!(error.class, Class::Transient, "{error}");
    proxy.new_connections(NewConnections::Forward);
    let back = Instant::now();
    assert_eq!(ids(&claimed_again(&store).await), ["e-2"]);
    assert!(back.elapsed() < GOES_ON, "{:?}", back.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_connection_was_cut_is_repeated_under_its_token() {
    let fixture = Fixture::new().await;
    fixture.boto3("put('e-1', 'ACCEPTED')").await;
    let (proxy, database, store) = open(&fixture).await;
    let claimed = claim(&store, 25).await;
    let settlement =
        Settlement { transition: Transition::Delivered, ..Settlement::released(claimed[0].lease.clone()) };
    let writes = database.usage().writes;
    proxy.delay(Duration::from_millis(500));
    let cut = async {
        tokio::time::sleep(Duration::from_millis(250)).await;
        proxy.cut();
        proxy.delay(Duration::ZERO);
    };
    let moves = [settlement];
    let (settled, ()) = tokio::join!(store.settle(&moves), cut);
    assert_eq!(settled.unwrap(), [LeaseResult::Held]);
    assert_eq!(database.usage().writes, writes + 2, "the same write, once more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_refuses_connections_is_reported_at_once() {
    let fixture = Fixture::new().await;
    fixture.boto3("put('e-1', 'ACCEPTED')").await;
    let (proxy, _, store) = open(&fixture).await;
    let claimed = claim(&store, 25).await;
    let settlement =
        Settlement { transition: Transition::Delivered, ..Settlement::released(claimed[0].lease.clone()) };
    proxy.new_connections(NewConnections::Refuse);
    proxy.cut();
    let begun = Instant::now();
    let error = store.settle(&[settlement]).await.unwrap_err();
    assert_eq!(error.class, Class::Transient, "{error}");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}
