//! Tests of connections: kept, shared, bounded, and found dead.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use postrider_seams::{Outcome, Webhook};
use postrider_transport_webhook::Webhooks;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::fixtures::{
    Server, assert_summary, deliver, raw, read_request, settings, status, webhook, webhooks,
};

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let server = Server::start(|_| status(200)).await;
    let webhooks = webhooks();
    for _ in 0..20 {
        assert_summary(&deliver(&webhooks, webhook(&server.url())).await, "delivered", "SUCCESS", "");
    }
    assert_eq!((server.seen().len(), server.connections()), (20, 1));
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_costs_nothing() {
    let server = Server::start(|_| {
        let mut answer = status(200);
        answer.headers_mut().insert("connection", "close".parse().unwrap());
        answer
    })
    .await;
    let webhooks = webhooks();
    for _ in 0..5 {
        assert_summary(&deliver(&webhooks, webhook(&server.url())).await, "delivered", "SUCCESS", "");
    }
    assert_eq!(server.connections(), 5);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_idled_is_replaced() {
    let (closed, mut reported) = tokio::sync::mpsc::unbounded_channel();
    let address = raw(move |_, mut stream| {
        let closed = closed.clone();
        async move {
            read_request(&mut stream).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            let _ = stream.shutdown().await;
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            closed.send(rest.len()).unwrap();
        }
    })
    .await;
    let webhooks = webhooks();
    for _ in 0..3 {
        let outcome = deliver(&webhooks, webhook(&format!("http://{address}/"))).await;
        assert_summary(&outcome, "delivered", "SUCCESS", "");
        assert_eq!(reported.recv().await, Some(0), "nothing was sent on a dead connection");
    }
}

#[tokio::test]
async fn a_request_that_may_have_been_sent_is_not_repeated() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let address = raw(move |_, mut stream| {
        let requests = Arc::clone(&counted);
        async move {
            // The first request of a connection is answered; the second is read, and the connection closed.
            while read_request(&mut stream).await.is_some() {
                if requests.fetch_add(1, SeqCst) > 0 {
                    return;
                }
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            }
        }
    })
    .await;
    let webhooks = webhooks();
    let url = format!("http://{address}/");
    assert_summary(&deliver(&webhooks, webhook(&url)).await, "delivered", "SUCCESS", "");
    assert_summary(&deliver(&webhooks, webhook(&url)).await, "uncertain", "CONNECTION_ERROR", "TRANSIENT");
    assert_eq!(requests.load(SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_host_costs_one_timeout_not_one_per_connection() {
    let server = Server::start(|_| status(200)).await;
    let proxy = postrider_services::Proxy::start(server.address).unwrap();
    let url = format!("http://{}/hook", proxy.address());
    let webhooks = webhooks();
    proxy.delay(Duration::from_millis(200));
    let several = [(); 4].map(|()| deliver(&webhooks, webhook(&url)));
    for outcome in futures::future::join_all(several).await {
        assert_summary(&outcome, "delivered", "SUCCESS", "");
    }
    let opened = proxy.accepted();
    assert!(opened > 1 && proxy.open() == opened, "several are kept: {opened}");
    proxy.delay(Duration::ZERO);
    proxy.freeze();
    let short = Webhook { timeout: Some(Duration::from_secs(1)), ..webhook(&url) };
    let lost = deliver(&webhooks, short.clone()).await;
    assert!(matches!(lost, Outcome::Uncertain(_)), "{lost:?}");
    assert_summary(&deliver(&webhooks, short).await, "delivered", "SUCCESS", "");
    assert_eq!(proxy.accepted(), opened + 1, "a new connection, with none of the old ones tried");
}

#[tokio::test]
async fn connections_are_bounded_over_all_hosts() {
    let mut settings = settings();
    settings.connections = 2;
    let webhooks = Webhooks::new(settings).unwrap();
    let mut servers = Vec::new();
    for _ in 0..5 {
        servers.push(Server::start(|_| status(200)).await);
    }
    // Idle connections to the first hosts make room for the later ones.
    for server in servers.iter().chain(&servers) {
        assert_summary(&deliver(&webhooks, webhook(&server.url())).await, "delivered", "SUCCESS", "");
    }
    let (arrived, mut arrivals) = tokio::sync::mpsc::unbounded_channel();
    let hanging = raw(move |_, mut stream| {
        let arrived = arrived.clone();
        async move {
            read_request(&mut stream).await;
            arrived.send(()).unwrap();
            std::future::pending::<()>().await;
        }
    })
    .await;
    let webhooks = Arc::new(webhooks);
    let hung: Vec<_> = (0..2)
        .map(|_| {
            let (webhooks, mut webhook) = (Arc::clone(&webhooks), webhook(&format!("http://{hanging}/")));
            webhook.timeout = Some(Duration::from_secs(5));
            tokio::spawn(async move { deliver(&webhooks, webhook).await })
        })
        .collect();
    // Both connections hang: a third request waits for one and is deferred untried.
    for _ in 0..2 {
        arrivals.recv().await.unwrap();
    }
    let mut late = webhook(&servers[0].url());
    late.timeout = Some(Duration::from_millis(200));
    let outcome = deliver(&webhooks, late).await;
    assert!(matches!(outcome, Outcome::Deferred(_)), "{outcome:?}");
    for one in hung {
        assert_summary(&one.await.unwrap(), "uncertain", "TIMEOUT", "TRANSIENT");
    }
}
