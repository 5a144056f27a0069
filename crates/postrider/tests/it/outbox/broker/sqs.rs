//! SQS: creates a queue and reads its messages.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, QueueAttributeName};
use base64::Engine as _;

use super::Seen;

async fn client(url: &str) -> Client {
    let endpoint = url.split_once("endpoint=").expect("a local endpoint").1;
    let keys = aws_sdk_sqs::config::Credentials::new("test", "test", None, None, "test");
    let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(aws_config::Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(keys);
    Client::new(&config.load().await)
}

pub async fn make(url: &str, topic: &str) {
    let client = client(url).await;
    let mut queue = client.create_queue().queue_name(topic);
    if topic.strip_suffix(".fifo").is_some() {
        queue = queue.attributes(QueueAttributeName::FifoQueue, "true");
    }
    queue.send().await.unwrap();
}

/// Reads the records and removes them from the queue.
pub async fn read(url: &str, topic: &str, count: usize) -> Vec<Seen> {
    let client = client(url).await;
    let queue = client.get_queue_url().queue_name(topic).send().await.unwrap();
    let queue = queue.queue_url().unwrap();
    let until = Instant::now() + Duration::from_mins(1);
    let mut seen = Vec::new();
    while seen.len() < count {
        assert!(Instant::now() < until, "{} of {count} came from {topic}", seen.len());
        let asked = client.receive_message().queue_url(queue).max_number_of_messages(10);
        let received = asked.message_attribute_names("All").wait_time_seconds(1).send().await.unwrap();
        for message in received.messages() {
            let handle = message.receipt_handle().unwrap();
            client.delete_message().queue_url(queue).receipt_handle(handle).send().await.unwrap();
            seen.push(seen_in(message));
        }
    }
    seen
}

fn seen_in(message: &Message) -> Seen {
    let attributes = message.message_attributes().cloned().unwrap_or_default().into_iter();
    let mut headers: BTreeMap<String, String> =
        attributes.map(|(name, value)| (name, value.string_value().unwrap_or_default().to_owned())).collect();
    // If there are too many headers, one attribute holds them all.
    if let Some(all) = headers.remove("headers") {
        headers = serde_json::from_str(&all).unwrap();
    }
    let body = message.body().unwrap_or_default();
    let payload = match headers.remove("payload-encoding").as_deref() {
        Some("base64") => base64::engine::general_purpose::STANDARD.decode(body).unwrap(),
        _ => body.as_bytes().to_vec(),
    };
    Seen::new(payload, headers)
}
