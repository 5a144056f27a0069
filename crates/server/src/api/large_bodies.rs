//! Runs the work on large bodies on threads of their own. Parsing and checking a batch of 30 MB takes longer than a second
//! of computing; on the runtime's workers, as many batches as there are workers would block `/healthz`.
//!
//! Invariant: a body's share of the byte budget is held until the work on it has ended, even if the client is gone.

use std::sync::Arc;

use axum::body::Bytes;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::Problem;
use super::body::ReceivedBody;

/// The largest body that is worked on where it was received: about a millisecond.
const MAX_INLINE_BYTES: usize = 64 << 10;
/// The number of large bodies that are worked on at the same time, if they are small enough: each needs memory several
/// times its size.
const MAX_CONCURRENT: usize = 4;

/// The work on large bodies.
#[derive(Clone)]
pub struct LargeBodies {
    permits: Arc<Semaphore>,
    /// Bytes of work per permit: a body of the maximum size needs all permits.
    bytes_per_permit: usize,
}

impl LargeBodies {
    /// Creates the thread limit for bodies of at most `max` bytes.
    pub fn new(max: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
            bytes_per_permit: (max / MAX_CONCURRENT).max(1),
        }
    }

    /// Runs the work on a body, on a thread of its own if the body is large. That work goes on if the caller is gone.
    pub async fn run<W>(
        &self,
        body: ReceivedBody,
        work: impl FnOnce(Bytes) -> W + Send + 'static,
    ) -> W::Output
    where
        W: Future<Output: Send> + Send + 'static,
    {
        let ReceivedBody { bytes, share } = body;
        if bytes.len() <= MAX_INLINE_BYTES {
            return work(bytes).await;
        }
        let permits = bytes.len().div_ceil(self.bytes_per_permit).clamp(1, MAX_CONCURRENT);
        let permits = u32::try_from(permits).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.permits).acquire_many_owned(permits).await;
        let runtime = Handle::current();
        let task = tokio::task::spawn_blocking(move || {
            let _held = (permit, share);
            runtime.block_on(work(bytes))
        });
        match task.await {
            Ok(output) => output,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Runs a parser of bodies.
    pub async fn parse<T: Send + 'static>(
        &self,
        body: ReceivedBody,
        parse: fn(&[u8]) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.run(body, move |bytes| async move { parse(&bytes) }).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::api::body_budget::Budget;

    fn body(bytes: usize, budget: &Budget) -> ReceivedBody {
        let share = budget.share();
        share.grow_to(bytes).expect("there is room");
        ReceivedBody { bytes: vec![b' '; bytes].into(), share: Some(share) }
    }

    /// With a single worker, which would otherwise do the work itself.
    #[tokio::test]
    async fn work_on_a_large_body_leaves_the_worker_free() {
        let (large, budget) = (LargeBodies::new(1 << 20), Budget::new(1 << 20));
        let (release, released) = std::sync::mpsc::channel();
        let work = large.run(body(1 << 20, &budget), move |bytes| async move {
            released.recv_timeout(Duration::from_secs(10)).expect("the worker is free");
            bytes.len()
        });
        let (length, ()) = tokio::join!(work, async { release.send(()).expect("it waits") });
        assert_eq!(length, 1 << 20);
    }

    #[tokio::test]
    async fn work_whose_caller_is_gone_keeps_its_share_until_it_ends() {
        let (large, budget) = (LargeBodies::new(1 << 20), Budget::new(1 << 20));
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (release, released) = std::sync::mpsc::channel();
        let work = large.run(body(1 << 20, &budget), move |_| async move {
            begun.send(()).expect("the test waits");
            released.recv_timeout(Duration::from_secs(10)).expect("the test goes on");
        });
        tokio::select! {
            () = work => panic!("it has not been released"),
            begun = has_begun => begun.expect("it began"),
        }
        budget.share().grow_to(1 << 20).expect_err("the body is still in memory");
        release.send(()).expect("it waits");
        while budget.share().grow_to(1 << 20).is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn one_body_of_the_maximum_size_is_worked_on_at_a_time() {
        let (large, budget) = (LargeBodies::new(1 << 20), Budget::new(4 << 20));
        let at_once = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let work = || {
            let at_once = Arc::clone(&at_once);
            large.run(body(1 << 20, &budget), move |_| async move {
                let before = at_once.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(20)).await;
                at_once.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                before
            })
        };
        assert_eq!(tokio::join!(work(), work(), work()), (0, 0, 0));
    }
}
