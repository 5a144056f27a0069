use super::*;

fn host(limit: usize) -> Arc<Host> {
    Hosts::new(limit, BreakerSettings { failures: 3, ..BreakerSettings::default() })
        .host("https://a.example:443")
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

async fn turn(host: &Arc<Host>) -> Turn {
    host.turn(soon()).await.unwrap_or_else(|put_off| panic!("{put_off:?}"))
}

async fn put_off(host: &Arc<Host>) -> Duration {
    match host.turn(soon()).await {
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
        async move { host.turn(soon()).await.is_ok() }
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
