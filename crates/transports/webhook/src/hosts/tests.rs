use super::*;

fn host(limit: usize) -> Arc<Host> {
    Hosts::new(limit, BreakerSettings { failures: 3, ..BreakerSettings::default() })
        .host("https://a.example:443")
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

async fn turn(host: &Arc<Host>) -> Turn {
    host.turn(None, soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"))
}

async fn put_off(host: &Arc<Host>) -> Duration {
    match host.turn(None, soon()).await {
        Err(Outcome::Deferred(failure)) => failure.after.unwrap(),
        _ => panic!("it was let through"),
    }
}

#[tokio::test(start_paused = true)]
async fn j09_a_host_that_hangs_gets_no_more_than_its_first_share() {
    let host = host(64);
    let hanging = [turn(&host).await, turn(&host).await];
    let started = Instant::now();
    assert!(put_off(&host).await >= SHORTEST_PUT_OFF);
    assert_eq!(started.elapsed(), PATIENCE, "it waits for a moment");
    assert!(put_off(&host).await >= SHORTEST_PUT_OFF);
    assert_eq!(started.elapsed(), PATIENCE, "then not even that");
    tokio::time::advance(Duration::from_secs(20)).await;
    assert!(put_off(&host).await >= Duration::from_secs(20), "the longer it hangs, the longer its rows wait");
    drop(hanging);
    turn(&host).await.tell(Health::Well);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_answers_gets_more_up_to_its_limit() {
    let host = host(8);
    for _ in 0..5 {
        turn(&host).await.tell(Health::Well);
    }
    let mut turns = Vec::new();
    for _ in 0..8 {
        turns.push(turn(&host).await);
    }
    let waiting = tokio::spawn({
        let host = Arc::clone(&host);
        async move { host.turn(None, soon()).await.is_ok() }
    });
    tokio::task::yield_now().await;
    turns.pop().unwrap().tell(Health::Well);
    assert!(waiting.await.unwrap(), "who waits gets the turn that comes free");
}

#[tokio::test(start_paused = true)]
async fn j09_a_host_that_keeps_failing_is_left_alone_and_probed() {
    let host = host(8);
    for _ in 0..3 {
        turn(&host).await.tell(Health::Unwell);
    }
    let wait = put_off(&host).await;
    assert!(wait >= Duration::from_secs(10), "{wait:?}");
    tokio::time::advance(Duration::from_secs(10)).await;
    let probe = turn(&host).await;
    put_off(&host).await;
    probe.tell(Health::Well);
    turn(&host).await.tell(Health::Well);
}

#[tokio::test(start_paused = true)]
async fn j05_retry_after_holds_the_whole_host() {
    let host = host(8);
    turn(&host).await.tell(Health::Hold(Duration::from_secs(90)));
    assert!(put_off(&host).await >= Duration::from_secs(90));
    tokio::time::advance(Duration::from_mins(1)).await;
    let rest = put_off(&host).await;
    assert!(rest >= Duration::from_secs(30) && rest <= Duration::from_secs(38), "{rest:?}");
    tokio::time::advance(Duration::from_secs(30)).await;
    turn(&host).await.tell(Health::Well);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_given_up_leaves_nothing_behind() {
    let host = host(8);
    for _ in 0..3 {
        turn(&host).await.tell(Health::Unwell);
    }
    tokio::time::advance(Duration::from_secs(10)).await;
    drop(turn(&host).await);
    turn(&host).await.tell(Health::Well);
    assert!(host.is_forgettable());
}

/// A hundred deliveries of one client that never end, each request taking `takes`.
fn flood(host: &Arc<Host>, client: &'static str, takes: Duration) {
    for _ in 0..100 {
        let host = Arc::clone(host);
        tokio::spawn(async move {
            loop {
                if let Ok(turn) = host.turn(Some(client), soon()).await {
                    tokio::time::sleep(takes).await;
                    turn.tell(Health::Well);
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
            let turn = host.turn(Some("b"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"));
            tokio::time::sleep(takes).await;
            turn.tell(Health::Well);
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
    turn(&host).await.tell(Health::Well);
    flood(&host, "a", takes);
    tokio::time::sleep(Duration::from_secs(30)).await;
    let began = Instant::now();
    let turn = host.turn(Some("b"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"));
    assert!(began.elapsed() <= takes * 2, "the turn after the one under way: {:?}", began.elapsed());
    turn.tell(Health::Well);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_put_off_by_a_host_whose_turns_come_free_all_the_time() {
    let host = host(8);
    let takes = Duration::from_millis(40);
    let one = || {
        let host = Arc::clone(&host);
        tokio::spawn(async move {
            let turn = host.turn(Some("a"), soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"));
            tokio::time::sleep(takes).await;
            turn.tell(Health::Well);
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
    let first = turn(&host).await;
    let waiting = tokio::spawn({
        let host = Arc::clone(&host);
        async move { host.turn(Some("b"), soon()).await.is_err() }
    });
    tokio::task::yield_now().await;
    let began = Instant::now();
    first.tell(Health::Hold(Duration::from_mins(2)));
    assert!(waiting.await.unwrap() && began.elapsed() < PATIENCE);
}

#[tokio::test(start_paused = true)]
async fn a_turn_for_who_has_gone_goes_to_the_next() {
    let host = host(1);
    let first = turn(&host).await;
    let wait = |client: &'static str| {
        let host = Arc::clone(&host);
        tokio::spawn(async move { host.turn(Some(client), soon()).await.is_ok() })
    };
    let (gone, next) = (wait("a"), wait("b"));
    tokio::task::yield_now().await;
    gone.abort();
    let _ = gone.await;
    first.tell(Health::Well);
    assert!(next.await.unwrap());
    assert!(host.is_forgettable(), "all turns came back");
}
