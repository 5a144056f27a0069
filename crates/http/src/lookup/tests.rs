use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use async_trait::async_trait;

use super::*;

/// Answers immediately, except names that begin with `hang` (never answered) or `no` (do not exist).
#[derive(Default)]
struct Partly {
    asked: AtomicUsize,
}

#[async_trait]
impl Resolve for Partly {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        self.asked.fetch_add(1, SeqCst);
        if host.starts_with("hang") {
            std::future::pending::<()>().await;
        }
        if host.starts_with("no") {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))])
    }
}

fn lookups() -> (Lookups, Arc<Partly>) {
    let resolver = Arc::new(Partly::default());
    (Lookups::new(Arc::clone(&resolver) as Arc<dyn Resolve>, Duration::from_secs(3)), resolver)
}

#[tokio::test(start_paused = true)]
async fn names_that_do_not_answer_hold_slots_of_their_own_client_only() {
    let (lookups, _) = lookups();
    for n in 0..1000 {
        let lookups = lookups.clone();
        tokio::spawn(
            async move { lookups.addresses(Some("a"), &format!("hang{n}.test"), 80).await.is_err() },
        );
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    for n in 0..20 {
        lookups.addresses(Some("b"), &format!("b{n}.test"), 80).await.unwrap();
    }
    assert!(began.elapsed() < Duration::from_secs(1), "took {:?}", began.elapsed());
    let refused = lookups.addresses(Some("a"), "a.test", 80).await;
    assert!(matches!(refused, Err(Unresolved::Busy)), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn many_clients_whose_names_hang_leave_slots_for_others() {
    let (lookups, _) = lookups();
    for n in 0..400 {
        let lookups = lookups.clone();
        let (client, name) = (format!("client{}", n % 20), format!("hang{n}.test"));
        tokio::spawn(async move { lookups.addresses(Some(&client), &name, 80).await.is_err() });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    lookups.addresses(Some("another"), "another.test", 80).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_name_is_resolved_once_and_cached_for_seconds() {
    let (lookups, resolver) = lookups();
    let many = (0..50).map(|_| lookups.addresses(None, "one.test", 443));
    assert!(futures::future::join_all(many).await.iter().all(Result::is_ok));
    lookups.addresses(Some("a"), "one.test", 443).await.unwrap();
    assert_eq!(resolver.asked.load(SeqCst), 1);
    tokio::time::advance(CACHE_TIME).await;
    lookups.addresses(None, "one.test", 443).await.unwrap();
    assert_eq!(resolver.asked.load(SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_look_up_has_its_own_timeout_and_later_callers_do_not_wait_for_it() {
    let (lookups, resolver) = lookups();
    let began = Instant::now();
    assert!(matches!(lookups.addresses(None, "hang.test", 80).await, Err(Unresolved::TimedOut)));
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    assert!(matches!(lookups.addresses(None, "hang.test", 80).await, Err(Unresolved::TimedOut)));
    assert_eq!((began.elapsed(), resolver.asked.load(SeqCst)), (Duration::from_secs(3), 1));
    let missing = lookups.addresses(None, "no.test", 80).await;
    assert!(matches!(missing, Err(Unresolved::Failed(_))), "{missing:?}");
    let again = lookups.addresses(None, "no.test", 80).await;
    assert!(matches!(again, Err(Unresolved::Failed(_))), "a failure is not kept: {again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_names_waits_for_slots() {
    let (lookups, _) = lookups();
    let many = (0..MAX_PER_CLIENT + MAX_WAITING).map(|n| {
        let lookups = lookups.clone();
        async move { lookups.addresses(Some("a"), &format!("n{n}.test"), 80).await }
    });
    assert!(futures::future::join_all(many).await.iter().all(Result::is_ok));
}
