//! The events that one transaction stores, with their jobs: a job needs memory until it is written.

use super::write::{EventRequest, JobsByEvent};
use crate::Error;
use crate::job::JobDraft;

/// Jobs of one transaction, beyond which no further event is added.
const MAX_JOBS: usize = 1000;

/// Events that are stored in one transaction, and the jobs of each, by the id of the event.
#[derive(Default)]
pub struct EventBatch {
    pub events: Vec<Result<EventRequest, Error>>,
    pub jobs: JobsByEvent,
}

impl EventBatch {
    /// Takes the next events, as many as one transaction stores, and creates their jobs.
    pub fn take(
        events: &mut impl Iterator<Item = Result<EventRequest, Error>>,
        jobs: impl Fn(&EventRequest) -> Vec<JobDraft>,
    ) -> Self {
        let (mut batch, mut count) = (Self::default(), 0);
        while count < MAX_JOBS
            && let Some(event) = events.next()
        {
            if let Ok(request) = &event {
                let jobs = jobs(request);
                count += jobs.len();
                batch.jobs.insert(request.event.id.clone(), jobs);
            }
            batch.events.push(event);
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::access::Actor;
    use crate::event::Event;
    use crate::job::{DispatchKind, NewJob, Origin};

    fn event(number: usize) -> EventRequest {
        let event = Event {
            id: number.to_string(),
            event_id: number.to_string(),
            source: "shop".to_owned(),
            code: "shop:sales:order:created".to_owned(),
            subject: None,
            client_id: None,
            correlation_id: None,
            occurred_at: None,
            data_content_type: None,
            data_schema: None,
            extensions: BTreeMap::new(),
            data: None,
            created_at: None,
            created_by: None,
        };
        EventRequest { actor: Actor::command_line(), event }
    }

    #[test]
    fn a_transaction_has_whole_events_and_about_a_thousand_jobs() {
        let job = NewJob::to("a", "https://a.example/").into_draft(DispatchKind::Event, Origin::default());
        let jobs =
            |request: &EventRequest| vec![job.clone(); if request.event.id == "4" { 2500 } else { 400 }];
        let invalid = || Err(Error::invalid("type", "is missing"));
        let mut events = (0..6).map(|number| if number == 1 { invalid() } else { Ok(event(number)) });
        let parts: Vec<EventBatch> = std::iter::repeat_with(|| EventBatch::take(&mut events, jobs))
            .take_while(|part| !part.events.is_empty())
            .collect();
        let sizes = |part: &EventBatch| (part.events.len(), part.jobs.values().map(Vec::len).sum::<usize>());
        assert_eq!(parts.iter().map(sizes).collect::<Vec<_>>(), [(4, 1200), (1, 2500), (1, 400)]);
    }
}
