//! Tests of what a receiver gets, and how its responses are classified.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hyper::Response;
use postrider_seams::recheck::{Recheck, Revalidate};
use postrider_seams::{Failure, Outcome, Secret, Transport as _, Value, Webhook};
use postrider_transport_webhook::{Settings, Webhooks};
use tokio::time::Instant;

use crate::fixtures::{Server, assert_summary, deliver, envelope, settings, status, webhook, webhooks};

#[tokio::test]
async fn j12_a_delivery_is_a_post_with_the_rows_headers_and_body() {
    let server = Server::start(|_| Response::new(Bytes::from_static(b"{\"received\": true}").into())).await;
    let mut webhook = webhook(&format!("{}?a=b%20c#part", server.url()));
    webhook.headers = vec![
        ("X-Custom".to_owned(), "value".to_owned()),
        ("Webhook-Signature".to_owned(), "v1,forged".to_owned()),
        ("Transfer-Encoding".to_owned(), "chunked".to_owned()),
        ("Host".to_owned(), "elsewhere.example".to_owned()),
    ];
    webhook.authorization = Some(Secret::new("Bearer hunter2"));
    let outcome = deliver(&webhooks(), webhook).await;
    assert_summary(&outcome, "delivered", "SUCCESS", "");
    let Outcome::Delivered(receipt) = outcome else { panic!("it was delivered") };
    assert_eq!(receipt.detail["status"], Value::Int(200));
    assert_eq!(receipt.detail["body"], Value::Text("{\"received\": true}".to_owned()));
    let seen = server.seen().pop().unwrap();
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/hook?a=b%20c"));
    assert_eq!((seen.header("content-type"), seen.header("content-length")), ("application/json", "2"));
    assert_eq!((seen.header("x-custom"), seen.header("authorization")), ("value", "Bearer hunter2"));
    assert_eq!(seen.header("host"), server.address.to_string());
    assert_eq!(seen.header("webhook-id"), "0HZXEQ5Y8JY5Z");
    assert!(
        seen.header("webhook-signature").starts_with("v1,")
            && !seen.header("webhook-signature").contains("forged")
    );
    assert_eq!(seen.header("transfer-encoding"), "");
    assert_eq!(seen.body, "{}");
}

#[tokio::test]
async fn j05_redirects_are_not_followed() {
    let server = Server::start(|seen| {
        let mut answer = status(if seen.path == "/hook" { 302 } else { 200 });
        answer.headers_mut().insert("location", "/elsewhere".parse().unwrap());
        answer
    })
    .await;
    let outcome = deliver(&webhooks(), webhook(&server.url())).await;
    assert_summary(&outcome, "rejected", "CLIENT_ERROR", "PERMANENT");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn j05_retry_after_holds_the_host_and_its_other_rows_wait_free() {
    let server = Server::start(|_| {
        let mut answer = status(429);
        answer.headers_mut().insert("retry-after", "120".parse().unwrap());
        answer
    })
    .await;
    let webhooks = webhooks();
    let first = deliver(&webhooks, webhook(&server.url())).await;
    assert_summary(&first, "retryable", "CLIENT_ERROR", "TRANSIENT");
    assert_eq!(first.failure().unwrap().after, Some(Duration::from_mins(2)));
    let second = deliver(&webhooks, webhook(&server.url())).await;
    assert!(matches!(second, Outcome::Deferred(_)), "{second:?}");
    assert!(second.failure().unwrap().after.unwrap() >= Duration::from_secs(118));
    assert_eq!(server.seen().len(), 1, "nothing was sent for the second");
}

/// A subscription that pauses when its receiver is gone.
#[derive(Default)]
struct Pausing(AtomicBool);

#[async_trait]
impl Revalidate for Pausing {
    async fn revalidate(&self) -> Result<(), Failure> {
        if self.0.load(SeqCst) { Err(Failure::new("paused")) } else { Ok(()) }
    }

    async fn record_receiver_gone(&self) {
        self.0.store(true, SeqCst);
    }
}

#[tokio::test]
async fn j05_nothing_is_sent_to_a_gone_receiver() {
    let server = Server::start(|_| status(410)).await;
    let webhooks = webhooks();
    let subscribed =
        Webhook { recheck: Some(Recheck(Arc::new(Pausing::default()))), ..webhook(&server.url()) };
    let outcome = deliver(&webhooks, subscribed.clone()).await;
    assert_summary(&outcome, "rejected", "CLIENT_ERROR", "PERMANENT");
    for _ in 0..3 {
        let outcome = deliver(&webhooks, subscribed.clone()).await;
        assert!(matches!(outcome, Outcome::Deferred(_)), "{outcome:?}");
    }
    assert_eq!(server.seen().len(), 1);
}

/// After successes, as many requests as a host may have are in flight when the first of them is answered with 410.
#[tokio::test]
async fn j05_no_more_than_the_requests_in_flight_reach_a_gone_receiver() {
    const PER_HOST: usize = 64;
    let is_gone = Arc::new(AtomicBool::new(false));
    let gone = Arc::clone(&is_gone);
    let server = Server::start(move |_| status(if gone.load(SeqCst) { 410 } else { 200 })).await;
    let webhooks = Webhooks::new(Settings { per_host: PER_HOST, ..settings() }).unwrap();
    let subscribed =
        Webhook { recheck: Some(Recheck(Arc::new(Pausing::default()))), ..webhook(&server.url()) };
    for _ in 0..10 {
        let outcome = deliver(&webhooks, subscribed.clone()).await;
        assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
    }
    is_gone.store(true, SeqCst);
    let many = (0..PER_HOST * 5).map(|_| deliver(&webhooks, subscribed.clone()));
    let outcomes = futures::future::join_all(many).await;
    let dead = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Rejected(_))).count();
    let held = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Deferred(_))).count();
    assert!((9..=PER_HOST).contains(&dead), "{dead} were sent to a warm host");
    assert_eq!((held, server.seen().len()), (outcomes.len() - dead, 10 + dead), "the others were not sent");
}

#[tokio::test]
async fn j10_an_invalid_secret_defers_and_sends_nothing() {
    let server = Server::start(|_| status(200)).await;
    let mut webhook = webhook(&server.url());
    webhook.signing = vec![Secret::new("whsec_???")];
    assert!(matches!(deliver(&webhooks(), webhook).await, Outcome::Deferred(_)));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_batch_is_answered_in_its_order() {
    let server = Server::start(|seen| status(seen.path[1..].parse().unwrap())).await;
    let paths = [200, 500, 404, 204, 429, 200];
    let batch: Vec<_> =
        paths.iter().map(|path| envelope(webhook(&format!("http://{}/{path}", server.address)))).collect();
    let mut settings = settings();
    settings.batch = 6;
    let webhooks = Webhooks::new(settings).unwrap();
    let outcomes = webhooks.deliver(&batch, Instant::now() + Duration::from_mins(1)).await;
    let delivered: Vec<bool> =
        outcomes.iter().map(|outcome| matches!(outcome, Outcome::Delivered(_))).collect();
    assert_eq!(delivered, [true, false, false, true, false, true], "{outcomes:?}");
}

#[tokio::test]
async fn g02_a_request_whose_lease_ran_out_while_it_waited_is_not_sent() {
    let server = Server::start(|_| status(200)).await;
    let lost = postrider_seams::LeaseCheck::new(|| false);
    let late = postrider_seams::Envelope { lease: lost, ..envelope(webhook(&server.url())) };
    let outcomes = webhooks().deliver(&[late], Instant::now() + Duration::from_mins(1)).await;
    assert!(
        matches!(&outcomes[0], Outcome::Deferred(failure) if failure.reason.contains("lease")),
        "{outcomes:?}"
    );
    assert!(server.seen().is_empty());
}
