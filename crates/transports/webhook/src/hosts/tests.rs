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

async fn defer(host: &Arc<Host>) -> Duration {
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
    assert_eq!(started.elapsed(), SLOT_WAIT, "one more when nothing came back for a moment");
    hanging.push(slot(&host).await);
    assert_eq!(started.elapsed(), SLOT_WAIT * 2, "and the next a moment later");
    tokio::time::advance(Duration::from_secs(20)).await;
    for _ in 4..8 {
        hanging.push(slot(&host).await);
    }
    assert!(defer(&host).await >= Duration::from_secs(20), "the longer it hangs, the longer its rows wait");
    drop(hanging);
    slot(&host).await.report(HostHealth::Healthy);
}

/// Sends a request that succeeds after `typical_duration`; deferred rows come back as the engine would bring them.
fn request(
    host: &Arc<Host>,
    client: Option<&'static str>,
    typical_duration: Duration,
) -> tokio::task::JoinHandle<()> {
    let host = Arc::clone(host);
    tokio::spawn(async move {
        let slot = loop {
            match host.slot(client, soon()).await {
                Ok(slot) => break slot,
                Err(Outcome::Deferred(failure)) => tokio::time::sleep(failure.after.unwrap()).await,
                Err(other) => panic!("{other:?}"),
            }
        };
        tokio::time::sleep(typical_duration).await;
        slot.report(HostHealth::Healthy);
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
    host.slot(Some("a"), soon()).await.ok().unwrap().report(HostHealth::Hold(Duration::from_hours(1)));
    assert!(host.slot(Some("a"), soon()).await.is_err());
    host.slot(Some("b"), soon())
        .await
        .unwrap_or_else(|put_off| panic!("{put_off:?}"))
        .report(HostHealth::Healthy);
    slot(&host).await.report(HostHealth::Healthy);
}

#[tokio::test(start_paused = true)]
async fn j09_failures_of_one_client_open_no_breaker_of_another() {
    let host = host(8);
    for _ in 0..3 {
        host.slot(Some("a"), soon()).await.ok().unwrap().report(HostHealth::Failing);
    }
    assert!(host.slot(Some("a"), soon()).await.is_err());
    for _ in 0..2 {
        host.slot(Some("b"), soon()).await.ok().unwrap().report(HostHealth::Healthy);
    }
}

#[tokio::test(start_paused = true)]
async fn j09_requests_of_one_client_that_hang_leave_slots_to_others() {
    let host = host(64);
    for _ in 0..6 {
        host.slot(Some("a"), soon()).await.ok().unwrap().report(HostHealth::Healthy);
    }
    let mut hanging = Vec::new();
    while let Ok(slot) = host.slot(Some("a"), soon()).await {
        hanging.push(slot);
    }
    assert!(hanging.len() >= 60, "{}", hanging.len());
    let began = Instant::now();
    let slot = host.slot(Some("b"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"));
    assert_eq!(began.elapsed(), Duration::ZERO);
    slot.report(HostHealth::Healthy);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_answers_gets_more_up_to_its_limit() {
    let host = host(8);
    for _ in 0..5 {
        slot(&host).await.report(HostHealth::Healthy);
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
    turns.pop().unwrap().report(HostHealth::Healthy);
    assert!(waiting.await.unwrap(), "who waits gets the turn that comes free");
}

#[tokio::test(start_paused = true)]
async fn j09_a_failing_host_is_held_and_probed() {
    let host = host(8);
    for _ in 0..3 {
        slot(&host).await.report(HostHealth::Failing);
    }
    let wait = defer(&host).await;
    assert!(wait >= Duration::from_secs(10), "{wait:?}");
    tokio::time::advance(Duration::from_secs(10)).await;
    let probe = slot(&host).await;
    defer(&host).await;
    probe.report(HostHealth::Healthy);
    slot(&host).await.report(HostHealth::Healthy);
}

#[tokio::test(start_paused = true)]
async fn j05_retry_after_holds_the_whole_host() {
    let host = host(8);
    slot(&host).await.report(HostHealth::Hold(Duration::from_secs(90)));
    assert!(defer(&host).await >= Duration::from_secs(90));
    tokio::time::advance(Duration::from_mins(1)).await;
    let rest = defer(&host).await;
    assert!(rest >= Duration::from_secs(30) && rest <= Duration::from_secs(38), "{rest:?}");
    tokio::time::advance(Duration::from_secs(30)).await;
    slot(&host).await.report(HostHealth::Healthy);
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_wait_leaves_the_queue() {
    let host = host(8);
    for _ in 0..3 {
        slot(&host).await.report(HostHealth::Failing);
    }
    tokio::time::advance(Duration::from_secs(10)).await;
    drop(slot(&host).await);
    slot(&host).await.report(HostHealth::Healthy);
    assert!(host.can_be_dropped());
}

/// Starts a hundred endless loops of deliveries of one client, each request taking `typical_duration`.
fn flood(host: &Arc<Host>, client: &'static str, typical_duration: Duration) {
    for _ in 0..100 {
        let host = Arc::clone(host);
        tokio::spawn(async move {
            loop {
                if let Ok(slot) = host.slot(Some(client), soon()).await {
                    tokio::time::sleep(typical_duration).await;
                    slot.report(HostHealth::Healthy);
                } else {
                    tokio::time::sleep(MIN_DEFERRAL).await;
                }
            }
        });
    }
}

#[tokio::test(start_paused = true)]
async fn j09_clients_are_served_round_robin_when_one_floods_a_host() {
    let host = host(4);
    let typical_duration = Duration::from_millis(100);
    flood(&host, "a", typical_duration);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let began = Instant::now();
    let ten = (0..10).map(|_| {
        let host = Arc::clone(&host);
        tokio::spawn(async move {
            let slot = host.slot(Some("b"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"));
            tokio::time::sleep(typical_duration).await;
            slot.report(HostHealth::Healthy);
        })
    });
    for one in ten.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    // Every other turn of four at once: five rounds, after the one that is under way, and a rest.
    assert!(began.elapsed() <= typical_duration * 8, "took {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn j09_no_client_is_deferred_because_of_another_at_a_slow_host() {
    let host = host(1);
    let typical_duration = Duration::from_secs(1);
    slot(&host).await.report(HostHealth::Healthy);
    flood(&host, "a", typical_duration);
    tokio::time::sleep(Duration::from_secs(30)).await;
    let began = Instant::now();
    let slot = host.slot(Some("b"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"));
    assert!(
        began.elapsed() <= typical_duration * 2,
        "the turn after the one under way: {:?}",
        began.elapsed()
    );
    slot.report(HostHealth::Healthy);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_deferred_while_slots_become_free() {
    let host = host(8);
    let typical_duration = Duration::from_millis(40);
    let one = || {
        let host = Arc::clone(&host);
        tokio::spawn(async move {
            let slot = host.slot(Some("a"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"));
            tokio::time::sleep(typical_duration).await;
            slot.report(HostHealth::Healthy);
        })
    };
    // 1.5 s of work, all at once.
    for one in (0..300).map(|_| one()).collect::<Vec<_>>() {
        one.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_deliveries_are_deferred_when_the_host_is_held() {
    let host = host(1);
    let first = slot(&host).await;
    let waiting = tokio::spawn({
        let host = Arc::clone(&host);
        async move { host.slot(None, soon()).await.is_err() }
    });
    tokio::task::yield_now().await;
    let began = Instant::now();
    first.report(HostHealth::Hold(Duration::from_mins(2)));
    assert!(waiting.await.unwrap() && began.elapsed() < SLOT_WAIT);
}

#[tokio::test(start_paused = true)]
async fn a_slot_for_an_abandoned_wait_goes_to_the_next() {
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
    first.report(HostHealth::Healthy);
    assert!(next.await.unwrap());
    assert!(host.can_be_dropped(), "all turns came back");
}
