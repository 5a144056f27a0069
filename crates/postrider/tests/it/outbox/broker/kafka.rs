//! Kafka: creates a topic and reads its records.

use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Headers as _, Message as _};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use super::Seen;

const PARTITIONS: i32 = 3;

fn config(url: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    let servers = url.strip_prefix("kafka://").expect("a Kafka URL");
    config.set("bootstrap.servers", servers.split('?').next().unwrap_or(servers));
    config
}

pub async fn make(url: &str, topic: &str) {
    let admin: AdminClient<DefaultClientContext> = config(url).create().unwrap();
    let topic = NewTopic::new(topic, PARTITIONS, TopicReplication::Fixed(1));
    admin.create_topics([&topic], &AdminOptions::new()).await.unwrap()[0].as_ref().unwrap();
}

pub fn read(url: &str, topic: &str, count: usize) -> Vec<Seen> {
    let consumer: BaseConsumer = config(url).set("group.id", "reader").create().unwrap();
    let mut all = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        all.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
    }
    consumer.assign(&all).unwrap();
    let until = Instant::now() + Duration::from_mins(1);
    let mut seen = Vec::new();
    while seen.len() < count {
        assert!(Instant::now() < until, "{} of {count} came from {topic}", seen.len());
        let Some(Ok(message)) = consumer.poll(Duration::from_millis(200)) else { continue };
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let headers = message.headers().unwrap();
        let headers =
            headers.iter().map(|header| (header.key.to_owned(), text(header.value.unwrap()))).collect();
        let payload = message.payload().unwrap_or_default().to_vec();
        seen.push(Seen { key: message.key().map(text), payload, headers });
    }
    seen
}
