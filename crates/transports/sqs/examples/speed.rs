#[path = "../../../broker/testing/world.rs"]
mod world;
use futures::StreamExt;
use postrider_seams::Transport as _;
use std::time::Instant;
use world::*;
#[tokio::main]
async fn main() {
    let server =
        tokio::task::spawn_blocking(|| postrider_services::Ministack::start().unwrap()).await.unwrap();
    let http = aws_smithy_http_client::Builder::new().build_http();
    let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
        .http_client(http)
        .region(aws_config::Region::new("us-east-1"))
        .endpoint_url(server.endpoint())
        .credentials_provider(aws_sdk_sqs::config::Credentials::new("test", "test", None, None, "test"))
        .load()
        .await;
    let client = aws_sdk_sqs::Client::new(&config);
    let queue = client.create_queue().queue_name("t").send().await.unwrap().queue_url().unwrap().to_owned();
    client
        .create_queue()
        .queue_name("t.fifo")
        .attributes(aws_sdk_sqs::types::QueueAttributeName::FifoQueue, "true")
        .send()
        .await
        .unwrap();
    for topic in ["t", "t.fifo"] {
        let sqs = postrider_transport_sqs::Sqs::from_url(&server.url(), &[]).unwrap();
        let batches: Vec<_> = (0..4).map(|b| numbered(topic, 50, b * 500..(b + 1) * 500)).collect();
        let start = Instant::now();
        futures::stream::iter(&batches)
            .map(|b| sqs.deliver(b, within(60.0)))
            .buffer_unordered(1)
            .for_each(|o| {
                all_delivered(&o);
                async {}
            })
            .await;
        println!("sqs ours {topic}: {:.0}/s", 2000.0 / start.elapsed().as_secs_f64());
    }
    let start = Instant::now();
    for chunk in 0..200 {
        let mut request = client.send_message_batch().queue_url(&queue);
        for i in 0..10 {
            request = request.entries(
                aws_sdk_sqs::types::SendMessageBatchRequestEntry::builder()
                    .id(format!("{i}"))
                    .message_body(format!("{chunk}-{i}"))
                    .build()
                    .unwrap(),
            );
        }
        request.send().await.unwrap();
    }
    println!("sqs bare, one request at a time: {:.0}/s", 2000.0 / start.elapsed().as_secs_f64());
}
