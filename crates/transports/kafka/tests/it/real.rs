//! A real broker.

use postrider_seams::Transport as _;
use postrider_services::Tansu;
use postrider_transport_kafka::Kafka;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

use crate::mock;
use crate::world::*;

/// The one that the environment names, or one of our own.
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
async fn o10_a_real_broker_has_what_was_delivered_in_order() {
    let (_tansu, url) = broker();
    let servers = url.strip_prefix("kafka://").unwrap();
    let topic = unique("deals");
    create(servers, &topic, 4).await;
    let kafka = Kafka::from_url(&format!("{url}?compression=lz4"), &[]).unwrap();
    kafka.probe().await.unwrap();
    for part in [0..300, 300..600] {
        all_delivered(&send(&kafka, &numbered(&topic, 9, part)).await);
    }
    let seen = mock::seen(servers, &topic, 4, 600);
    assert_eq!(in_order(&seen, 600), 0);
}
