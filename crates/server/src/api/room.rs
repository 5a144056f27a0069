//! Room for bodies: a budget of bytes for all requests together. Small bodies need none of it, so that large ones can't keep
//! small ones out. What is only announced takes no room.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Problem;

/// Bytes that every body may have besides.
const FREE: usize = 64 << 10;
/// Bytes of a permit.
const UNIT: usize = 1 << 10;

/// The budget of all bodies.
#[derive(Clone)]
pub struct Budget(Arc<Semaphore>);

impl Budget {
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new((bytes / UNIT).min(Semaphore::MAX_PERMITS))))
    }

    /// The share of one request, nothing at first.
    pub fn share(&self) -> Room {
        Room { budget: Arc::clone(&self.0), held: Arc::default() }
    }
}

/// What one request holds of the budget, until its last copy is dropped.
#[derive(Clone)]
pub struct Room {
    budget: Arc<Semaphore>,
    held: Arc<Mutex<Vec<OwnedSemaphorePermit>>>,
}

impl Room {
    /// Room for a body of so many bytes in all.
    pub fn grow_to(&self, bytes: usize) -> Result<(), Problem> {
        let wanted = bytes.saturating_sub(FREE).div_ceil(UNIT);
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
