use std::time::Duration;

use super::Pace;

#[test]
fn a_fast_target_gets_full_batches_and_a_slow_one_single_envelopes() {
    let pace = Pace::default();
    assert_eq!(pace.share(20), 1, "nothing is known yet: a crash is counted against all rows of a call");
    pace.note(Duration::from_millis(10), 20);
    assert_eq!(pace.share(20), 20);
    for _ in 0..50 {
        pace.note(Duration::from_secs(20), 20);
    }
    assert_eq!(pace.share(20), 1);
    for _ in 0..100 {
        pace.note(Duration::from_millis(50), 1);
    }
    assert_eq!(pace.share(20), 4, "50 ms each: about a quarter of a second a call");
}
