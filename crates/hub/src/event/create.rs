//! Receiving events and creating their jobs; replaying events and testing subscriptions.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::batch::EventBatch;
use super::new::{NewEvent, validated};
use super::view::Event;
use super::write::{ActiveSubscriptions, EventRequest, store};
use crate::access::Actor;
use crate::audit::Change;
use crate::idempotency::IdempotentRequest;
use crate::job::{self, Created, DispatchKind, JobDraft, JobsByKey, NewJob, Origin, insert_jobs};
use crate::sql::Statement;
use crate::subscription::{Subscription, matches_code};
use crate::{Error, Hub, Moment};

/// Result of sending one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedEvent {
    /// Id that Postrider gave the event.
    pub id: String,
    /// Whether the event had been received before. Then no jobs are created.
    pub known: bool,
    /// Ids of the jobs that were created.
    pub job_ids: Vec<String>,
}

/// The jobs that a replay or a test created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedJobs {
    /// Ids of the new jobs.
    pub job_ids: Vec<String>,
}

impl Hub {
    /// Stores one event and creates its jobs. An event that was received before is returned as known.
    ///
    /// Fails if the event is invalid or of a client outside the actor's scope.
    pub async fn create_event(&self, actor: &Actor, event: NewEvent) -> Result<CreatedEvent, Error> {
        let event = validated(event, actor, &self.settings)?;
        let made = self.event_commits.write(EventRequest { actor: actor.clone(), event }).await?;
        self.publish(made.job_ids.clone()).await;
        Ok(made)
    }

    /// Stores events, each in one transaction with its jobs. An invalid event has its own error and stops no other.
    ///
    /// Events that match many subscriptions are stored in several transactions: a job needs memory until it is written.
    /// If one fails, the events before it are stored, and known when the request is repeated.
    pub async fn create_events(
        &self,
        actor: &Actor,
        events: Vec<NewEvent>,
    ) -> Result<Vec<Result<CreatedEvent, Error>>, Error> {
        let request = |event| {
            validated(event, actor, &self.settings).map(|event| EventRequest { actor: actor.clone(), event })
        };
        let requests: Vec<Result<EventRequest, Error>> = events.into_iter().map(request).collect();
        let clients = requests.iter().flatten().map(|request| request.event.client_id.as_deref());
        let subscriptions = ActiveSubscriptions::read(self.database(), clients).await?;
        let mut answers = Vec::with_capacity(requests.len());
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let part = EventBatch::take(&mut requests, |request| subscriptions.jobs_of(request));
            answers.extend(self.create_event_batch(part).await?);
        }
        Ok(answers)
    }

    /// Stores events and their jobs in one transaction, and publishes the jobs.
    async fn create_event_batch(&self, batch: EventBatch) -> Result<Vec<Result<CreatedEvent, Error>>, Error> {
        let valid: Vec<&EventRequest> = batch.events.iter().flatten().collect();
        let mut stored = store(self.database(), &valid, &batch.jobs).await?.into_iter();
        let unanswered = || Err(Error::unreadable("a fresh event"));
        let answer =
            |event: Result<EventRequest, Error>| event.and_then(|_| stored.next().unwrap_or_else(unanswered));
        let answers: Vec<Result<CreatedEvent, Error>> = batch.events.into_iter().map(answer).collect();
        let fresh = answers.iter().flatten().flat_map(|made| made.job_ids.iter().cloned());
        self.publish(fresh.collect()).await;
        Ok(answers)
    }

    /// Creates jobs for a stored event, for every subscription that matches now, or only for the subscription `only`.
    ///
    /// A repeated `request` returns the jobs that it created the first time.
    pub async fn replay(
        &self,
        actor: &Actor,
        id: &str,
        only: Option<&str>,
        request: Option<&IdempotentRequest>,
    ) -> Result<CreatedJobs, Error> {
        let event = self.event(actor, id).await?;
        if let Some(request) = request
            && self.find_created(actor, REPLAY, request).await?.is_some()
        {
            return self.jobs_of_replay(id, &request.key_prefix(actor, REPLAY)).await;
        }
        let client = std::iter::once(event.client_id.as_deref());
        let mut subscriptions = ActiveSubscriptions::read(self.database(), client).await?;
        if let Some(only) = only {
            subscriptions.list.retain(|subscription| subscription.id == only);
            if subscriptions.list.is_empty() {
                return Err(Error::invalid("subscriptionId", "no such subscription for this event"));
            }
        }
        let prefix = request.map(|request| request.key_prefix(actor, REPLAY));
        let key = prefix.as_deref().map_or(JobKey::None, JobKey::Request);
        let jobs = job_drafts(actor, &event, &subscriptions, key);
        let change = Change::new("replay", "event", id).of_client(event.client_id.as_deref());
        let change = change.detail("jobs", jobs.len()).entry(self.dialect(), actor);
        let made = self.write_new_jobs(&jobs, change).await?;
        if let Some(request) = request {
            self.store_request(actor, REPLAY, request, id).await?;
        }
        Ok(made)
    }

    /// Returns the jobs of an event that a request created, found by the prefix of their idempotency keys.
    async fn jobs_of_replay(&self, event: &str, prefix: &str) -> Result<CreatedJobs, Error> {
        let query = self
            .sql("SELECT id FROM dispatch_jobs WHERE event_id = ")
            .text(event)
            .push(" AND idempotency_key LIKE ")
            .text(&format!("{prefix}-%"))
            .push(" ORDER BY id");
        let rows = self.fetch_all("find the jobs of a replay", query).await?;
        Ok(CreatedJobs { job_ids: rows.into_iter().map(|mut row| row.required_text()).collect() })
    }

    /// Writes jobs and their audit entry. A job whose key exists was created a moment ago by the same request.
    async fn write_new_jobs(&self, jobs: &[JobDraft], change: Statement) -> Result<CreatedJobs, Error> {
        let drafts: Vec<&JobDraft> = jobs.iter().collect();
        let mut statements = insert_jobs(self.dialect(), &drafts, None);
        statements.push(change);
        let lookups_start = statements.len();
        statements.extend(job::lookups(self.dialect(), &drafts));
        let answers = self.run("create jobs for an event", statements).await?;
        let by_key = JobsByKey::read(answers.into_iter().skip(lookups_start));
        let made: Vec<Created> = jobs.iter().map(|job| by_key.created(job)).collect::<Result<_, _>>()?;
        let fresh = made.iter().filter(|made| matches!(made, Created::New { .. }));
        self.announce(fresh.map(|made| made.id().to_owned()).collect()).await;
        Ok(CreatedJobs { job_ids: made.iter().map(|made| made.id().to_owned()).collect() })
    }

    /// Creates a job with a test event, to try the target of a subscription.
    ///
    /// A repeated `request` returns the job that it created the first time.
    pub async fn test_subscription(
        &self,
        actor: &Actor,
        id: &str,
        request: Option<&IdempotentRequest>,
    ) -> Result<CreatedJobs, Error> {
        let subscription = self.subscription(actor, id).await?;
        if let Some(request) = request
            && let Some(job) = self.find_created(actor, TEST, request).await?
        {
            return Ok(CreatedJobs { job_ids: vec![job] });
        }
        // A test event is not stored, so it has no id.
        let event = Event {
            id: String::new(),
            event_id: String::new(),
            source: "postrider".to_owned(),
            code: subscription.event_code.replace('*', "test"),
            subject: None,
            client_id: subscription.client_id.clone(),
            correlation_id: None,
            occurred_at: None,
            data_content_type: None,
            data_schema: None,
            extensions: BTreeMap::new(),
            data: Some("{\"test\":true}".to_owned()),
            created_at: None,
            created_by: None,
        };
        let prefix = request.map(|request| request.key_prefix(actor, TEST));
        let key = prefix.as_deref().map_or(JobKey::None, JobKey::Request);
        let job = job_draft(actor, &event, &subscription, self.clock().await?, key);
        let change = Change::new("test", "subscription", id).of_client(subscription.client_id.as_deref());
        let made = self.write_new_jobs(&[job], change.entry(self.dialect(), actor)).await?;
        if let (Some(request), [job]) = (request, made.job_ids.as_slice()) {
            self.store_request(actor, TEST, request, job).await?;
        }
        Ok(made)
    }
}

/// The kinds under which requests are stored for idempotency.
const REPLAY: &str = "replay";
const TEST: &str = "test";

/// How a job is kept from being created twice: the origin of its idempotency key.
#[derive(Clone, Copy)]
pub(super) enum JobKey<'a> {
    /// One job per event and subscription.
    Event,
    /// One job per request and subscription; holds the request's key prefix.
    Request(&'a str),
    /// No key: every call creates a job.
    None,
}

/// The trace context in the extension attribute `traceparent`, if it is valid.
fn trace(event: &Event) -> Option<String> {
    crate::traceparent(event.extensions.get("traceparent")?.as_str()?)
}

fn matches<'a>(event: &Event, subscription: &Subscription, data: impl Fn() -> &'a serde_json::Value) -> bool {
    subscription.readable
        && (subscription.client_id.is_none() || subscription.client_id == event.client_id)
        && matches_code(&subscription.event_code, &event.code)
        && subscription.source_prefix.as_ref().is_none_or(|prefix| event.source.starts_with(prefix))
        && subscription.filters.iter().all(|filter| filter.matches(data()))
}

fn job_draft(
    actor: &Actor,
    event: &Event,
    subscription: &Subscription,
    now: Moment,
    key: JobKey<'_>,
) -> JobDraft {
    let key = match key {
        JobKey::Event => Some(event.id.as_str()),
        JobKey::Request(prefix) => Some(prefix),
        JobKey::None => None,
    };
    let key = key.map(|key| format!("{key}-{}", subscription.id));
    let group = event.subject.as_ref().map(|subject| format!("{}:{subject}", subscription.code));
    let content_type = event.data_content_type.clone();
    let job = NewJob {
        source: Some(event.source.clone()),
        subject: event.subject.clone(),
        event_id: Some(event.id.clone()).filter(|id| !id.is_empty()),
        correlation_id: event.correlation_id.clone(),
        headers: subscription.headers.clone(),
        payload: event.data.clone(),
        payload_content_type: content_type.or_else(|| Some("application/json".to_owned())),
        data_only: Some(subscription.data_only),
        service_account_id: subscription.service_account_id.clone(),
        client_id: event.client_id.clone(),
        mode: subscription.mode,
        dispatch_pool_id: subscription.dispatch_pool_id.clone(),
        message_group: group.map(|group| group.chars().take(255).collect()),
        sequence: Some(subscription.sequence),
        timeout_seconds: Some(subscription.timeout_seconds),
        max_retries: Some(subscription.max_retries),
        retry_strategy: Some(subscription.retry_strategy.clone()),
        expires_at: subscription.expires_after_seconds.map(|seconds| now.after_seconds(seconds)),
        idempotency_key: key,
        traceparent: trace(event),
        ..NewJob::to(&event.code, &subscription.target_url)
    };
    let origin = Origin { subscription: Some(subscription.id.clone()), created_by: actor.key_id() };
    let draft = job.into_draft(DispatchKind::Event, origin);
    // A test event is not stored.
    if event.id.is_empty() { draft } else { draft.with_payload_of_event() }
}

pub(super) fn job_drafts(
    actor: &Actor,
    event: &Event,
    subscriptions: &ActiveSubscriptions,
    key: JobKey<'_>,
) -> Vec<JobDraft> {
    let ActiveSubscriptions { list, now } = subscriptions;
    // Only filters read the data.
    let data = OnceCell::new();
    let parse = || event.data.as_ref().and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
    let matching =
        list.iter().filter(|subscription| matches(event, subscription, || data.get_or_init(parse)));
    matching.map(|subscription| job_draft(actor, event, subscription, *now, key)).collect()
}
