#[path = "../../../broker/testing/world.rs"]
mod world;
use futures::StreamExt;
use postrider_seams::Transport as _;
use std::time::Instant;
use world::*;
#[tokio::main]
async fn main() {
    let server = tokio::task::spawn_blocking(|| postrider_services::Nats::start("").unwrap()).await.unwrap();
    let js = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
    js.create_stream(async_nats::jetstream::stream::Config { name: "t".into(), subjects: vec!["t.>".into()], ..Default::default() }).await.unwrap();
    for round in 0..2 {
        for concurrency in [1usize, 4] {
            let nats = postrider_transport_nats::Nats::from_url(&server.url(), &[]).unwrap();
            let batches: Vec<_> = (0..40).map(|b| { let mut v = numbered("t.x", 50, b * 500..(b + 1) * 500); for e in &mut v { e.dedupe = format!("{round}-{concurrency}-{}", e.dedupe); if let postrider_seams::Content::Record(r) = &mut e.content { r.payload = vec![b'x'; 200].into(); } } v }).collect();
            nats.probe().await.unwrap();
            let start = Instant::now();
            futures::stream::iter(&batches).map(|b| nats.deliver(b, within(30.0))).buffer_unordered(concurrency).for_each(|o| { all_delivered(&o); async {} }).await;
            println!("nats ours c{concurrency}: {:.0}/s", 20_000.0 / start.elapsed().as_secs_f64());
        }
        let start = Instant::now();
        let payload = bytes::Bytes::from(vec![b'x'; 200]);
        for b in 0..40 {
            let mut acks = Vec::new();
            for i in 0..500 {
                let m = async_nats::jetstream::message::PublishMessage::build().payload(payload.clone()).message_id(format!("bare-{round}-{b}-{i}"));
                acks.push(js.send_publish("t.x", m).await.unwrap());
            }
            for a in acks { a.await.unwrap(); }
        }
        println!("nats bare, batches of 500: {:.0}/s", 20_000.0 / start.elapsed().as_secs_f64());
    }
}
