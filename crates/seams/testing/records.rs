//! Records, deadlines and outcome checks, shared by the tests of all broker transports.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use postrider_seams::row::Detail;
use postrider_seams::{Content, Envelope, Failure, Outcome, Receipt, Record, Transport};
use tokio::time::Instant;

/// Returns a name that no other test uses, in this run or a concurrent one.
pub fn unique(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Creates an envelope with a record.
pub fn record(topic: &str, key: Option<&str>, payload: impl Into<Bytes>, dedupe: &str) -> Envelope {
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Envelope {
        row: dedupe.to_owned(),
        dedupe: dedupe.to_owned(),
        attempt: 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Record(Record {
            topic: topic.to_owned(),
            key: key.map(str::to_owned),
            payload: payload.into(),
            headers: vec![header("id", dedupe), header("idempotency-key", dedupe), header("attempt", "1")],
        }),
        detail: Detail::new(),
    }
}

/// Creates records of `keys` keys in turn; the payload is the number.
pub fn numbered(topic: &str, keys: usize, numbers: std::ops::Range<usize>) -> Vec<Envelope> {
    numbers
        .map(|n| record(topic, Some(&format!("key-{}", n % keys)), n.to_string(), &format!("{topic}-{n}")))
        .collect()
}

/// Asserts that a record whose lease may be lost is not sent, at no cost.
pub async fn defers_without_lease(transport: &dyn Transport, topic: &str) {
    let lost = postrider_seams::LeaseCheck::new(|| false);
    let batch = [
        record(topic, Some("a"), "1", &unique("held")),
        record(topic, Some("b"), "3", &unique("held")),
        Envelope { lease: lost, ..record(topic, Some("c"), "2", &unique("lost")) },
    ];
    let outcomes = send(transport, &batch).await;
    all_delivered(&outcomes[..2]);
    assert!(
        matches!(&outcomes[2], Outcome::Deferred(failure) if failure.reason.contains("lease")),
        "{outcomes:?}"
    );
}

/// Returns the deadline this many seconds from now.
pub fn within(seconds: f64) -> Instant {
    Instant::now() + Duration::from_secs_f64(seconds)
}

/// Delivers a batch with a deadline of 20 seconds.
pub async fn send(transport: &dyn Transport, batch: &[Envelope]) -> Vec<Outcome> {
    send_by(transport, batch, within(20.0)).await
}

/// Delivers a batch and asserts that the transport keeps its deadline.
pub async fn send_by(transport: &dyn Transport, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
    let outcomes = transport.deliver(batch, deadline).await;
    // A loaded machine wakes tasks late.
    assert!(Instant::now() < deadline + Duration::from_secs(2), "the deadline was missed");
    assert_eq!(outcomes.len(), batch.len(), "one outcome per envelope");
    outcomes
}

/// Retries until everything is delivered, like the engine: in order, from the first record that was not.
pub async fn send_until_delivered(transport: &dyn Transport, batch: &[Envelope]) {
    let until = within(60.0);
    let mut rest = batch.to_vec();
    while !rest.is_empty() {
        assert!(Instant::now() < until, "{} are still not delivered", rest.len());
        let outcomes = send_by(transport, &rest, within(5.0)).await;
        let mut outcomes = outcomes.into_iter();
        rest.retain(|_| !matches!(outcomes.next(), Some(Outcome::Delivered(_))));
    }
}

/// Asserts that the outcome is `Delivered` and returns its receipt.
#[track_caller]
pub fn delivered(outcome: &Outcome) -> &Receipt {
    match outcome {
        Outcome::Delivered(receipt) => receipt,
        other => panic!("not delivered: {other:?}"),
    }
}

/// Asserts that every outcome is `Delivered`.
#[track_caller]
pub fn all_delivered(outcomes: &[Outcome]) {
    for outcome in outcomes {
        delivered(outcome);
    }
}

macro_rules! failures {
    ($($name:ident $variant:ident),*) => {$(
        /// Asserts that the outcome is of this kind and returns its failure.
        #[track_caller]
        pub fn $name(outcome: &Outcome) -> &Failure {
            match outcome {
                Outcome::$variant(failure) => failure,
                other => panic!("not {}: {other:?}", stringify!($variant)),
            }
        }
    )*};
}
failures!(retryable Retryable, rejected Rejected, refused Refused, deferred Deferred, uncertain Uncertain);

/// Records as a consumer saw them: key and number.
pub type Seen = Vec<(String, usize)>;

/// Asserts that every number was seen, those of one key in order; returns how many came twice.
#[track_caller]
pub fn in_order(seen: &Seen, numbers: usize) -> usize {
    let mut known = std::collections::HashSet::new();
    let mut last = std::collections::HashMap::new();
    for (key, number) in seen {
        if known.insert(number) {
            let before = last.insert(key, number);
            assert!(before.is_none_or(|before| before < number), "{key}: {number} after {before:?}");
        }
    }
    assert_eq!(known.len(), numbers, "records are missing");
    seen.len() - known.len()
}

/// Asserts that the record `answered` is reported as delivered while the other one, which gets no answer, is still
/// waited for. `on_report` runs within the report: it can make the target stop answering before the other one is sent.
pub async fn reports_early(
    transport: &dyn Transport,
    batch: [Envelope; 2],
    answered: usize,
    on_report: impl Fn() + Clone + Send + Sync + 'static,
) {
    let (reported, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let batch = batch.map(|envelope| {
        let (reported, row, on_report) = (reported.clone(), envelope.row.clone(), on_report.clone());
        let lease = postrider_seams::LeaseCheck::new(|| true).reporting(move |receipt| {
            on_report();
            reported.send((row.clone(), receipt)).expect("it is read");
        });
        Envelope { lease, ..envelope }
    });
    let mut sending = std::pin::pin!(send_by(transport, &batch, within(30.0)));
    let early = tokio::select! {
        biased;
        outcomes = &mut sending => panic!("the call ended before a report: {outcomes:?}"),
        early = reports.recv() => early.expect("a report"),
    };
    let outcomes = sending.await;
    assert_eq!(early.0, batch[answered].row);
    assert_eq!(early.1.id, delivered(&outcomes[answered]).id, "the call returns the same receipt");
    assert!(!matches!(outcomes[1 - answered], Outcome::Delivered(_)), "{outcomes:?}");
    assert!(reports.try_recv().is_err(), "one report per record");
}

/// A lease that is lost when the returned switch is turned on.
pub fn losable_lease() -> (postrider_seams::LeaseCheck, Arc<AtomicBool>) {
    let lost = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&lost);
    (postrider_seams::LeaseCheck::new(move || !switch.load(Ordering::SeqCst)), lost)
}
