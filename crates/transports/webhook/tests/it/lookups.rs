//! Tests of names that do not resolve, and of the clients that share a resolver or an origin with them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use postrider_http::{BreakerSettings, Resolve};
use postrider_seams::recheck::{Recheck, Revalidate};
use postrider_seams::{Failure, Outcome, Transport as _, Webhook};
use postrider_transport_webhook::{Settings, Webhooks};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::fixtures::{Answer, Server, deliver, envelope, raw, read_request, settings, status, webhook};

/// A resolver like the system's: a bounded number of concurrent lookups, of which those of `hang…` never end.
struct HangingResolver {
    places: Semaphore,
    server: SocketAddr,
}

#[async_trait]
impl Resolve for HangingResolver {
    async fn resolve(&self, host: &str, _port: u16) -> io::Result<Vec<SocketAddr>> {
        let _place = self.places.acquire().await.map_err(io::Error::other)?;
        if host.starts_with("hang") {
            std::future::pending::<()>().await;
        }
        Ok(vec![self.server])
    }
}

fn hanging(settings: Settings, server: &Server) -> Arc<Webhooks> {
    let resolver = HangingResolver { places: Semaphore::new(64), server: server.address };
    Arc::new(Webhooks::with_resolver(settings, Arc::new(resolver)).unwrap())
}

fn of(client: &str, url: &str) -> Webhook {
    Webhook { client: Some(client.to_owned()), ..webhook(url) }
}

#[tokio::test(flavor = "multi_thread")]
async fn j09_names_that_do_not_answer_delay_no_other_client() {
    let server = Server::start(|_| status(200)).await;
    let webhooks = hanging(settings(), &server);
    // The number of rows that a lane has in flight.
    let lane = Arc::new(Semaphore::new(512));
    for n in 0..1000 {
        let (webhooks, lane) = (Arc::clone(&webhooks), Arc::clone(&lane));
        tokio::spawn(async move {
            let _place = lane.acquire().await.unwrap();
            deliver(&webhooks, of("a", &format!("http://hang{n}.test/"))).await
        });
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut took = Vec::new();
    for n in 0..30 {
        let began = Instant::now();
        let _place = lane.acquire().await.unwrap();
        let outcome = deliver(&webhooks, of("b", &format!("http://b{n}.test/"))).await;
        assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
        took.push(began.elapsed());
    }
    took.sort();
    assert!(took[15] < Duration::from_secs(1), "half of them took over {:?}", took[15]);
}

#[tokio::test]
async fn g01_waiting_for_a_look_up_is_neither_an_attempt_nor_the_requests_time() {
    let server = Server::start(|_| status(200)).await;
    let short = Settings { lookup_timeout: Duration::from_millis(400), ..settings() };
    let webhooks = hanging(short, &server);
    let hurried = |url: &str| Webhook { timeout: Some(Duration::from_millis(100)), ..of("a", url) };
    // Neither a lookup without an answer nor a refused one counts as an attempt.
    let many = (0..40).map(|n| {
        let (webhooks, one) = (Arc::clone(&webhooks), hurried(&format!("http://hang{n}.test/")));
        tokio::spawn(async move { deliver(&webhooks, one).await })
    });
    let outcomes = futures::future::join_all(many.collect::<Vec<_>>()).await;
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(Result::unwrap).collect();
    let mut unanswered = 0;
    for outcome in outcomes {
        let Outcome::Deferred(failure) = outcome else { panic!("{outcome:?}") };
        assert!(failure.after.is_some_and(|after| after >= Duration::from_secs(5)), "{failure:?}");
        unanswered += usize::from(failure.reason.contains("no answer in time"));
    }
    assert_eq!(unanswered, 16, "as many as look-ups of one client may run");
}

/// Resolves a name once; every later lookup hangs.
struct ResolvesOnce {
    server: SocketAddr,
    used: AtomicBool,
}

#[async_trait]
impl Resolve for ResolvesOnce {
    async fn resolve(&self, _host: &str, _port: u16) -> io::Result<Vec<SocketAddr>> {
        if self.used.swap(true, SeqCst) {
            std::future::pending::<()>().await;
        }
        Ok(vec![self.server])
    }
}

/// A check of a row that closes the pooled connection, and waits until this side has noticed.
struct ClosesConnection(Arc<Notify>);

#[async_trait]
impl Revalidate for ClosesConnection {
    async fn revalidate(&self) -> Result<(), Failure> {
        self.0.notify_one();
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(())
    }

    async fn record_receiver_gone(&self) {}
}

/// The pool has a connection when the rows are prepared, and none when they are sent: another row took it, or the
/// receiver closed it.
#[tokio::test]
async fn g01_a_look_up_for_a_lost_connection_is_neither_an_attempt_nor_the_requests_time() {
    let close = Arc::new(Notify::new());
    let closed = Arc::clone(&close);
    let server = raw(move |_, mut stream| {
        let closed = Arc::clone(&closed);
        async move {
            read_request(&mut stream).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            closed.notified().await;
        }
    })
    .await;
    let resolver = ResolvesOnce { server, used: AtomicBool::new(false) };
    let short = Settings { lookup_timeout: Duration::from_millis(700), ..settings() };
    let webhooks = Webhooks::with_resolver(short, Arc::new(resolver)).unwrap();
    let url = "http://once.test/";
    assert!(matches!(deliver(&webhooks, of("a", url)).await, Outcome::Delivered(_)));
    // The cached answer expires.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(6)).await;
    tokio::time::resume();
    let hurried = Webhook {
        timeout: Some(Duration::from_millis(200)),
        recheck: Some(Recheck(Arc::new(ClosesConnection(close)))),
        ..of("a", url)
    };
    let outcome = deliver(&webhooks, hurried).await;
    let Outcome::Deferred(failure) = outcome else { panic!("{outcome:?}") };
    assert!(failure.reason.contains("no answer in time"), "{failure:?}");
}

#[tokio::test]
async fn g01_a_name_that_never_resolves_waits_longer_each_time_with_a_reason() {
    let server = Server::start(|_| status(200)).await;
    let breaker =
        BreakerSettings { failures: 2, wait: Duration::from_millis(300), ..BreakerSettings::default() };
    let short = Settings { lookup_timeout: Duration::from_millis(100), breaker, ..settings() };
    let webhooks = hanging(short, &server);
    let one = || deliver(&webhooks, of("a", "http://hang.test/"));
    for _ in 0..2 {
        let outcome = one().await;
        let Outcome::Deferred(failure) = &outcome else { panic!("{outcome:?}") };
        assert!(failure.reason.contains("hang.test could not be resolved: no answer in time"), "{failure:?}");
    }
    let held = || webhooks.hold(&envelope(of("a", "http://hang.test/"))).map(|hold| hold.left);
    let first = held().expect("the host is held");
    tokio::time::sleep(first + Duration::from_millis(20)).await;
    assert!(matches!(one().await, Outcome::Deferred(_)));
    assert!(held().expect("the host is held again") > first, "the second wait is no longer than the first");
}

fn limited(path: &str) -> Answer {
    let mut answer = Response::new(Full::<Bytes>::default());
    if path == "/limited" {
        *answer.status_mut() = 429.try_into().unwrap();
        answer.headers_mut().insert("retry-after", "86400".parse().unwrap());
    }
    answer
}

/// The specification of e-mail callbacks names no Retry-After.
#[tokio::test]
async fn e09_a_retry_after_is_ignored_where_the_contract_ignores_it() {
    let server = Server::start(|seen| limited(&seen.path)).await;
    let webhooks = Webhooks::new(settings()).unwrap();
    let callback = |path: &str| Webhook {
        follows_retry_after: false,
        ..webhook(&format!("http://{}{path}", server.address))
    };
    let outcome = deliver(&webhooks, callback("/limited")).await;
    assert!(matches!(&outcome, Outcome::Retryable(failure) if failure.after.is_none()), "{outcome:?}");
    assert!(webhooks.hold(&envelope(callback("/well"))).is_none());
    let next = deliver(&webhooks, callback("/well")).await;
    assert!(matches!(next, Outcome::Delivered(_)), "{next:?}");
}

#[tokio::test]
async fn j05_a_clients_retry_after_is_capped_and_holds_no_other_client_of_the_origin() {
    let server = Server::start(|seen| limited(&seen.path)).await;
    let webhooks = Webhooks::new(settings()).unwrap();
    let url = |path: &str| format!("http://{}{path}", server.address);
    let first = deliver(&webhooks, of("a", &url("/limited"))).await;
    assert_eq!(first.failure().unwrap().after, Some(Duration::from_hours(1)));
    let held = deliver(&webhooks, of("a", &url("/well"))).await;
    assert!(matches!(held, Outcome::Deferred(_)), "{held:?}");
    assert!(webhooks.hold(&envelope(of("a", &url("/well")))).is_some());
    assert!(webhooks.hold(&envelope(of("b", &url("/well")))).is_none());
    let other = deliver(&webhooks, of("b", &url("/well"))).await;
    assert!(matches!(other, Outcome::Delivered(_)), "{other:?}");
}
