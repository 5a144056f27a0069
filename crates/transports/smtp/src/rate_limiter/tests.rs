use super::*;

const MILLIS: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn without_a_rate_everything_goes_at_once() {
    let now = Instant::now();
    let rate_limiter = RateLimiter::new(None, now);
    assert!((0..1000).all(|_| rate_limiter.take(now).is_ok()));
}

#[test]
fn a_rate_gives_its_tokens_over_time_and_no_more() {
    let start = Instant::now();
    let rate_limiter = RateLimiter::new(Some(100), start);
    let gone = (0..1000).filter(|&millis| rate_limiter.take(start + MILLIS(millis)).is_ok()).count();
    assert!((100..=110).contains(&gone), "{gone} in a second at 100 a second");
}

#[test]
fn the_returned_wait_is_exact() {
    let start = Instant::now();
    let rate_limiter = RateLimiter::new(Some(4), start);
    assert_eq!(rate_limiter.take(start), Ok(()));
    let wait = rate_limiter.take(start).unwrap_err();
    assert_eq!(wait, MILLIS(250));
    assert!(rate_limiter.take(start + MILLIS(200)).is_err());
    assert_eq!(rate_limiter.take(start + wait), Ok(()));
}

#[test]
fn throttling_halves_once_per_window_and_recovers_slowly() {
    let start = Instant::now();
    let rate_limiter = RateLimiter::new(None, start);
    assert_eq!(rate_limiter.connections(8, start), 8);
    for _ in 0..8 {
        rate_limiter.slow_down(start);
    }
    assert_eq!(rate_limiter.connections(8, start), 4, "eight connections reported the same");
    rate_limiter.slow_down(start + REFUSAL_WINDOW);
    assert_eq!(rate_limiter.connections(8, start + REFUSAL_WINDOW), 2);
    for call in 2..20 {
        rate_limiter.slow_down(start + REFUSAL_WINDOW * call);
    }
    assert_eq!(rate_limiter.connections(8, start + REFUSAL_WINDOW * 19), 1, "never none");
    assert_eq!(rate_limiter.connections(8, start + REFUSAL_WINDOW * 19 + RECOVERY_TIME), 8);
}

#[test]
fn throttling_slows_the_rate_too() {
    let start = Instant::now();
    let rate_limiter = RateLimiter::new(Some(4), start);
    rate_limiter.take(start).unwrap();
    rate_limiter.slow_down(start);
    assert_eq!(rate_limiter.take(start), Err(MILLIS(500)));
}
