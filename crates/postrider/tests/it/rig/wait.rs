//! Waiting for something to become true, with an end.

use std::future::Future;
use std::time::{Duration, Instant};

/// Generous: a loaded machine with two cores must not make a test fail.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// Asks every 50 ms until there is an answer; panics with `what` after `patience`.
pub async fn until<T, F, R>(what: &str, patience: Duration, mut ask: F) -> T
where
    F: FnMut() -> R,
    R: Future<Output = Option<T>>,
{
    let end = Instant::now() + patience;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "not within {} s: {what}", patience.as_secs());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
