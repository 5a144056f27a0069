//! The metrics under the specification's names (O6), in addition to our own.

use super::broker::{Broker, Protocol, unique};
use super::setup::{Event, OutboxLane};
use crate::sandbox::RunningBinary;
use crate::support::database::Kind;
use crate::support::wait::{TIMEOUT, wait_until};

/// The value of a metric of the lane.
fn metric(running: &RunningBinary, name: &str) -> f64 {
    let (_, figures) = tokio::task::block_in_place(|| running.get("/metrics"));
    let start = format!("{name}{{lane=\"events\"}} ");
    let found = figures.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok());
    found.unwrap_or_else(|| panic!("no {name} in\n{figures}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn o06_metrics_have_the_specified_names() {
    let broker = Broker::shared(Protocol::Nats);
    let topic = unique("deals");
    broker.make(&topic).await;
    let outbox = OutboxLane::open(Kind::Postgres, &broker, "dead_letter = true").await;
    let running = outbox.start();
    let polls = wait_until("empty polls are counted", TIMEOUT, || async {
        Some(metric(&running, "outbox_poll_count_total")).filter(|polls| *polls >= 2.0)
    });
    let polls = polls.await;
    for name in ["outbox_published_total", "outbox_records_failed_total", "outbox_stuck_recovered_total"] {
        assert!(metric(&running, name).abs() < f64::EPSILON, "{name} is there before anything happened");
    }
    for number in 0..3 {
        let dedupe = format!("e-{number}");
        outbox.insert(&Event { topic: &topic, payload: "{}", dedupe: &dedupe, key: None }).await;
    }
    let missing = unique("nobody");
    outbox.insert(&Event { topic: &missing, payload: "{}", dedupe: "bad", key: None }).await;
    outbox.wait_for_count("DELIVERED", 3).await;
    outbox.eventually("bad", "FAILED").await;
    wait_until("what was settled is counted", TIMEOUT, || async {
        let (published, failed) =
            (metric(&running, "outbox_published_total"), metric(&running, "outbox_records_failed_total"));
        ((published, failed) == (3.0, 1.0)).then_some(())
    })
    .await;
    assert!(metric(&running, "outbox_poll_count_total") > polls);
    assert!(metric(&running, "outbox_poll_duration_seconds_count") >= polls);
    assert!(metric(&running, "outbox_lag_seconds") >= 0.0);
    assert!(metric(&running, "postrider_rows_claimed_total") >= 4.0, "our own names exist as well");

    let reference = include_str!("../../../../../docs/reference/metrics.md");
    let (_, figures) = tokio::task::block_in_place(|| running.get("/metrics"));
    for name in figures.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
        assert!(reference.contains(&format!("| `{name}` |")), "{name} is not in docs/reference/metrics.md");
    }
}
