//! Tests of missing and malformed responses.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use postrider_seams::{Outcome, Transport as _, transport};
use postrider_transport_provider::Provider;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::fake_provider::*;

fn resend(endpoint: &str, options: &[(&str, &str)]) -> Provider {
    let mut all = vec![("key".to_owned(), "re_key".to_owned()), ("endpoint".to_owned(), endpoint.to_owned())];
    all.extend(options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Provider::from_url("resend://", &all).unwrap()
}

/// Starts a server that reads a request, writes `words`, and then closes or (with `hold`) stays silent.
async fn server(words: &'static str, hold: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut bytes = vec![0; 65536];
                let _ = stream.read(&mut bytes).await;
                let _ = stream.write_all(words.as_bytes()).await;
                if hold {
                    std::future::pending::<()>().await;
                }
            });
        }
    });
    url
}

#[tokio::test]
async fn g01_a_provider_that_is_away_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let provider = resend(&url, &[]);
    let outcome = send(&provider, mail(&["ann@example.com"])).await;
    assert!(matches!(&outcome, Outcome::Retryable(failure) if failure.unreachable), "{outcome:?}");
    assert_eq!(summary(&outcome).1, "network_error");
    assert!(matches!(provider.probe().await, Err(transport::Error::Unreachable(_))));
}

#[tokio::test]
async fn sent_and_no_answer_is_uncertain() {
    for (words, hold) in [("", false), ("", true), ("HTTP/1.1 20", false)] {
        let provider = resend(&server(words, hold).await, &[("timeout", "300ms")]);
        let outcome = send(&provider, mail(&["ann@example.com"])).await;
        assert_eq!(
            summary(&outcome),
            ("uncertain", "network_error".to_owned(), None),
            "{words:?}: {outcome:?}"
        );
    }
}

#[tokio::test]
async fn the_status_is_the_answer_even_if_the_body_hangs() {
    let words = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"id\"";
    let provider = resend(&server(words, true).await, &[("timeout", "300ms")]);
    let outcome = send(&provider, mail(&["ann@example.com"])).await;
    assert_eq!(delivered(&outcome).id.as_deref(), Some("m-1@example.org"));
}

#[tokio::test]
async fn g01_a_deadline_that_is_over_sends_nothing_and_costs_nothing() {
    let fake = FakeProvider::start(|_| plain(200, "{}")).await;
    let provider = resend(&fake.url, &[]);
    let outcomes = provider.deliver(&[mail(&["ann@example.com"])], Instant::now()).await;
    assert_eq!(summary(&outcomes[0]).0, "deferred");
    assert!(fake.seen().is_empty());
}

#[tokio::test]
async fn g02_a_mail_whose_lease_ran_out_is_not_sent() {
    let fake = FakeProvider::start(|_| plain(200, "{}")).await;
    let lost = postrider_seams::LeaseCheck::new(|| false);
    let late = postrider_seams::Envelope { lease: lost, ..mail(&["ann@example.com"]) };
    let outcome = send(&resend(&fake.url, &[]), late).await;
    assert!(
        matches!(&outcome, Outcome::Deferred(failure) if failure.reason.contains("lease")),
        "{outcome:?}"
    );
    assert!(fake.seen().is_empty());
}

/// Between two requests another worker may have sent the rest: the lease is checked before each.
#[tokio::test]
async fn g02_a_lease_that_is_lost_between_two_requests_stops_the_mail() {
    let fake = FakeProvider::start(|_| plain(200, "{\"id\":\"1\"}")).await;
    let names: Vec<String> = (0..170).map(|number| format!("u{number}@example.com")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let checks = std::sync::atomic::AtomicUsize::new(0);
    let lease = postrider_seams::LeaseCheck::new(move || checks.fetch_add(1, Relaxed) < 2);
    let outcome = send(&resend(&fake.url, &[]), postrider_seams::Envelope { lease, ..mail(&names) }).await;
    let Outcome::Deferred(failure) = &outcome else { panic!("{outcome:?}") };
    assert!(failure.accepted_now && failure.reason.contains("lease"), "{failure:?}");
    let results = failure.detail["recipients"].as_text().unwrap();
    assert_eq!(results.matches("accepted").count() + results.matches("deferred").count(), 170);
    assert_eq!(fake.seen().len(), 2, "nothing is sent after the lease was lost");
}

#[tokio::test]
async fn a_mail_that_is_too_large_is_refused_before_it_is_sent() {
    let fake = FakeProvider::start(|_| plain(200, "{}")).await;
    let provider = resend(&fake.url, &[("max_size", "200")]);
    let outcome = send(&provider, mail(&["ann@example.com"])).await;
    assert_eq!(summary(&outcome), ("rejected", "validation_error".to_owned(), None));
    assert!(fake.seen().is_empty());
}

#[tokio::test]
async fn unexpected_answers_are_shortened_and_retried() {
    let fake = FakeProvider::start(|_| {
        (302, vec![("location", "http://127.0.0.1:1/".to_owned())], "x".repeat(200_000))
    })
    .await;
    let outcome = send(&resend(&fake.url, &[]), mail(&["ann@example.com"])).await;
    assert_eq!(summary(&outcome), ("retryable", "unknown".to_owned(), None));
    assert!(outcome.failure().unwrap().reason.len() < 1000);
    assert_eq!(fake.seen().len(), 1, "redirects are not followed");
}

#[tokio::test]
async fn every_mail_of_a_batch_has_its_own_request() {
    let fake = FakeProvider::start(|_| plain(200, "{\"id\":\"1\"}")).await;
    let provider = resend(&fake.url, &[]);
    let started = Instant::now();
    let batch: Vec<_> = (0..20).map(|_| mail(&["ann@example.com"])).collect();
    let outcomes = provider.deliver(&batch, started + Duration::from_secs(20)).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Delivered(_))));
    assert_eq!(fake.seen().len(), 20);
}

#[tokio::test]
async fn n09_a_retry_after_counts_for_an_hour_at_most() {
    for (words, options, expected) in [
        ("HTTP/1.1 429 Slow\r\nretry-after: 60\r\ncontent-length: 0\r\n\r\n", &[][..], 60),
        ("HTTP/1.1 429 Slow\r\nretry-after: 2592000\r\ncontent-length: 0\r\n\r\n", &[], 3600),
        ("HTTP/1.1 504 Late\r\nretry-after: 1e19\r\ncontent-length: 0\r\n\r\n", &[], 3600),
        (
            "HTTP/1.1 503 Down\r\nretry-after: 1e30\r\ncontent-length: 0\r\n\r\n",
            &[("longest_retry_after", "5m")],
            300,
        ),
    ] {
        let provider = resend(&server(words, false).await, options);
        let outcome = send(&provider, mail(&["ann@example.com"])).await;
        let after = outcome.failure().unwrap().after;
        assert_eq!(after, Some(Duration::from_secs(expected)), "{words}: {outcome:?}");
    }
}

/// A page in front of the provider, or a server that is something else, accepts no key.
#[tokio::test]
async fn g03_a_probe_succeeds_only_if_the_provider_has_accepted_the_key() {
    for (words, succeeds) in [
        ("HTTP/1.1 422 No\r\ncontent-length: 0\r\n\r\n", true),
        ("HTTP/1.1 429 Slow\r\ncontent-length: 0\r\n\r\n", true),
        ("HTTP/1.1 302 Elsewhere\r\ncontent-length: 0\r\n\r\n", false),
        ("HTTP/1.1 408 Late\r\ncontent-length: 0\r\n\r\n", false),
        ("HTTP/1.1 503 Down\r\ncontent-length: 0\r\n\r\n", false),
    ] {
        let answer = resend(&server(words, false).await, &[]).probe().await;
        if succeeds {
            answer.unwrap();
        } else {
            assert!(matches!(answer, Err(transport::Error::Unreachable(_))), "{words}: {answer:?}");
        }
    }
}
