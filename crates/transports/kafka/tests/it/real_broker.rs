//! Tests against a real broker.

use postrider_seams::Transport as _;
use postrider_services::Tansu;
use postrider_transport_kafka::Kafka;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

use crate::mock_cluster;
use crate::world::*;

/// Returns the broker that the environment names, or starts one.
fn broker() -> (Option<Tansu>, String) {
    if let Ok(url) = std::env::var("POSTRIDER_TEST_KAFKA") {
        return (None, url);
    }
    let tansu = Tansu::start().unwrap();
    let url = tansu.url();
    (Some(tansu), url)
}

async fn create(servers: &str, topic: &str, partitions: i32) {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", servers).create().unwrap();
    let topic = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
    let made = admin.create_topics([&topic], &AdminOptions::new()).await.unwrap();
    made[0].as_ref().unwrap();
}

#[tokio::test]
async fn o10_a_real_broker_has_the_delivered_records_in_order() {
    let (_tansu, url) = broker();
    let servers = url.strip_prefix("kafka://").unwrap();
    let topic = unique("deals");
    create(servers, &topic, 4).await;
    let kafka = Kafka::from_url(&format!("{url}?compression=lz4"), &[]).unwrap();
    kafka.probe().await.unwrap();
    for part in [0..300, 300..600] {
        all_delivered(&send(&kafka, &numbered(&topic, 9, part)).await);
    }
    let seen = mock_cluster::seen(servers, &topic, 4, 600);
    assert_eq!(in_order(&seen, 600), 0);
}

#[tokio::test]
async fn the_bundled_library_has_tls_scram_and_every_compression() {
    for sasl in ["plain", "scram-sha-256", "scram-sha-512"] {
        for compression in ["none", "gzip", "snappy", "lz4", "zstd"] {
            let url = format!("kafkas://me:secret@127.0.0.1:1?sasl={sasl}&compression={compression}");
            if let Err(error) = Kafka::from_url(&url, &[]) {
                panic!("{sasl}, {compression}: {error}");
            }
        }
    }
    let missing = Kafka::from_url("kafkas://127.0.0.1:1?ca_file=/no/such/file.pem", &[]);
    let error = missing.err().expect("a file that is not there").to_string();
    assert!(error.contains("ssl.ca.location"), "{error}");
}
