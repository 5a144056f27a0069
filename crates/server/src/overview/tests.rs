use super::*;
use crate::overview::rates::STEP;

fn status(delivered: u64, failed: u64, health: Health) -> LaneStatus {
    LaneStatus {
        lane: "mail".to_owned(),
        contract: "mail_outbox".to_owned(),
        stage: "dispatch".to_owned(),
        health,
        held: 0,
        claimed: 0,
        delivered,
        retried: 0,
        failed,
        lost: 0,
        reclaimed: 0,
        store_trouble: None,
        target_trouble: None,
        stuck_for: None,
    }
}

#[tokio::test(start_paused = true)]
async fn rates_are_of_the_last_seconds_and_the_history_of_an_hour() {
    let mut rates = Rates::default();
    for second in 0..=7_200 {
        rates.record(Instant::now(), &[status(second * 5, second, Health::Running)]);
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    let (delivered, failed) = rates.now("mail");
    assert!((delivered - 5.0).abs() < 0.01 && (failed - 1.0).abs() < 0.01, "{delivered} {failed}");
    let (delivered, failed) = rates.history("mail");
    assert_eq!((delivered.len() as u64, failed.len()), (3_600 / STEP.as_secs(), 120));
    assert!(delivered.iter().all(|rate| (rate - 5.0).abs() < 0.01), "{delivered:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_health_is_due_at_once_and_the_rest_every_few_seconds() {
    let mut shown = Shown::default();
    let fine = [status(0, 0, Health::Running)];
    assert!(shown.is_due(Instant::now(), &fine));
    assert!(!shown.is_due(Instant::now(), &fine));
    let away = [status(0, 0, Health::StoreUnavailable { reason: "gone".to_owned() })];
    assert!(shown.is_due(Instant::now(), &away));
    tokio::time::advance(OVERVIEW_INTERVAL).await;
    assert!(shown.is_due(Instant::now(), &away));
}

#[test]
fn attention_messages_are_sentences() {
    use postrider_seams::inspect::{Lag, StateCount};
    let since = postrider_hub::Moment::parse("2026-01-31T14:05:09Z").expect("a time");
    let count = |rows, more| StateCount { state: "failed".to_owned(), rows, more };
    let failed = counts::Failed {
        count: count(214, false),
        since: Some(since),
        last_error: Some("550 no such user".to_owned()),
    };
    let counts = Counts {
        failed: vec![failed, counts::Failed { count: count(10_000, true), since: None, last_error: None }],
        lag: Lag { oldest_due_seconds: Some(3_600.0), oldest_claim_seconds: None },
        ..Counts::default()
    };
    let texts = |health| -> Vec<String> {
        let found = attention::of(&status(0, 0, health), &counts);
        found.into_iter().map(|sentence| sentence.text).collect()
    };
    let running = texts(Health::Running);
    assert_eq!(
        running,
        [
            "214 rows failed since 2026-01-31 14:05, last error: 550 no such user",
            "over 10,000 rows failed",
            "the oldest due row has waited for 60 min",
        ]
    );
    let away = texts(Health::Unreachable { reason: "connection refused".to_owned() });
    assert!(away[0].contains("connection refused") && away.len() == 3, "{away:?}");
    let gone = Counts { away: Some("no answer within 5 s".to_owned()), ..Counts::default() };
    let gone = attention::of(&status(0, 0, Health::Running), &gone);
    assert!(gone[0].level == "bad" && gone[0].text.contains("no answer"), "{gone:?}");
}
