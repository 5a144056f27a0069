use std::time::Duration;

use postrider_seams::store::Store as _;
use tokio::time::Instant;

use crate::file::File;

#[tokio::test(flavor = "multi_thread")]
async fn another_connections_commit_wakes_the_lane_and_silence_does_not() {
    let file = File::new();
    let store = file.mail_store().await;
    store.wake(Instant::now() + Duration::from_secs(5)).await;
    let quiet = Instant::now();
    store.wake(quiet + Duration::from_millis(300)).await;
    assert!(quiet.elapsed() >= Duration::from_millis(300), "nothing was written");
    file.insert_mails(1).await;
    let started = Instant::now();
    store.wake(started + Duration::from_secs(10)).await;
    assert!(started.elapsed() < Duration::from_secs(2), "what was written before the wait counts");
    let waiting = tokio::spawn(async move {
        let started = Instant::now();
        store.wake(started + Duration::from_secs(10)).await;
        started.elapsed()
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    file.insert_mails(1).await;
    let waited = waiting.await.expect("the wait");
    assert!(waited >= Duration::from_millis(150) && waited < Duration::from_secs(5), "{waited:?}");
}
