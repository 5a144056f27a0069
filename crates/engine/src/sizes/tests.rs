use super::*;

fn limits(batch: u32, max_batch: u32, max_held: usize) -> Limits {
    Limits {
        concurrency: 4,
        batch,
        max_batch,
        max_batch_distant: max_batch,
        max_held,
        large_row_bytes: 1 << 20,
        timeout: Duration::from_secs(1),
        poll_interval: Duration::from_secs(1),
        maintenance_interval: Duration::from_secs(1),
        single_claimer: false,
    }
}

fn near(waiting: usize) -> FullClaim {
    FullClaim { is_distant: false, waiting, row_bytes: 100 }
}

fn far(row_bytes: u64) -> FullClaim {
    FullClaim { is_distant: true, waiting: 0, row_bytes }
}

#[test]
fn o03_full_claims_grow_while_nothing_waits_and_shrink_when_much_does() {
    let limits = limits(50, 500, 2000);
    let size = ClaimSize::new(&limits);
    assert_eq!((size.rows(), size.held(&limits)), (50, 200));
    for expected in [100, 200, 400, 500, 500] {
        size.came_full(&limits, &near(0));
        assert_eq!(size.rows(), expected);
    }
    assert_eq!(size.held(&limits), 2000);
    size.came_full(&limits, &near(100));
    assert_eq!(size.rows(), 500, "some that wait keep deliveries busy");
    for expected in [250, 125, 62, 50, 50] {
        size.came_full(&limits, &near(5000));
        assert_eq!(size.rows(), expected);
    }
}

#[test]
fn a_batch_that_was_chosen_stays() {
    let limits = limits(20, 20, 40);
    let size = ClaimSize::new(&limits);
    size.came_full(&limits, &near(0));
    size.came_full(&limits, &far(100));
    assert_eq!((size.rows(), size.held(&limits)), (20, 40));
}

#[test]
fn a_limit_that_was_chosen_is_never_passed() {
    let limits = limits(50, 500, 100);
    let size = ClaimSize::new(&limits);
    for _ in 0..5 {
        assert_eq!(size.held(&limits), 100);
        size.came_full(&limits, &near(0));
    }
}

#[test]
fn claims_from_a_distant_database_grow_further_and_shrink_when_it_is_near() {
    let limits = Limits { max_batch_distant: 2000, ..limits(200, 500, 2000) };
    let size = ClaimSize::new(&limits);
    for expected in [400, 800, 1600, 2000] {
        size.came_full(&limits, &far(100));
        assert_eq!(size.rows(), expected);
    }
    assert_eq!(size.held(&limits), 8000);
    size.came_full(&limits, &near(0));
    assert_eq!((size.rows(), size.held(&limits)), (500, 2000));
}

#[test]
fn rows_held_from_a_distant_database_fit_into_the_byte_budget() {
    let limits = Limits { max_batch_distant: 2000, large_row_bytes: 64 << 20, ..limits(200, 500, 2000) };
    let size = ClaimSize::new(&limits);
    for _ in 0..5 {
        size.came_full(&limits, &far(16 << 10));
    }
    assert_eq!((size.rows(), size.held(&limits)), (1024, 4096));
    for _ in 0..5 {
        size.came_full(&limits, &far(64 << 10));
    }
    assert_eq!(size.rows(), 500, "as without the distance");
}

#[test]
fn a_distant_database_answers_every_call_late_and_a_busy_one_only_most() {
    let (distant, busy) = (RoundTrip::default(), RoundTrip::default());
    for mark in 0..100 {
        let late = Duration::from_millis(90 + mark % 5);
        distant.note(late);
        assert!(distant.is_distant(), "at mark {mark}");
        busy.note(if mark % 8 == 1 { Duration::from_millis(4) } else { late });
        assert_eq!(busy.is_distant(), mark == 0, "at mark {mark}");
    }
    distant.note(Duration::from_millis(3));
    assert!(!distant.is_distant(), "one quick answer shows that it is near");
}

#[test]
fn a_fast_target_gets_full_batches_and_a_slow_one_single_envelopes() {
    let size = CallSize::default();
    assert_eq!(size.envelopes(20), 1, "nothing is known yet: a crash is counted against all rows of a call");
    size.note(Duration::from_millis(10), 20);
    assert_eq!(size.envelopes(20), 20);
    for _ in 0..50 {
        size.note(Duration::from_secs(20), 20);
    }
    assert_eq!(size.envelopes(20), 1);
    for _ in 0..100 {
        size.note(Duration::from_millis(50), 1);
    }
    assert_eq!(size.envelopes(20), 4, "50 ms each: about a quarter of a second a call");
}

fn ahead(size: &CallsAhead) -> Option<usize> {
    *size.calls()
}

#[test]
fn calls_are_prepared_ahead_for_a_distant_database_and_a_fast_target_alone() {
    let size = CallsAhead::new(8, true);
    let note = |mark: u64, call: u64| {
        for _ in 0..60 {
            size.note_call(Duration::from_millis(call));
            size.note_mark(Duration::from_millis(mark));
        }
        ahead(&size).expect("not closed")
    };
    assert_eq!(note(2, 10), 0, "a near database");
    assert_eq!(note(40, 250), 0, "a slow target");
    assert_eq!(note(100, 5000), 0, "a slow target and a distant database");
    let many = note(120, 10);
    assert!((110..=150).contains(&many), "as many as are sent during two marks: {many}");
    assert_eq!(note(5000, 1), 256, "bounded");
    let none = CallsAhead::new(8, false);
    none.note_call(Duration::from_millis(1));
    none.note_mark(Duration::from_secs(1));
    assert_eq!((none.most(), ahead(&none)), (0, Some(0)));
}

#[tokio::test]
async fn deliverers_ahead_end_with_the_lane() {
    let size = CallsAhead::new(8, true);
    size.note_call(Duration::from_millis(1));
    size.note_mark(Duration::from_millis(31));
    assert!(size.wants(15).await);
    let (ended, ()) = tokio::join!(size.wants(16), async { size.close() });
    assert!(!ended && !size.wants(0).await);
}

/// Averages do not change while a lane is idle or its target hangs.
#[tokio::test(start_paused = true)]
async fn g02_no_more_calls_are_ahead_than_were_answered_during_two_marks() {
    let size = CallsAhead::new(8, true);
    assert_eq!(size.under_way_at_most(), 8);
    for _ in 0..60 {
        size.note_call(Duration::from_millis(10));
        size.note_mark(Duration::from_millis(100));
    }
    assert_eq!(size.under_way_at_most(), 8 + 60);
    tokio::time::advance(Duration::from_millis(150)).await;
    size.note_call(Duration::from_millis(10));
    assert_eq!(size.under_way_at_most(), 8 + 61);
    tokio::time::advance(Duration::from_millis(100)).await;
    assert_eq!(size.under_way_at_most(), 8 + 1, "one was answered lately");
    tokio::time::advance(Duration::from_millis(200)).await;
    assert_eq!(size.under_way_at_most(), 8, "the target hangs, or nothing is to be sent");
}
