//! Peers that send nothing, send without end, or never let go: the listener and the lanes go on.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{WITH_API, asked};
use crate::shop::{Running, SQLITE, Shop, eventually, eventually_count};

/// Memory that the process has in use.
fn resident(running: &Running) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}

/// How long `/healthz` takes.
fn health(address: &str) -> Duration {
    let start = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    start.elapsed()
}

fn opened(address: &str, head: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    // The listener may have closed it already for another.
    let _ = stream.write_all(head.as_bytes());
    stream
}

#[tokio::test]
async fn a_flood_leaves_health_lanes_and_memory_alone() {
    let shop = Shop::new(Some(&format!("{SQLITE}{WITH_API}")));
    shop.run(&["migrate"]).fine();
    let running = shop.start();
    let key = running.first_key();
    let address = running.address();
    eventually("the API is open", || {
        (asked(&running, &key, "GET", "/api/v1/lanes", &Value::Null).0 == 200).then_some(())
    });
    let mut held = Vec::new();
    let mut times = Vec::new();
    let pool = shop.sql().await;
    let authorized = format!("Host: a\r\nAuthorization: Bearer {key}\r\n");
    for number in 0..120 {
        held.push(opened(&address, &format!("GET /api/v1/overview/stream HTTP/1.1\r\n{authorized}\r\n")));
        if number % 20 == 0 {
            times.push(health(&address));
        }
    }
    for _ in 0..500 {
        held.push(opened(&address, "POST /api/v1/dispatch-jobs HTTP/1.1\r\nHost: a\r\nX-Slow: "));
    }
    times.push(health(&address));
    shop.insert(&pool, "one@example.com").await;
    let part = vec![b' '; 1 << 20];
    let length = 30 << 20;
    for _ in 0..40 {
        let head = format!(
            "POST /api/v1/dispatch-jobs/batch HTTP/1.1\r\n{authorized}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        let mut stream = opened(&address, &head);
        stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        // All but the end of it, as far as it is taken.
        for _ in 0..29 {
            if stream.write_all(&part).is_err() {
                break;
            }
        }
        held.push(stream);
        times.push(health(&address));
        let memory = resident(&running);
        assert!(memory < 200, "{memory} MB in use");
    }
    eventually_count(&pool, "sent", 1).await;
    let small = json!({"code": "a", "targetUrl": "https://example.com/"});
    assert_eq!(
        asked(&running, &key, "POST", "/api/v1/dispatch-jobs", &small).0,
        201,
        "small bodies have room"
    );
    times.sort();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    eprintln!("/healthz: median {median:?}, longest {longest:?}; {} MB in use", resident(&running));
    assert!(median < Duration::from_millis(100), "{times:?}");
    // A shared machine may stop us both for a moment.
    assert!(longest < Duration::from_secs(2), "{times:?}");
    drop(held);
}
