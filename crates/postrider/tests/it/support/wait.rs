//! Waits for a condition, with a time limit.

use std::future::Future;
use std::time::{Duration, Instant};

/// The usual time limit, long enough for a loaded machine with two cores.
pub const TIMEOUT: Duration = Duration::from_mins(2);

/// Calls `ask` every 50 ms until it returns a value; panics with `what` after `timeout`.
pub async fn wait_until<T, F, R>(what: &str, timeout: Duration, mut ask: F) -> T
where
    F: FnMut() -> R,
    R: Future<Output = Option<T>>,
{
    let end = Instant::now() + timeout;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < end, "not within {} s: {what}", timeout.as_secs());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
