//! Tests of brokers that go down, come back, or hang.

use std::sync::atomic::Ordering;
use std::time::Duration;

use postrider_seams::{Outcome, Transport as _, transport};
use postrider_transport_kafka::{Kafka, Settings};
use rdkafka::mocking::MockCluster;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use tokio::time::Instant;

use crate::mock_cluster::{self, Cluster, PARTITIONS, cluster, kafka};
use crate::world::*;

#[tokio::test]
async fn o10_delivered_records_can_be_read_in_order() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = kafka(&cluster);
    kafka.probe().await.unwrap();
    let outcomes = send(&kafka, &numbered(&topic, 7, 0..500)).await;
    all_delivered(&outcomes);
    assert!(delivered(&outcomes[0]).id.as_deref().unwrap().starts_with(&format!("{topic}/")));
    let seen = mock_cluster::seen(&cluster.bootstrap_servers(), &topic, PARTITIONS, 500);
    assert_eq!(in_order(&seen, 500), 0, "nothing came twice");
}

#[tokio::test]
async fn o09_a_record_arrives_to_the_byte() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let payload = vec![0, 0xff, b'\n', 0];
    let batch = [record(&topic, Some("schlüssel"), payload.clone(), "d-1"), record(&topic, None, "", "d-2")];
    all_delivered(&send(&kafka(&cluster), &batch).await);
    let mut found = Vec::new();
    mock_cluster::read(&cluster.bootstrap_servers(), &topic, PARTITIONS, |message| {
        use rdkafka::message::Message as _;
        found.push((
            message.key().map(<[u8]>::to_vec),
            message.payload().unwrap_or(b"").to_vec(),
            mock_cluster::headers(message),
        ));
        found.len() < 2
    });
    found.sort();
    let headers = |id: &str| {
        [("id", id), ("idempotency-key", id), ("attempt", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()
    };
    assert_eq!(found[0], (None, Vec::new(), headers("d-2")));
    assert_eq!(found[1], (Some("schlüssel".as_bytes().to_vec()), payload, headers("d-1")));
}

#[tokio::test]
async fn o10_starting_while_the_broker_is_down_works_and_is_reported() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    cluster.broker_down(1).unwrap();
    let kafka = kafka(&cluster);
    let error = kafka.probe().await.unwrap_err();
    assert!(matches!(error, transport::Error::Unreachable(_)), "{error:?}");
    let outcomes = send_by(&kafka, &numbered(&topic, 2, 0..20), within(4.0)).await;
    for outcome in &outcomes {
        assert!(retryable(outcome).unreachable, "{outcome:?}");
    }
    cluster.broker_up(1).unwrap();
    send_until_delivered(&kafka, &numbered(&topic, 2, 0..20)).await;
    kafka.probe().await.unwrap();
    let seen = mock_cluster::seen(&cluster.bootstrap_servers(), &topic, PARTITIONS, 20);
    assert_eq!(in_order(&seen, 20), 0, "what was called not sent was not sent");
}

#[tokio::test]
async fn o10_a_short_outage_is_survived_within_a_call() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = kafka(&cluster);
    all_delivered(&send(&kafka, &numbered(&topic, 5, 0..50)).await);
    cluster.broker_down(1).unwrap();
    let back = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cluster.broker_up(1).unwrap();
    };
    let batch = numbered(&topic, 5, 50..100);
    let (outcomes, ()) = tokio::join!(send(&kafka, &batch), back);
    all_delivered(&outcomes);
    let seen = mock_cluster::seen(&cluster.bootstrap_servers(), &topic, PARTITIONS, 100);
    assert_eq!(in_order(&seen, 100), 0);
}

#[tokio::test]
async fn o10_the_transport_recovers_from_a_long_outage() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = kafka(&cluster);
    all_delivered(&send(&kafka, &numbered(&topic, 5, 0..50)).await);
    cluster.broker_down(1).unwrap();
    let outcomes = send_by(&kafka, &numbered(&topic, 5, 50..100), within(4.0)).await;
    assert!(outcomes.iter().all(|outcome| !matches!(outcome, Outcome::Delivered(_) | Outcome::Rejected(_))));
    cluster.broker_up(1).unwrap();
    send_until_delivered(&kafka, &numbered(&topic, 5, 50..100)).await;
    in_order(&mock_cluster::seen(&cluster.bootstrap_servers(), &topic, PARTITIONS, 100), 100);
}

#[tokio::test]
async fn a_silent_broker_makes_records_uncertain_by_the_deadline() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = kafka(&cluster);
    all_delivered(&send(&kafka, &numbered(&topic, 1, 0..1)).await);
    cluster.broker_round_trip_time(1, Duration::from_secs(20)).unwrap();
    let start = Instant::now();
    let outcomes = send_by(&kafka, &numbered(&topic, 1, 1..10), within(1.5)).await;
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(outcomes.iter().all(|outcome| !matches!(outcome, Outcome::Delivered(_))));
    uncertain(&outcomes[0]);
}

#[tokio::test]
async fn a_connection_cut_while_records_are_under_way_makes_no_duplicate() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = kafka(&cluster);
    all_delivered(&send(&kafka, &numbered(&topic, 3, 0..30)).await);
    let cut = RDKafkaRespErr::RD_KAFKA_RESP_ERR__TRANSPORT;
    cluster.request_errors(RDKafkaApiKey::Produce, &[cut, cut]);
    all_delivered(&send(&kafka, &numbered(&topic, 3, 30..60)).await);
    let seen = mock_cluster::seen(&cluster.bootstrap_servers(), &topic, PARTITIONS, 60);
    assert_eq!(in_order(&seen, 60), 0, "the producer is idempotent");
}

#[tokio::test]
async fn a_full_local_queue_is_waited_for() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = with_queue_of_ten(&cluster);
    let (one, two) = (numbered(&topic, 1, 0..200), numbered(&topic, 1, 200..400));
    let (first, second) = tokio::join!(send(&kafka, &one), send(&kafka, &two));
    all_delivered(&first);
    all_delivered(&second);
}

/// What never left this process costs no attempt, whatever becomes of the broker.
#[tokio::test]
async fn o02_a_hung_broker_defers_the_records_for_which_the_local_queue_has_no_room() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = with_queue_of_ten(&cluster);
    all_delivered(&send(&kafka, &numbered(&topic, 1, 0..1)).await);
    cluster.broker_round_trip_time(1, Duration::from_secs(20)).unwrap();
    let outcomes = send_by(&kafka, &numbered(&topic, 1, 1..31), within(1.5)).await;
    for outcome in &outcomes[..10] {
        assert!(matches!(outcome, Outcome::Uncertain(_) | Outcome::Deferred(_)), "{outcome:?}");
    }
    for outcome in &outcomes[10..] {
        assert!(deferred(outcome).reason.contains("the local queue stayed full"), "{outcome:?}");
    }
}

#[tokio::test]
async fn g02_a_record_that_loses_its_lease_while_the_local_queue_is_full_is_not_sent() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = with_queue_of_ten(&cluster);
    all_delivered(&send(&kafka, &numbered(&topic, 1, 0..1)).await);
    cluster.broker_round_trip_time(1, Duration::from_secs(2)).unwrap();
    let (lease, lost) = losable_lease();
    let mut batch = numbered(&topic, 1, 1..12);
    batch[10].lease = lease;
    let losing = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        lost.store(true, Ordering::SeqCst);
    };
    let (outcomes, ()) = tokio::join!(send(&kafka, &batch), losing);
    all_delivered(&outcomes[..10]);
    assert!(deferred(&outcomes[10]).reason.contains("lease"), "{outcomes:?}");
}

#[tokio::test]
async fn o02_an_acknowledged_record_is_reported_while_another_broker_does_not_answer() {
    let (silent, answers) = (unique("silent"), unique("deals"));
    let cluster = MockCluster::new(2).unwrap();
    for (topic, broker) in [(&answers, 1), (&silent, 2)] {
        cluster.create_topic(topic, 1, 1).unwrap();
        cluster.partition_leader(topic, 0, Some(broker)).unwrap();
    }
    let kafka = kafka(&cluster);
    all_delivered(&send(&kafka, &[record(&silent, None, "1", "1"), record(&answers, None, "2", "2")]).await);
    cluster.broker_round_trip_time(2, Duration::from_secs(20)).unwrap();
    let batch = [record(&silent, None, "3", "3"), record(&answers, None, "4", "4")];
    reports_early(&kafka, batch, 1, || ()).await;
}

/// The request of both is refused; then each has its own request, and the second one's is never accepted.
#[tokio::test]
async fn o02_a_record_that_is_accepted_alone_is_reported_while_the_next_one_waits() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = kafka(&cluster);
    all_delivered(&send(&kafka, &numbered(&topic, 1, 0..1)).await);
    let large = RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    let accepted = RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;
    let mut errors = vec![RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS; 1000];
    errors[..2].copy_from_slice(&[large, accepted]);
    cluster.request_errors(RDKafkaApiKey::Produce, &errors);
    let batch = [record(&topic, Some("k"), "1", "1"), record(&topic, Some("k"), "2", "2")];
    reports_early(&kafka, batch, 0, || ()).await;
}

fn with_queue_of_ten(cluster: &Cluster) -> Kafka {
    let servers = cluster.bootstrap_servers();
    Kafka::new(Settings { queue: 10, batch: 10, ..mock_cluster::settings(&servers) }).unwrap()
}
