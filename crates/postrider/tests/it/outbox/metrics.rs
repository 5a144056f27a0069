//! The metrics under the specification's names (O6), in addition to our own.

use super::broker::{Broker, Protocol, unique};
use super::site::{Event, Site};
use crate::rig::database::Kind;
use crate::rig::wait::{PATIENCE, until};
use crate::shop::Running;

/// The value of a metric of the lane.
fn figure(running: &Running, name: &str) -> f64 {
    let (_, figures) = tokio::task::block_in_place(|| running.get("/metrics"));
    let start = format!("{name}{{lane=\"events\"}} ");
    let found = figures.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok());
    found.unwrap_or_else(|| panic!("no {name} in\n{figures}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn o06_the_specifications_names_are_on_metrics() {
    let broker = Broker::shared(Protocol::Nats);
    let topic = unique("deals");
    broker.make(&topic).await;
    let site = Site::open(Kind::Postgres, &broker, "dead_letter = true").await;
    let running = site.start();
    let polls = until("empty polls are counted", PATIENCE, || async {
        Some(figure(&running, "outbox_poll_count_total")).filter(|polls| *polls >= 2.0)
    });
    let polls = polls.await;
    for name in ["outbox_published_total", "outbox_records_failed_total", "outbox_stuck_recovered_total"] {
        assert!(figure(&running, name).abs() < f64::EPSILON, "{name} is there before anything happened");
    }
    for number in 0..3 {
        let dedupe = format!("e-{number}");
        site.insert(&Event { topic: &topic, payload: "{}", dedupe: &dedupe, key: None }).await;
    }
    let missing = unique("nobody");
    site.insert(&Event { topic: &missing, payload: "{}", dedupe: "bad", key: None }).await;
    site.until_count("DELIVERED", 3).await;
    site.eventually("bad", "FAILED").await;
    until("what was settled is counted", PATIENCE, || async {
        let (published, failed) =
            (figure(&running, "outbox_published_total"), figure(&running, "outbox_records_failed_total"));
        ((published, failed) == (3.0, 1.0)).then_some(())
    })
    .await;
    assert!(figure(&running, "outbox_poll_count_total") > polls);
    assert!(figure(&running, "outbox_poll_duration_seconds_count") >= polls);
    assert!(figure(&running, "outbox_lag_seconds") >= 0.0);
    assert!(figure(&running, "postrider_rows_claimed_total") >= 4.0, "ours are beside them");

    let reference = include_str!("../../../../../docs/reference/metrics.md");
    let (_, figures) = tokio::task::block_in_place(|| running.get("/metrics"));
    for name in figures.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
        assert!(reference.contains(&format!("| `{name}` |")), "{name} is not in docs/reference/metrics.md");
    }
}
