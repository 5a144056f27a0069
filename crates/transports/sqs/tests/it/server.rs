//! An SQS server, queues, and an independent consumer.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName, QueueAttributeName};
use postrider_services::Ministack;
use postrider_transport_sqs::Sqs;

/// Returns the server that the environment names, or one shared by all tests here.
pub async fn url() -> String {
    static SHARED: OnceLock<String> = OnceLock::new();
    let shared = || {
        std::env::var("POSTRIDER_TEST_SQS").unwrap_or_else(|_| {
            let server = Ministack::start().unwrap();
            let url = server.url();
            // Its guardian process stops it after this process ends.
            std::mem::forget(server);
            url
        })
    };
    tokio::task::spawn_blocking(move || SHARED.get_or_init(shared).clone()).await.unwrap()
}

pub fn sqs(url: &str) -> Sqs {
    Sqs::from_url(url, &[]).unwrap()
}

pub async fn client(url: &str) -> Client {
    let endpoint = url.split_once("endpoint=").unwrap().1;
    let keys = aws_sdk_sqs::config::Credentials::new("test", "test", None, None, "test");
    let http = aws_smithy_http_client::Builder::new().build_http();
    let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
        .http_client(http)
        .region(aws_config::Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(keys)
        .load()
        .await;
    Client::new(&config)
}

/// Creates a queue and returns its URL.
pub async fn create(client: &Client, name: &str) -> String {
    let mut queue = client.create_queue().queue_name(name);
    if name.strip_suffix(".fifo").is_some() {
        queue = queue.attributes(QueueAttributeName::FifoQueue, "true");
    }
    queue.send().await.unwrap().queue_url().unwrap().to_owned()
}

/// Consumes `count` messages of a queue; those of one group come in order.
pub async fn take(client: &Client, queue: &str, count: usize) -> Vec<Message> {
    let until = Instant::now() + Duration::from_secs(30);
    let mut taken = Vec::new();
    while taken.len() < count {
        assert!(Instant::now() < until, "{} of {count} came", taken.len());
        let received = client
            .receive_message()
            .queue_url(queue)
            .max_number_of_messages(10)
            .message_attribute_names("All")
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .send()
            .await
            .unwrap();
        for message in received.messages() {
            let handle = message.receipt_handle().unwrap();
            client.delete_message().queue_url(queue).receipt_handle(handle).send().await.unwrap();
            taken.push(message.clone());
        }
    }
    taken
}

pub fn attribute<'a>(message: &'a Message, name: &str) -> Option<&'a str> {
    message.message_attributes()?.get(name)?.string_value()
}
