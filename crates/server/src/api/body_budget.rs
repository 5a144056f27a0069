//! Memory budget of request bodies: a number of bytes for all requests together. Small bodies need none of it, so that
//! large ones cannot block them. Bytes that are only announced use none.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Problem;

/// Bytes of every body that do not count towards the budget.
const FREE_BYTES: usize = 64 << 10;
/// Bytes per permit.
const BYTES_PER_PERMIT: usize = 1 << 10;

/// The budget of all request bodies.
#[derive(Clone)]
pub struct Budget(Arc<Semaphore>);

impl Budget {
    /// Creates a budget of this many bytes.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new((bytes / BYTES_PER_PERMIT).min(Semaphore::MAX_PERMITS))))
    }

    /// Returns the share of one request, which is empty at first.
    pub fn share(&self) -> BodyShare {
        BodyShare { budget: Arc::clone(&self.0), held: Arc::default() }
    }
}

/// The part of the budget that one request holds, until its last clone is dropped.
#[derive(Clone)]
pub struct BodyShare {
    budget: Arc<Semaphore>,
    held: Arc<Mutex<Vec<OwnedSemaphorePermit>>>,
}

impl BodyShare {
    /// Grows the share to a body of this many bytes in all; 503 if the budget is used up.
    pub fn grow_to(&self, bytes: usize) -> Result<(), Problem> {
        let wanted = bytes.saturating_sub(FREE_BYTES).div_ceil(BYTES_PER_PERMIT);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let has: usize = held.iter().map(OwnedSemaphorePermit::num_permits).sum();
        let more = u32::try_from(wanted.saturating_sub(has)).unwrap_or(u32::MAX);
        if more == 0 {
            return Ok(());
        }
        let full = |_| {
            let text = "too many large requests at the same time; try again later";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, text)
        };
        let permit = Arc::clone(&self.budget).try_acquire_many_owned(more).map_err(full)?;
        match held.first_mut() {
            Some(first) => first.merge(permit),
            None => held.push(permit),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_a_budget_and_small_ones_need_none() {
        let budget = Budget::new(1 << 20);
        let (one, other) = (budget.share(), budget.share());
        one.grow_to(1 << 20).expect("room for one");
        assert_eq!(other.grow_to(1 << 20).expect_err("no room").status(), 503);
        other.grow_to(64 << 10).expect("small bodies need no room");
        drop(one);
        other.grow_to(1 << 20).expect("room again");
    }
}
