use super::*;

fn host(limit: usize) -> Arc<Host> {
    Hosts::new(limit, 512, BreakerSettings { failures: 3, ..BreakerSettings::default() })
        .host("https://a.example:443")
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

async fn slot(host: &Arc<Host>) -> Slot {
    host.slot(None, soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"))
}

async fn put_off(host: &Arc<Host>) -> Duration {
    match host.slot(None, soon()).await {
        Err(Outcome::Deferred(failure)) => failure.after.unwrap(),
        _ => panic!("it was let through"),
    }
}

#[tokio::test(start_paused = true)]
async fn j09_a_host_that_hangs_gets_its_first_slots_and_a_few_spare_ones() {
    let host = host(64);
    let mut hanging = vec![slot(&host).await, slot(&host).await];
    let started = Instant::now();
    hanging.push(slot(&host).await);
    assert_eq!(started.elapsed(), PATIENCE, "one more when nothing came back for a moment");
    hanging.push(slot(&host).await);
    assert_eq!(started.elapsed(), PATIENCE * 2, "and the next a moment later");
    tokio::time::advance(Duration::from_secs(20)).await;
    for _ in 4..8 {
        hanging.push(slot(&host).await);
    }
    assert!(put_off(&host).await >= Duration::from_secs(20), "the longer it hangs, the longer its rows wait");
    drop(hanging);
    slot(&host).await.report(Health::Well);
}

/// Sends a request that succeeds after `takes`; deferred rows come back as the engine would bring them.
fn request(host: &Arc<Host>, client: Option<&'static str>, takes: Duration) -> tokio::task::JoinHandle<()> {
    let host = Arc::clone(host);
    tokio::spawn(async move {
        let slot = loop {
            match host.slot(client, soon()).await {
                Ok(slot) => break slot,
                Err(Outcome::Deferred(failure)) => tokio::time::sleep(failure.after.unwrap()).await,
                Err(other) => panic!("{other:?}"),
            }
        };
        tokio::time::sleep(takes).await;
        slot.report(Health::Well);
    })
}

#[tokio::test(start_paused = true)]
async fn j09_quick_requests_overtake_slow_ones_at_the_same_host() {
    let host = host(64);
    for _ in 0..2 {
        drop(request(&host, None, Duration::from_secs(25)));
    }
    tokio::task::yield_now().await;
    let began = Instant::now();
    let quick: Vec<_> = (0..20).map(|_| request(&host, None, Duration::from_millis(50))).collect();
    for one in quick {
        one.await.unwrap();
    }
    assert!(began.elapsed() <= Duration::from_secs(2), "took {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn j09_spare_slots_of_hosts_that_hang_are_bounded_over_all_hosts() {
    let hosts = Hosts::new(64, 64, BreakerSettings::default());
    let mut hanging = Vec::new();
    for n in 0..50 {
        let host = hosts.host(&format!("https://h{n}.example:443"));
        hanging.extend([slot(&host).await, slot(&host).await]);
    }
    tokio::time::advance(Duration::from_secs(10)).await;
    let mut spare = Vec::new();
    for n in 0..50 {
        let host = hosts.host(&format!("https://h{n}.example:443"));
        spare.extend(host.slot(None, soon()).await.ok());
    }
    assert_eq!(spare.len(), 4, "a quarter of a quarter of 64 is one client's");
}

#[tokio::test(start_paused = true)]
async fn j05_retry_after_holds_its_own_client_only() {
    let host = host(8);
    host.slot(Some("a"), soon()).await.ok().unwrap().report(Health::Hold(Duration::from_hours(1)));
    assert!(host.slot(Some("a"), soon()).await.is_err());
    host.slot(Some("b"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}")).report(Health::Well);
    slot(&host).await.report(Health::Well);
}

#[tokio::test(start_paused = true)]
async fn j09_failures_of_one_client_open_no_breaker_of_another() {
    let host = host(8);
    for _ in 0..3 {
        host.slot(Some("a"), soon()).await.ok().unwrap().report(Health::Unwell);
    }
    assert!(host.slot(Some("a"), soon()).await.is_err());
    for _ in 0..2 {
        host.slot(Some("b"), soon()).await.ok().unwrap().report(Health::Well);
    }
}

#[tokio::test(start_paused = true)]
async fn j09_requests_of_one_client_that_hang_leave_slots_to_others() {
    let host = host(64);
    for _ in 0..6 {
        host.slot(Some("a"), soon()).await.ok().unwrap().report(Health::Well);
    }
    let mut hanging = Vec::new();
    while let Ok(slot) = host.slot(Some("a"), soon()).await {
        hanging.push(slot);
    }
    assert!(hanging.len() >= 60, "{}", hanging.len());
    let began = Instant::now();
    let slot = host.slot(Some("b"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"));
    assert_eq!(began.elapsed(), Duration::ZERO);
    slot.report(Health::Well);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_answers_gets_more_up_to_its_limit() {
    let host = host(8);
    for _ in 0..5 {
        slot(&host).await.report(Health::Well);
    }
    let mut turns = Vec::new();
    for _ in 0..8 {
        turns.push(slot(&host).await);
    }
    let waiting = tokio::spawn({
        let host = Arc::clone(&host);
        async move { host.slot(None, soon()).await.is_ok() }
    });
    tokio::task::yield_now().await;
    turns.pop().unwrap().report(Health::Well);
    assert!(waiting.await.unwrap(), "who waits gets the turn that comes free");
}

#[tokio::test(start_paused = true)]
async fn j09_a_host_that_keeps_failing_is_left_alone_and_probed() {
    let host = host(8);
    for _ in 0..3 {
        slot(&host).await.report(Health::Unwell);
    }
    let wait = put_off(&host).await;
    assert!(wait >= Duration::from_secs(10), "{wait:?}");
    tokio::time::advance(Duration::from_secs(10)).await;
    let probe = slot(&host).await;
    put_off(&host).await;
    probe.report(Health::Well);
    slot(&host).await.report(Health::Well);
}

#[tokio::test(start_paused = true)]
async fn j05_retry_after_holds_the_whole_host() {
    let host = host(8);
    slot(&host).await.report(Health::Hold(Duration::from_secs(90)));
    assert!(put_off(&host).await >= Duration::from_secs(90));
    tokio::time::advance(Duration::from_mins(1)).await;
    let rest = put_off(&host).await;
    assert!(rest >= Duration::from_secs(30) && rest <= Duration::from_secs(38), "{rest:?}");
    tokio::time::advance(Duration::from_secs(30)).await;
    slot(&host).await.report(Health::Well);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_given_up_leaves_nothing_behind() {
    let host = host(8);
    for _ in 0..3 {
        slot(&host).await.report(Health::Unwell);
    }
    tokio::time::advance(Duration::from_secs(10)).await;
    drop(slot(&host).await);
    slot(&host).await.report(Health::Well);
    assert!(host.is_forgettable());
}

/// Starts a hundred endless loops of deliveries of one client, each request taking `takes`.
fn flood(host: &Arc<Host>, client: &'static str, takes: Duration) {
    for _ in 0..100 {
        let host = Arc::clone(host);
        tokio::spawn(async move {
            loop {
                if let Ok(slot) = host.slot(Some(client), soon()).await {
                    tokio::time::sleep(takes).await;
                    slot.report(Health::Well);
                } else {
                    tokio::time::sleep(SHORTEST_PUT_OFF).await;
                }
            }
        });
    }
}

#[tokio::test(start_paused = true)]
async fn j09_clients_take_turns_at_a_host_that_one_of_them_floods() {
    let host = host(4);
    let takes = Duration::from_millis(100);
    flood(&host, "a", takes);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let began = Instant::now();
    let ten = (0..10).map(|_| {
        let host = Arc::clone(&host);
        tokio::spawn(async move {
            let slot = host.slot(Some("b"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"));
            tokio::time::sleep(takes).await;
            slot.report(Health::Well);
        })
    });
    for one in ten.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    // Every other turn of four at once: five rounds, after the one that is under way, and a rest.
    assert!(began.elapsed() <= takes * 8, "took {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn j09_nobody_is_put_off_by_another_client_at_a_slow_host() {
    let host = host(1);
    let takes = Duration::from_secs(1);
    slot(&host).await.report(Health::Well);
    flood(&host, "a", takes);
    tokio::time::sleep(Duration::from_secs(30)).await;
    let began = Instant::now();
    let slot = host.slot(Some("b"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"));
    assert!(began.elapsed() <= takes * 2, "the turn after the one under way: {:?}", began.elapsed());
    slot.report(Health::Well);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_put_off_by_a_host_whose_turns_come_free_all_the_time() {
    let host = host(8);
    let takes = Duration::from_millis(40);
    let one = || {
        let host = Arc::clone(&host);
        tokio::spawn(async move {
            let slot = host.slot(Some("a"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"));
            tokio::time::sleep(takes).await;
            slot.report(Health::Well);
        })
    };
    // 1.5 s of work, all at once.
    for one in (0..300).map(|_| one()).collect::<Vec<_>>() {
        one.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_told_at_once_that_the_host_is_to_be_left_alone() {
    let host = host(1);
    let first = slot(&host).await;
    let waiting = tokio::spawn({
        let host = Arc::clone(&host);
        async move { host.slot(None, soon()).await.is_err() }
    });
    tokio::task::yield_now().await;
    let began = Instant::now();
    first.report(Health::Hold(Duration::from_mins(2)));
    assert!(waiting.await.unwrap() && began.elapsed() < PATIENCE);
}

#[tokio::test(start_paused = true)]
async fn a_turn_for_who_has_gone_goes_to_the_next() {
    let host = host(1);
    let first = slot(&host).await;
    let wait = |client: &'static str| {
        let host = Arc::clone(&host);
        tokio::spawn(async move { host.slot(Some(client), soon()).await.is_ok() })
    };
    let (gone, next) = (wait("a"), wait("b"));
    tokio::task::yield_now().await;
    gone.abort();
    let _ = gone.await;
    first.report(Health::Well);
    assert!(next.await.unwrap());
    assert!(host.is_forgettable(), "all turns came back");
}
