//! A mock cluster, transports to it, and an independent consumer.

use std::time::{Duration, Instant};

use postrider_transport_kafka::{Kafka, Settings};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{BorrowedMessage, Headers as _, Message as _};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::world::Seen;

pub type Cluster = MockCluster<'static, DefaultProducerContext>;

pub const PARTITIONS: i32 = 3;

pub fn cluster(topic: &str) -> Cluster {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic(topic, PARTITIONS, 1).unwrap();
    cluster
}

pub fn settings(servers: &str) -> Settings {
    Settings::from_url(&format!("kafka://{servers}?timeout=3s"), &[]).unwrap()
}

pub fn kafka(cluster: &Cluster) -> Kafka {
    Kafka::new(settings(&cluster.bootstrap_servers())).unwrap()
}

/// Reads a topic from its beginning until `each` returns true or no more records come.
pub fn read(servers: &str, topic: &str, partitions: i32, mut each: impl FnMut(&BorrowedMessage<'_>) -> bool) {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", servers)
        .set("group.id", "reader")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    let mut all = TopicPartitionList::new();
    for partition in 0..partitions {
        all.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
    }
    consumer.assign(&all).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        if let Some(Ok(message)) = consumer.poll(Duration::from_millis(200))
            && !each(&message)
        {
            return;
        }
    }
    panic!("not everything came in time");
}

/// Returns keys and numbers of a topic, once every number of `0..numbers` was seen.
pub fn seen(servers: &str, topic: &str, partitions: i32, numbers: usize) -> Seen {
    let mut seen = Seen::new();
    let mut known = std::collections::HashSet::new();
    read(servers, topic, partitions, |message| {
        let number: usize = std::str::from_utf8(message.payload().unwrap()).unwrap().parse().unwrap();
        seen.push((String::from_utf8(message.key().unwrap().to_vec()).unwrap(), number));
        known.insert(number);
        known.len() < numbers
    });
    seen
}

pub fn headers(message: &BorrowedMessage<'_>) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let headers = message.headers().unwrap();
    headers.iter().map(|header| (header.key.to_owned(), text(header.value.unwrap()))).collect()
}
