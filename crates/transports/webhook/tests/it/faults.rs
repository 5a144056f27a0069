//! Tests with receivers that hang, close early, or never stop sending.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use postrider_http::Resolve;
use postrider_seams::{Outcome, Transport as _, Value, Webhook};
use postrider_transport_webhook::Webhooks;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::fixtures::{
    Server, assert_summary, deliver, envelope, raw, read_request, settings, status, webhook, webhooks,
};

fn hurried(address: SocketAddr) -> Webhook {
    Webhook { timeout: Some(Duration::from_millis(300)), ..webhook(&format!("http://{address}/")) }
}

async fn answer(stream: &mut TcpStream, text: &str) {
    let _ = stream.write_all(text.as_bytes()).await;
}

#[tokio::test]
async fn j05_a_hang_before_the_answer_is_a_timeout() {
    let address = raw(|_, mut stream| async move {
        read_request(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let outcome = deliver(&webhooks(), hurried(address)).await;
    assert_summary(&outcome, "uncertain", "TIMEOUT", "TRANSIENT");
    let Value::Int(millis) = outcome.failure().unwrap().detail["duration_ms"] else { panic!("no duration") };
    assert!(millis >= 300, "{millis}");
}

#[tokio::test]
async fn j05_a_hang_in_the_body_is_a_timeout_with_its_status() {
    let address = raw(|_, mut stream| async move {
        read_request(&mut stream).await;
        answer(&mut stream, "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc").await;
        std::future::pending::<()>().await;
    })
    .await;
    let outcome = deliver(&webhooks(), hurried(address)).await;
    assert_summary(&outcome, "uncertain", "TIMEOUT", "TRANSIENT");
    assert_eq!(outcome.failure().unwrap().detail["status"], Value::Int(200));
}

#[tokio::test]
async fn j15_an_endless_body_is_read_up_to_its_cap() {
    let written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&written);
    let address = raw(move |_, mut stream| {
        let written = Arc::clone(&counted);
        async move {
            read_request(&mut stream).await;
            answer(&mut stream, "HTTP/1.1 500 Oh\r\n\r\n").await;
            let block = [b'x'; 16 * 1024];
            while stream.write_all(&block).await.is_ok() {
                written.fetch_add(block.len(), SeqCst);
            }
        }
    })
    .await;
    let outcome = deliver(&webhooks(), webhook(&format!("http://{address}/"))).await;
    assert_summary(&outcome, "retryable", "SERVER_ERROR", "TRANSIENT");
    let Value::Text(body) = &outcome.failure().unwrap().detail["body"] else { panic!("no body") };
    assert_eq!(body.len(), 4096);
    // The limit is 64 KiB; the rest is in the buffers of both ends.
    assert!(written.load(SeqCst) < 32 * 1024 * 1024);
}

#[tokio::test]
async fn j05_a_reset_in_the_answer_is_a_connection_error() {
    for head in ["", "HTTP/1.1 200 OK\r\ncontent-le", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"] {
        let address = raw(move |_, mut stream| async move {
            read_request(&mut stream).await;
            answer(&mut stream, head).await;
        })
        .await;
        let outcome = deliver(&webhooks(), hurried(address)).await;
        assert_summary(&outcome, "uncertain", "CONNECTION_ERROR", "TRANSIENT");
    }
}

#[tokio::test]
async fn j05_a_response_that_is_not_http_is_unknown() {
    let address = raw(|_, mut stream| async move {
        read_request(&mut stream).await;
        answer(&mut stream, "220 mail.example ESMTP\r\n").await;
        std::future::pending::<()>().await;
    })
    .await;
    assert_summary(&deliver(&webhooks(), hurried(address)).await, "uncertain", "CONNECTION_ERROR", "UNKNOWN");
}

#[tokio::test]
async fn j05_a_refused_connection_is_a_connection_error() {
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let outcome = deliver(&webhooks(), hurried(address)).await;
    assert_summary(&outcome, "retryable", "CONNECTION_ERROR", "TRANSIENT");
    let failure = outcome.failure().unwrap();
    assert!(failure.detail["trace"].as_text().unwrap().contains("refused"), "{failure:?}");
    assert!(!failure.unreachable, "one host of many says nothing about the lane");
}

/// A resolver that answers every name with this error.
struct Nameless(fn() -> io::Error);

#[async_trait]
impl Resolve for Nameless {
    async fn resolve(&self, _host: &str, _port: u16) -> io::Result<Vec<SocketAddr>> {
        Err((self.0)())
    }
}

#[tokio::test]
async fn j05_a_name_that_does_not_exist_is_a_connection_error() {
    let missing = || io::Error::other("no such name");
    let webhooks = Webhooks::with_resolver(settings(), Arc::new(Nameless(missing))).unwrap();
    let outcome = deliver(&webhooks, webhook("http://name.example/")).await;
    assert_summary(&outcome, "retryable", "CONNECTION_ERROR", "TRANSIENT");
}

#[tokio::test]
async fn g01_a_resolver_without_sockets_or_servers_costs_no_attempt() {
    for error in [
        || io::Error::from_raw_os_error(24),
        || io::Error::other("failed to lookup address information: Temporary failure in name resolution"),
    ] {
        let webhooks = Webhooks::with_resolver(settings(), Arc::new(Nameless(error))).unwrap();
        let outcome = deliver(&webhooks, webhook("http://name.example/")).await;
        assert!(matches!(outcome, Outcome::Deferred(_)), "{outcome:?}");
    }
}

#[tokio::test]
async fn the_calls_deadline_overrides_the_rows_timeout() {
    let address = raw(|_, mut stream| async move {
        read_request(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let patient = Webhook { timeout: Some(Duration::from_mins(4)), ..webhook(&format!("http://{address}/")) };
    let deadline = Instant::now() + Duration::from_millis(300);
    let outcomes = webhooks().deliver(&[envelope(patient)], deadline).await;
    assert_summary(&outcomes[0], "uncertain", "TIMEOUT", "TRANSIENT");
}

#[tokio::test]
async fn j09_a_hanging_host_delays_no_other_and_is_soon_held() {
    let hanging = raw(|_, mut stream| async move {
        read_request(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let well = Server::start(|_| status(200)).await;
    let mut settings = settings();
    settings.breaker.failures = 2;
    let webhooks = Arc::new(Webhooks::new(settings).unwrap());
    let hung: Vec<_> = (0..20)
        .map(|_| {
            let webhooks = Arc::clone(&webhooks);
            let webhook = Webhook { timeout: Some(Duration::from_secs(3)), ..hurried(hanging) };
            tokio::spawn(async move { deliver(&webhooks, webhook).await })
        })
        .collect();
    for _ in 0..100 {
        assert_summary(&deliver(&webhooks, webhook(&well.url())).await, "delivered", "SUCCESS", "");
    }
    let mut tried = 0;
    for one in hung {
        match one.await.unwrap() {
            Outcome::Deferred(_) => {}
            outcome => {
                assert_summary(&outcome, "uncertain", "TIMEOUT", "TRANSIENT");
                tried += 1;
            }
        }
    }
    assert!((2..=8).contains(&tried), "{tried} were tried: the others are deferred, untried");
    let outcome = deliver(&webhooks, hurried(hanging)).await;
    assert!(outcome.failure().unwrap().reason.contains("keeps failing"), "{outcome:?}");
}
