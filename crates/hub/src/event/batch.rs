//! The events that one transaction stores, with their jobs: a job needs memory until it is written.

use std::collections::BTreeMap;

use super::view::Event;
use crate::Error;
use crate::job::JobDraft;

/// Jobs of one transaction, beyond which no further event is added.
const MAX_JOBS: usize = 1000;

/// Events that are stored in one transaction, and the jobs of each, by the id of the event.
#[derive(Default)]
pub struct EventBatch {
    pub events: Vec<Result<Event, Error>>,
    pub jobs: BTreeMap<String, Vec<JobDraft>>,
}

impl EventBatch {
    /// Takes the next events, as many as one transaction stores, and creates their jobs.
    pub fn take(
        events: &mut impl Iterator<Item = Result<Event, Error>>,
        jobs: impl Fn(&Event) -> Vec<JobDraft>,
    ) -> Self {
        let (mut batch, mut count) = (Self::default(), 0);
        while count < MAX_JOBS
            && let Some(event) = events.next()
        {
            if let Ok(event) = &event {
                let jobs = jobs(event);
                count += jobs.len();
                batch.jobs.insert(event.id.clone(), jobs);
            }
            batch.events.push(event);
        }
        batch
    }
}
