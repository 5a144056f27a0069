use super::*;

const MILLIS: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn without_a_rate_everything_goes_at_once() {
    let now = Instant::now();
    let pace = Pace::new(None, now);
    assert!((0..1000).all(|_| pace.take(now).is_ok()));
}

#[test]
fn a_rate_gives_its_tokens_over_time_and_no_more() {
    let start = Instant::now();
    let pace = Pace::new(Some(100), start);
    let gone = (0..1000).filter(|&millis| pace.take(start + MILLIS(millis)).is_ok()).count();
    assert!((100..=110).contains(&gone), "{gone} in a second at 100 a second");
}

#[test]
fn a_wait_is_as_long_as_it_says() {
    let start = Instant::now();
    let pace = Pace::new(Some(4), start);
    assert_eq!(pace.take(start), Ok(()));
    let wait = pace.take(start).unwrap_err();
    assert_eq!(wait, MILLIS(250));
    assert!(pace.take(start + MILLIS(200)).is_err());
    assert_eq!(pace.take(start + wait), Ok(()));
}

#[test]
fn a_brake_halves_once_per_call_and_lets_go_slowly() {
    let start = Instant::now();
    let pace = Pace::new(None, start);
    assert_eq!(pace.connections(8, start), 8);
    for _ in 0..8 {
        pace.slow_down(start);
    }
    assert_eq!(pace.connections(8, start), 4, "eight connections told the same");
    pace.slow_down(start + ONE_CALL);
    assert_eq!(pace.connections(8, start + ONE_CALL), 2);
    for call in 2..20 {
        pace.slow_down(start + ONE_CALL * call);
    }
    assert_eq!(pace.connections(8, start + ONE_CALL * 19), 1, "never none");
    assert_eq!(pace.connections(8, start + ONE_CALL * 19 + RECOVERY), 8);
}

#[test]
fn a_brake_slows_the_rate_too() {
    let start = Instant::now();
    let pace = Pace::new(Some(4), start);
    pace.take(start).unwrap();
    pace.slow_down(start);
    assert_eq!(pace.take(start), Err(MILLIS(500)));
}
