//! Tests of servers that go down, come back, or hang.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use postrider_seams::{Envelope, LeaseCheck, Outcome, Transport as _, transport};
use postrider_transport_nats::Nats;
use tokio::time::Instant;

use crate::server::{self, messages, nats, seen};
use crate::world::*;

#[tokio::test]
async fn o10_delivered_records_can_be_read_in_order() {
    let server = server::start("").await;
    server::stream(&server, "deals").await;
    let nats = nats(&server);
    nats.probe().await.unwrap();
    let outcomes = send(&nats, &numbered("deals.made", 7, 0..500)).await;
    all_delivered(&outcomes);
    assert_eq!(delivered(&outcomes[499]).id.as_deref(), Some("deals/500"));
    assert_eq!(in_order(&seen(&server, "deals").await, 500), 0);
}

#[tokio::test]
async fn o09_a_record_arrives_to_the_byte_and_a_second_delivery_is_dropped() {
    let server = server::start("").await;
    server::stream(&server, "deals").await;
    let nats = nats(&server);
    let payload = vec![0, 0xff, b'\r', b'\n', 0];
    let batch = [record("deals.made", Some("k"), payload.clone(), "d-1")];
    all_delivered(&send(&nats, &batch).await);
    all_delivered(&send(&nats, &batch).await);
    let found = messages(&server, "deals").await;
    assert_eq!(found.len(), 1, "the same Nats-Msg-Id");
    assert_eq!(found[0].payload, payload);
    let headers = found[0].headers.as_ref().unwrap();
    let of = |name: &str| headers.get(name).map(ToString::to_string);
    assert_eq!(of("Nats-Msg-Id").as_deref(), Some("d-1"));
    assert_eq!(
        (of("id").as_deref(), of("attempt").as_deref(), of("key").as_deref()),
        (Some("d-1"), Some("1"), Some("k"))
    );
}

#[tokio::test]
async fn o10_starting_while_the_server_is_down_works_and_is_reported() {
    let mut server = server::start("").await;
    server::stream(&server, "deals").await;
    server.kill();
    let nats = nats(&server);
    let outcomes = send_by(&nats, &numbered("deals.made", 2, 0..20), within(1.0)).await;
    for outcome in &outcomes {
        assert!(retryable(outcome).unreachable, "{outcome:?}");
    }
    let error = nats.probe().await.unwrap_err();
    assert!(matches!(error, transport::Error::Unreachable(_)), "{error:?}");
    let server = tokio::task::spawn_blocking(move || {
        server.restart().unwrap();
        server
    })
    .await
    .unwrap();
    send_until_delivered(&nats, &numbered("deals.made", 2, 0..20)).await;
    assert_eq!(in_order(&seen(&server, "deals").await, 20), 0);
}

#[tokio::test]
async fn o10_the_transport_recovers_from_a_restart_of_the_server() {
    let mut server = server::start("").await;
    server::stream(&server, "deals").await;
    let nats = nats(&server);
    all_delivered(&send(&nats, &numbered("deals.made", 5, 0..100)).await);
    server.kill();
    let restart = tokio::task::spawn_blocking(move || {
        std::thread::park_timeout(Duration::from_millis(300));
        server.restart().unwrap();
        server
    });
    let batch = numbered("deals.made", 5, 100..400);
    let ((), server) = tokio::join!(send_until_delivered(&nats, &batch), restart);
    let server = server.unwrap();
    assert_eq!(in_order(&seen(&server, "deals").await, 400), 0, "JetStream drops what comes twice");
}

#[tokio::test]
async fn a_silent_server_makes_records_uncertain_by_the_deadline() {
    // A fake server that accepts the connection and everything sent, and never answers.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(keep_silent(stream));
        }
    });
    let nats = Nats::from_url(&format!("nats://127.0.0.1:{port}"), &[]).unwrap();
    let start = Instant::now();
    let outcomes = send_by(&nats, &numbered("deals.made", 1, 0..10), within(1.0)).await;
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Uncertain(_))), "{outcomes:?}");
}

/// The deadline of a lane may be minutes away; an acknowledgement has its own, shorter limit.
#[tokio::test]
async fn o02_a_hung_server_makes_records_uncertain_after_the_ack_timeout() {
    let server = server::start("").await;
    server::stream(&server, "deals").await;
    let nats = Nats::from_url(&server.url(), &[("ack_timeout".to_owned(), "1s".to_owned())]).unwrap();
    all_delivered(&send(&nats, &numbered("deals.made", 1, 0..1)).await);
    server.freeze();
    let start = Instant::now();
    let outcomes = send_by(&nats, &numbered("deals.made", 1, 1..11), within(300.0)).await;
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Uncertain(_))), "{outcomes:?}");
    server.thaw();
    all_delivered(&send(&nats, &numbered("deals.made", 1, 1..11)).await);
    assert_eq!(in_order(&seen(&server, "deals").await, 11), 0, "each is there once");
}

/// Records of 10 kB each, more than the connection and the buffers of both sockets hold.
fn more_than_fits() -> Vec<Envelope> {
    (0..3000).map(|n| record("deals.made", None, vec![b'x'; 10_000], &format!("d-{n}"))).collect()
}

fn nats_with_large_batches(server: &postrider_services::Nats, ack_timeout: &str) -> Nats {
    let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Nats::from_url(&server.url(), &[of("ack_timeout", ack_timeout), of("batch", "3000")]).unwrap()
}

/// What never left this process costs no attempt, whatever becomes of the server.
#[tokio::test]
async fn o02_a_hung_server_defers_the_records_for_which_the_connection_has_no_room() {
    let server = server::start("").await;
    server::stream(&server, "deals").await;
    let nats = nats_with_large_batches(&server, "1s");
    all_delivered(&send(&nats, &[record("deals.made", None, "first", "first")]).await);
    server.freeze();
    let outcomes = send_by(&nats, &more_than_fits(), within(20.0)).await;
    let sent = outcomes.iter().take_while(|outcome| matches!(outcome, Outcome::Uncertain(_))).count();
    assert!((1..outcomes.len()).contains(&sent), "{sent} were sent");
    for outcome in &outcomes[sent..] {
        assert!(deferred(outcome).reason.contains("too slowly"), "{outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g02_a_record_that_loses_its_lease_while_it_waits_for_room_is_not_published() {
    let server = server::start("").await;
    server::stream(&server, "deals").await;
    let nats = nats_with_large_batches(&server, "20s");
    all_delivered(&send(&nats, &[record("deals.made", None, "first", "first")]).await);
    server.freeze();
    let (lease, lost) = losable_lease();
    let checked = Arc::new(AtomicUsize::new(0));
    let mut batch = more_than_fits();
    for (index, envelope) in batch.iter_mut().enumerate() {
        let (lease, checked) = (lease.clone(), Arc::clone(&checked));
        envelope.lease = LeaseCheck::new(move || {
            checked.store(index, Ordering::SeqCst);
            lease.holds()
        });
    }
    let losing = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        lost.store(true, Ordering::SeqCst);
        let waiting = checked.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(500)).await;
        server.thaw();
        waiting
    };
    let (outcomes, waiting) = tokio::join!(send_by(&nats, &batch, within(60.0)), losing);
    assert!((1..batch.len()).contains(&waiting), "{waiting} found room");
    all_delivered(&outcomes[..waiting]);
    for outcome in &outcomes[waiting..] {
        assert!(deferred(outcome).reason.contains("lease"), "{outcome:?}");
    }
}

async fn keep_silent(mut stream: tokio::net::TcpStream) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let info = "INFO {\"server_id\":\"x\",\"server_name\":\"x\",\"version\":\"2.9.10\",\"go\":\"go\",\"host\":\"127.0.0.1\",\
                \"port\":4222,\"headers\":true,\"max_payload\":1048576,\"proto\":1,\"client_id\":1}\r\n";
    stream.write_all(info.as_bytes()).await.unwrap();
    let mut heard = vec![0; 65536];
    while let Ok(read @ 1..) = stream.read(&mut heard).await {
        if heard[..read].windows(4).any(|word| word == b"PING") {
            stream.write_all(b"PONG\r\n").await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn o10_a_half_open_connection_is_replaced_within_ten_seconds() {
    let server = server::start("").await;
    server::stream(&server, "deals").await;
    let behind = server.url().trim_start_matches("nats://").parse().unwrap();
    let proxy = postrider_services::Proxy::start(behind).unwrap();
    let nats = Nats::from_url(&format!("nats://{}", proxy.address()), &[]).unwrap();
    all_delivered(&send(&nats, &numbered("deals.made", 1, 0..10)).await);
    proxy.freeze();
    let lost = Instant::now();
    let batch = numbered("deals.made", 1, 10..20);
    while !send_by(&nats, &batch, within(1.0)).await.iter().all(|one| matches!(one, Outcome::Delivered(_))) {
        assert!(lost.elapsed() < Duration::from_secs(10), "{:?}", lost.elapsed());
    }
    assert_eq!(in_order(&seen(&server, "deals").await, 20), 0);
}
