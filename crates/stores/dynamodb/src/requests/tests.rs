use std::sync::atomic::AtomicU32;

use super::*;

fn request_error(throttled: bool) -> RequestError {
    RequestError { error: Error::new(Class::Transient, "slow down"), throttled, unanswered: false }
}

#[tokio::test(start_paused = true)]
async fn throttling_is_waited_out_within_the_time_there_is() {
    let asked = AtomicU32::new(0);
    let answer = retry_throttled(Duration::from_mins(1), || async {
        if asked.fetch_add(1, Relaxed) < 6 { Err(request_error(true)) } else { Ok("done") }
    });
    assert_eq!(answer.await.unwrap(), "done");
    assert_eq!(asked.load(Relaxed), 7);

    let start = Instant::now();
    let never = retry_throttled(Duration::from_mins(1), || async { Err::<(), _>(request_error(true)) });
    assert!(never.await.is_err());
    assert!(start.elapsed() < Duration::from_mins(1), "it ends before the lease does");
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_service_is_reported_at_once() {
    let start = Instant::now();
    let away = retry_throttled(Duration::from_mins(1), || async { Err::<(), _>(request_error(false)) });
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
