#[path = "../../../broker/testing/world.rs"]
mod world;
use futures::StreamExt;
use postrider_seams::Transport as _;
use std::time::Instant;
use world::*;
#[tokio::main]
async fn main() {
    let server = tokio::task::spawn_blocking(|| postrider_services::RabbitMq::start("").unwrap()).await.unwrap();
    let connection = lapin::Connection::connect(&server.url(), Default::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(Default::default()).await.unwrap();
    let durable = lapin::options::QueueDeclareOptions { durable: true, ..Default::default() };
    channel.queue_declare("t".into(), durable, Default::default()).await.unwrap();
    for _ in 0..2 {
        for concurrency in [1usize, 4] {
            let amqp = postrider_transport_amqp::Amqp::from_url(&server.url(), &[]).unwrap();
            let batches: Vec<_> = (0..40).map(|b| { let mut v = numbered("t", 50, b * 500..(b + 1) * 500); for e in &mut v { if let postrider_seams::Content::Record(r) = &mut e.content { r.payload = vec![b'x'; 200].into(); } } v }).collect();
            amqp.probe().await.unwrap();
            let start = Instant::now();
            futures::stream::iter(&batches).map(|b| amqp.deliver(b, within(60.0))).buffer_unordered(concurrency).for_each(|o| { all_delivered(&o); async {} }).await;
            println!("amqp ours c{concurrency}: {:.0}/s", 20_000.0 / start.elapsed().as_secs_f64());
        }
        let start = Instant::now();
        let payload = vec![b'x'; 200];
        for _ in 0..40 {
            let mut confirms = Vec::new();
            for _ in 0..500 {
                let p = lapin::BasicProperties::default().with_delivery_mode(2);
                confirms.push(channel.basic_publish("".into(), "t".into(), lapin::options::BasicPublishOptions { mandatory: true, immediate: false }, &payload, p).await.unwrap());
            }
            for c in confirms { assert!(c.await.unwrap().is_ack()); }
        }
        println!("amqp bare, one channel, batches of 500: {:.0}/s", 20_000.0 / start.elapsed().as_secs_f64());
    }
}
