#[path = "../../../broker/testing/world.rs"]
mod world;
use postrider_seams::Transport as _;
use rdkafka::admin::*;
use rdkafka::client::DefaultClientContext;
use rdkafka::producer::*;
use std::time::{Duration, Instant};
use world::*;
#[tokio::main]
async fn main() {
    let tansu = postrider_services::Tansu::start().unwrap();
    let mock = rdkafka::mocking::MockCluster::new(1).unwrap();
    for servers in [mock.bootstrap_servers(), tansu.url().replace("kafka://", "")] {
        let admin: AdminClient<DefaultClientContext> =
            rdkafka::ClientConfig::new().set("bootstrap.servers", &servers).create().unwrap();
        let _ = admin
            .create_topics([&NewTopic::new("t", 4, TopicReplication::Fixed(1))], &AdminOptions::new())
            .await;
        for round in 0..2 {
            let kafka =
                postrider_transport_kafka::Kafka::from_url(&format!("kafka://{servers}"), &[]).unwrap();
            let batches: Vec<_> = (0..100)
                .map(|b| {
                    let mut v = numbered("t", 50, b * 500..(b + 1) * 500);
                    for e in &mut v {
                        if let postrider_seams::Content::Record(r) = &mut e.content {
                            r.payload = vec![b'x'; 200].into();
                        }
                    }
                    v
                })
                .collect();
            all_delivered(&kafka.deliver(&batches[0], within(10.0)).await);
            for concurrency in [1usize, 4] {
                let start = Instant::now();
                use futures::StreamExt;
                futures::stream::iter(&batches)
                    .map(|b| kafka.deliver(b, within(30.0)))
                    .buffer_unordered(concurrency)
                    .for_each(|o| {
                        all_delivered(&o);
                        async {}
                    })
                    .await;
                println!(
                    "{servers} ours {round} c{concurrency}: {:.0}/s",
                    50_000.0 / start.elapsed().as_secs_f64()
                );
            }
            let bare: FutureProducer = rdkafka::ClientConfig::new()
                .set("bootstrap.servers", &servers)
                .set("enable.idempotence", "true")
                .set("linger.ms", "2")
                .create()
                .unwrap();
            let payload = vec![b'x'; 200];
            let mut futures = Vec::new();
            for i in 0..2000 {
                futures.push(
                    bare.send_result(FutureRecord::to("t").key(&format!("key-{}", i % 50)).payload(&payload))
                        .unwrap(),
                );
            }
            for f in futures {
                f.await.unwrap().unwrap();
            }
            let start = Instant::now();
            let mut futures = Vec::new();
            for i in 0..50_000 {
                let key = format!("key-{}", i % 50);
                futures.push(bare.send_result(FutureRecord::to("t").key(&key).payload(&payload)).unwrap());
            }
            for f in futures {
                f.await.unwrap().unwrap();
            }
            println!("{servers} bare {round}: {:.0}/s", 50_000.0 / start.elapsed().as_secs_f64());
            let _ = Duration::ZERO;
        }
    }
}
