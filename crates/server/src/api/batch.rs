//! Batches: `/dispatch-jobs/batch` and `/events/batch`. Each entry has its own result.
//!
//! Invariant: an invalid or refused entry does not affect the others. If no entry was accepted, the response is an
//! error, so that a client that checks only the status knows that nothing was stored.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use postrider_hub::Fault;
use postrider_hub::access::{Actor, Role};
use postrider_hub::event::{CloudEvent, CreatedEvent, NewEvent};
use postrider_hub::job::{Created, NewJob};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::auth::ProducerCaller;
use super::body::{BatchBody, parse_any, parse_json, read_as, too_large};
use super::body_mistakes::BodySchema;
use super::cloudevents::add_trace;
use super::idempotency::IdempotencyKey;
use super::jobs::{idempotency_key, traceparent};
use super::raw_entries::RawEntries;
use super::{Api, Problem};

/// Jobs to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJobs {
    /// The jobs; between 1 and 1000.
    #[schema(value_type = Vec<NewJob>, min_items = 1, max_items = 1000)]
    jobs: RawEntries,
}

/// The result of each job, in the order of the request.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchOutcome {
    /// One result per job.
    results: Vec<ItemOutcome>,
}

/// The result of one job of a batch.
#[derive(Debug, Serialize, ToSchema)]
pub struct ItemOutcome {
    /// Position of the job in the request, from 0.
    index: usize,
    /// HTTP status that this job alone would have had: 201, 200, 403, 409, 413, 422.
    status: u16,
    /// Id of the job. Absent if it was not created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
    /// Why the job was not created. Absent if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<Problem>,
}

/// The result of each event, in the order of the request.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventBatchOutcome {
    /// One result per event.
    results: Vec<EventOutcome>,
}

/// The result of one event of a batch.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventOutcome {
    /// Position of the event in the request, from 0.
    index: usize,
    /// HTTP status that this event alone would have had: 201, 200, 403, 413, 422.
    status: u16,
    /// The event and its jobs. Absent if the event was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    event: Option<CreatedEvent>,
    /// Why the event was refused. Absent if it was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<Problem>,
}

/// Create up to 1000 dispatch jobs
///
/// Each job has its own result. If no job could be created, the response is an error with `results`.
#[utoipa::path(post, path = "/dispatch-jobs/batch", tag = "dispatch jobs", request_body = NewJobs,
    params(("Idempotency-Key" = Option<String>, Header, description = "Gives jobs without `idempotencyKey` the keys `KEY#0`, `KEY#1`, …",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$"),
        ("traceparent" = Option<String>, Header, description = "Trace that the deliveries belong to (W3C Trace Context).")),
    responses((status = 200, description = "The result of each job", body = BatchOutcome)))]
pub async fn create_jobs(
    State(api): State<Api>,
    ProducerCaller(caller): ProducerCaller,
    headers: HeaderMap,
    BatchBody(body): BatchBody,
) -> Result<Response, Problem> {
    let large_bodies = api.large_bodies.clone();
    let work =
        async move |bytes| create_job_batch(&api, caller.at_least(Role::Producer)?, &headers, bytes).await;
    large_bodies.run(body, work).await
}

/// Creates the jobs of a body and returns the result of each.
async fn create_job_batch(
    api: &Api,
    actor: &Actor,
    headers: &HeaderMap,
    bytes: Bytes,
) -> Result<Response, Problem> {
    let NewJobs { jobs } = read_as(&bytes, BodySchema::of::<NewJobs>)?;
    drop(bytes);
    let jobs = jobs.sized("jobs")?;
    let key = idempotency_key(headers)?;
    let trace = traceparent(headers);
    let (entries, read) = split(jobs, parse_json, api.limits.body, |index, job: &mut NewJob| {
        job.traceparent.clone_from(&trace);
        if let Some(key) = &key {
            job.idempotency_key.get_or_insert_with(|| format!("{key}#{index}"));
        }
    });
    let outcomes = api.hub()?.create_jobs(actor, read).await?;
    let results = joined(entries, outcomes).into_iter().enumerate().map(|(index, outcome)| match outcome {
        Ok(created) => {
            let status = if matches!(created, Created::New { .. }) { 201 } else { 200 };
            ItemOutcome { index, status, id: Some(created.id().to_owned()), problem: None }
        }
        Err(problem) => {
            ItemOutcome { index, status: problem.status().as_u16(), id: None, problem: Some(problem) }
        }
    });
    let results: Vec<ItemOutcome> = results.collect();
    let problems = results.iter().map(|item| item.problem.as_ref());
    match whole_batch_failed("jobs", problems, &results) {
        Some(problem) => Err(problem),
        None => Ok(Json(BatchOutcome { results }).into_response()),
    }
}

/// Send up to 1000 events
///
/// The body is a JSON list of CloudEvents. Each event has its own result. If no event could be accepted, the response
/// is an error with `results`.
#[utoipa::path(post, path = "/events/batch", tag = "events",
    request_body(content((Vec<CloudEvent> = "application/cloudevents-batch+json"), (Vec<CloudEvent> = "application/json"))),
    params(("Idempotency-Key" = Option<String>, Header, description = "Events are recognised by their id, so a key is not needed. A different request with the same key within 24 hours is refused with 409.",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$"),
        ("traceparent" = Option<String>, Header, description = "Trace of events that have no `traceparent` attribute (W3C Trace Context).")),
    responses((status = 200, description = "The result of each event", body = EventBatchOutcome)))]
pub async fn create_events(
    State(api): State<Api>,
    ProducerCaller(caller): ProducerCaller,
    key: IdempotencyKey,
    headers: HeaderMap,
    BatchBody(body): BatchBody,
) -> Result<Json<EventBatchOutcome>, Problem> {
    let large_bodies = api.large_bodies.clone();
    let work = async move |bytes| {
        create_event_batch(&api, caller.at_least(Role::Producer)?, key, &headers, bytes).await
    };
    large_bodies.run(body, work).await.map(Json)
}

/// Creates the events of a list and returns the result of each.
pub(super) async fn create_event_batch(
    api: &Api,
    actor: &Actor,
    key: IdempotencyKey,
    headers: &HeaderMap,
    bytes: Bytes,
) -> Result<EventBatchOutcome, Problem> {
    let events: RawEntries = read_as(&bytes, BodySchema::any)?;
    drop(bytes);
    let events = events.sized("body")?;
    if key.0.is_some()
        && let Some(request) = key.with_content(&serde_json::to_string(&events).unwrap_or_default())
    {
        api.hub()?.find_created(actor, "events", &request).await?;
        api.hub()?.store_request(actor, "events", &request, "a batch").await?;
    }
    let (entries, read) =
        split(events, parse_any, api.limits.body, |_, event: &mut NewEvent| add_trace(event, headers));
    let outcomes = api.hub()?.create_events(actor, read).await?;
    let results = joined(entries, outcomes).into_iter().enumerate().map(|(index, outcome)| match outcome {
        Ok(event) => {
            let status = if event.known { 200 } else { 201 };
            EventOutcome { index, status, event: Some(event), problem: None }
        }
        Err(problem) => {
            EventOutcome { index, status: problem.status().as_u16(), event: None, problem: Some(problem) }
        }
    });
    let results: Vec<EventOutcome> = results.collect();
    let problems = results.iter().map(|item| item.problem.as_ref());
    match whole_batch_failed("", problems, &results) {
        Some(problem) => Err(problem),
        None => Ok(EventBatchOutcome { results }),
    }
}

/// Parses the entries; returns the errors and the valid entries, each with its index. Each text is freed once it is
/// parsed. An entry of more than `limit` bytes is refused unread: alone it would be, too, and what a parser and the
/// checks need is a multiple of its size.
fn split<T>(
    entries: Vec<Box<RawValue>>,
    parse: fn(&[u8]) -> Result<T, Problem>,
    limit: usize,
    finish: impl Fn(usize, &mut T),
) -> (Vec<Option<Problem>>, Vec<T>) {
    let mut read = Vec::with_capacity(entries.len());
    let mistakes = entries.into_iter().enumerate().map(|(index, raw)| {
        let entry = match raw.get().len() {
            length if length > limit => Err(too_large(limit)),
            _ => parse(raw.get().as_bytes()),
        };
        match entry {
            Ok(mut entry) => {
                finish(index, &mut entry);
                read.push(entry);
                None
            }
            Err(problem) => Some(problem),
        }
    });
    let mistakes = mistakes.collect();
    (mistakes, read)
}

/// Merges results and errors in the order of the request.
fn joined<T>(
    entries: Vec<Option<Problem>>,
    outcomes: Vec<Result<T, postrider_hub::Error>>,
) -> Vec<Result<T, Problem>> {
    let mut outcomes = outcomes.into_iter();
    let next = |mistake: Option<Problem>| match mistake {
        Some(problem) => Err(problem),
        None => {
            outcomes.next().expect("every entry that could be read has an outcome").map_err(Problem::from)
        }
    };
    entries.into_iter().map(next).collect()
}

/// Returns the error of the whole batch if every entry failed: that of the first entry, with the result of each.
fn whole_batch_failed<'a, T: Serialize>(
    list: &str,
    problems: impl Iterator<Item = Option<&'a Problem>>,
    results: &[T],
) -> Option<Problem> {
    let problems: Vec<&Problem> = problems.collect::<Option<_>>()?;
    let first = problems.first()?;
    let at = |(index, problem): (usize, &&Problem)| -> Vec<Fault> {
        let named = |fault: &Fault| Fault::new(format!("{list}[{index}].{}", fault.field), &fault.message);
        problem.faults().iter().map(named).collect()
    };
    let faults = problems.iter().enumerate().flat_map(at).take(100).collect();
    let whole =
        Problem::new(first.status(), "no entry was accepted: see `errors` and `results`").with_faults(faults);
    Some(whole.with_results(serde_json::to_value(results).ok()?))
}
