use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn opened(now: Instant) -> Breaker {
    let mut breaker = Breaker::new(BreakerSettings { failures: 3, ..BreakerSettings::default() });
    (0..3).for_each(|_| breaker.failed(now));
    breaker
}

#[test]
fn j09_failures_in_a_row_open_it_and_a_success_between_does_not() {
    let now = Instant::now();
    let mut breaker = Breaker::new(BreakerSettings { failures: 3, ..BreakerSettings::default() });
    for _ in 0..5 {
        breaker.failed(now);
        breaker.failed(now);
        breaker.succeeded();
    }
    assert_eq!(breaker.admit(now), Admission::Pass);
    assert_eq!(opened(now).admit(now), Admission::Wait(10 * SECOND));
    assert_eq!(opened(now).admit(now + 4 * SECOND), Admission::Wait(6 * SECOND));
}

#[test]
fn j09_one_probe_goes_through_and_decides() {
    let now = Instant::now();
    let later = now + 10 * SECOND;
    let mut breaker = opened(now);
    assert_eq!(breaker.admit(later), Admission::Pass);
    assert_eq!(breaker.admit(later), Admission::Wait(10 * SECOND), "only one");
    let mut well = breaker.clone();
    well.succeeded();
    assert!(well.is_closed() && well.admit(later) == Admission::Pass && well.admit(later) == Admission::Pass);
    breaker.failed(later);
    assert_eq!(breaker.admit(later), Admission::Wait(20 * SECOND), "twice as long");
}

#[test]
fn j09_the_wait_has_an_end() {
    let mut now = Instant::now();
    let mut breaker = opened(now);
    for _ in 0..20 {
        let Admission::Wait(wait) = breaker.admit(now) else { panic!("it is open") };
        assert!(wait <= Duration::from_mins(5));
        now += wait;
        assert_eq!(breaker.admit(now), Admission::Pass);
        breaker.failed(now);
    }
    assert_eq!(breaker.admit(now), Admission::Wait(Duration::from_mins(5)));
}

#[test]
fn late_failures_do_not_extend_it_and_lost_probes_are_replaced() {
    let now = Instant::now();
    let mut breaker = opened(now);
    breaker.failed(now + 9 * SECOND);
    assert_eq!(breaker.admit(now + 10 * SECOND), Admission::Pass);
    assert_eq!(breaker.admit(now + 131 * SECOND), Admission::Pass, "the first probe never came back");
    breaker.probe_not_sent(now + 131 * SECOND);
    assert_eq!(breaker.admit(now + 131 * SECOND), Admission::Pass, "the second was not made");
}
