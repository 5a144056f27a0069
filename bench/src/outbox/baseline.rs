//! The baseline: the client library alone with the transport's settings. It publishes the same records from memory,
//! each acknowledged, with as many in flight as the transport allows.

use std::collections::VecDeque;
use std::future::IntoFuture as _;

use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::message::PublishMessage;
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use tokio::time::Instant;

use super::broker::{Broker, PAYLOAD, TOPIC, servers};
use crate::lane::rate;

/// Records in flight: concurrent calls times the records of each.
const KAFKA_WINDOW: usize = 8 * 500;
const NATS_WINDOW: usize = 4 * 500;

/// Publishes `rows` records; returns records per second.
pub async fn run(broker: &Broker, rows: u64) -> f64 {
    let started = Instant::now();
    match broker {
        Broker::Kafka { url } => kafka(servers(url), rows).await,
        Broker::Nats { url } => nats(url, rows).await,
    }
    rate(rows, started.elapsed())
}

async fn kafka(servers: &str, rows: u64) {
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", servers)
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("max.in.flight.requests.per.connection", "5")
        .set("linger.ms", "2")
        .set("socket.nagle.disable", "true")
        .set("partitioner", "murmur2_random")
        .create()
        .expect("a producer");
    let payload = "x".repeat(PAYLOAD);
    let mut waiting = VecDeque::with_capacity(KAFKA_WINDOW);
    for row in 1..=rows {
        if waiting.len() == KAFKA_WINDOW {
            acknowledged(waiting.pop_front()).await;
        }
        let (id, dedupe, key) = (row.to_string(), format!("row-{row}"), format!("key-{}", row % 1000));
        let header = |key, value| Header { key, value: Some(value) };
        let headers = OwnedHeaders::new()
            .insert(header("id", id.as_str()))
            .insert(header("idempotency-key", dedupe.as_str()))
            .insert(header("attempt", "1"));
        let record = FutureRecord::to(TOPIC).key(&key).payload(&payload).headers(headers);
        waiting.push_back(producer.send_result(record).map_err(|(error, _)| error).expect("queued"));
    }
    while !waiting.is_empty() {
        acknowledged(waiting.pop_front()).await;
    }
}

async fn acknowledged(waiting: Option<rdkafka::producer::DeliveryFuture>) {
    if let Some(waiting) = waiting {
        waiting.await.expect("the producer lives").expect("acknowledged");
    }
}

async fn nats(url: &str, rows: u64) {
    let client = async_nats::connect(url).await.expect("NATS answers");
    let context =
        ContextBuilder::new().max_ack_inflight(NATS_WINDOW * 2).backpressure_on_inflight(true).build(client);
    let payload = bytes::Bytes::from("x".repeat(PAYLOAD));
    let mut waiting = VecDeque::with_capacity(NATS_WINDOW);
    for row in 1..=rows {
        if waiting.len() == NATS_WINDOW
            && let Some(ack) = waiting.pop_front()
        {
            let ack: async_nats::jetstream::context::PublishAckFuture = ack;
            ack.into_future().await.expect("acknowledged");
        }
        let dedupe = format!("row-{row}");
        let message = PublishMessage::build()
            .payload(payload.clone())
            .header("id", row.to_string())
            .header("idempotency-key", dedupe.as_str())
            .header("attempt", "1")
            .header("key", format!("key-{}", row % 1000))
            .message_id(&dedupe);
        waiting.push_back(context.send_publish(TOPIC, message).await.expect("sent"));
    }
    for ack in waiting {
        ack.into_future().await.expect("acknowledged");
    }
}
