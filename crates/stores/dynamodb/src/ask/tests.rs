use std::sync::atomic::AtomicU32;

use super::*;

fn trouble(throttled: bool) -> Trouble {
    Trouble { error: Error::new(Class::Transient, "slow down"), throttled, unanswered: false }
}

#[tokio::test(start_paused = true)]
async fn throttling_is_waited_out_within_the_time_there_is() {
    let asked = AtomicU32::new(0);
    let answer = patiently(Duration::from_mins(1), || async {
        if asked.fetch_add(1, Relaxed) < 6 { Err(trouble(true)) } else { Ok("done") }
    });
    assert_eq!(answer.await.unwrap(), "done");
    assert_eq!(asked.load(Relaxed), 7);

    let start = Instant::now();
    let never = patiently(Duration::from_mins(1), || async { Err::<(), _>(trouble(true)) });
    assert!(never.await.is_err());
    assert!(start.elapsed() < Duration::from_mins(1), "it ends before the lease does");
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_reached_is_told_at_once() {
    let start = Instant::now();
    let away = patiently(Duration::from_mins(1), || async { Err::<(), _>(trouble(false)) });
    assert!(away.await.is_err());
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[test]
fn both_spellings_of_a_refusal_are_known() {
    for code in [
        "ConditionalCheckFailed",
        "ConditionalCheckFailedException",
        "DuplicateItem",
        "DuplicateItemException",
    ] {
        assert!(is_refusal(code), "{code}");
    }
    assert!(!is_refusal("None") && !is_refusal("TransactionConflict"));
}
