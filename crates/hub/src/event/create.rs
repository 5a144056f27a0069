//! Receiving events and creating their jobs; replaying events and testing subscriptions.

use std::collections::{BTreeMap, BTreeSet};

use postrider_sql::Dialect;
use postrider_sql::plain::{Answer, Statement};
use serde::Serialize;
use utoipa::ToSchema;

use super::new::{Checked, NewEvent, checked};
use super::view::{Event, SHEET};
use crate::access::Actor;
use crate::audit::{self, Change};
use crate::draft::Draft;
use crate::job::{self, Created, DispatchKind, Draught, Known, NewJob, Origin, insert_jobs};
use crate::request::Request;
use crate::sheet::{Fresh, Insert, Kind, Reader, given, quoted};
use crate::subscription::{self, Subscription, matches_code};
use crate::{Error, Hub, Moment};

/// Result of sending one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventMade {
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
pub struct Replayed {
    /// Ids of the new jobs.
    pub job_ids: Vec<String>,
}

impl Hub {
    /// Stores one event and creates its jobs. An event that was received before is returned as known.
    ///
    /// Fails if the event is invalid or of a client outside the actor's scope.
    pub async fn create_event(&self, actor: &Actor, event: NewEvent) -> Result<EventMade, Error> {
        self.create_events(actor, vec![event]).await?.pop().expect("one answer for one event")
    }

    /// Stores events and creates their jobs in one transaction. An invalid event has its own error and stops no other.
    pub async fn create_events(
        &self,
        actor: &Actor,
        events: Vec<NewEvent>,
    ) -> Result<Vec<Result<EventMade, Error>>, Error> {
        let events: Vec<Result<Checked, Error>> =
            events.into_iter().map(|event| checked(event, actor, &self.settings)).collect();
        let fine: Vec<&Checked> = events.iter().filter_map(|event| event.as_ref().ok()).collect();
        let (subscriptions, now) =
            self.subscriptions_of(fine.iter().map(|event| event.client.as_deref())).await?;
        let jobs: BTreeMap<String, Vec<Draught>> = fine
            .iter()
            .map(|event| {
                (event.id.clone(), jobs_for(actor, &Facts::of(event), &subscriptions, now, Once::Event))
            })
            .collect();
        let first = self.write_events(actor, &fine, &jobs).await?;
        let made = |event: Checked| {
            let key = (event.client.clone(), event.source.clone(), event.event_id.clone());
            let id = first.get(&key).ok_or_else(|| Error::broken("a fresh event"))?;
            let known = *id != event.id;
            let of_event = jobs.get(&event.id).filter(|_| !known);
            let job_ids =
                of_event.map(|jobs| jobs.iter().map(|job| job.id.clone()).collect()).unwrap_or_default();
            Ok(EventMade { id: id.clone(), known, job_ids })
        };
        let answers: Vec<Result<EventMade, Error>> =
            events.into_iter().map(|event| event.and_then(made)).collect();
        let fresh = answers.iter().flatten().flat_map(|made| made.job_ids.iter().cloned());
        self.hand(fresh.collect()).await;
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
        request: Option<&Request>,
    ) -> Result<Replayed, Error> {
        let event = self.event(actor, id).await?;
        if let Some(request) = request
            && self.made_before(actor, REPLAY, request).await?.is_some()
        {
            return self.replayed(id, &request.mark(actor, REPLAY)).await;
        }
        let (mut subscriptions, now) =
            self.subscriptions_of(std::iter::once(event.client_id.as_deref())).await?;
        if let Some(only) = only {
            subscriptions.retain(|subscription| subscription.id == only);
            if subscriptions.is_empty() {
                return Err(Error::invalid("subscriptionId", "no such subscription for this event"));
            }
        }
        let mark = request.map(|request| request.mark(actor, REPLAY));
        let once = mark.as_deref().map_or(Once::Never, Once::Request);
        let jobs = jobs_for(actor, &Facts::of_event(&event), &subscriptions, now, once);
        let change = Change::new("replay", "event", id).of_client(event.client_id.as_deref());
        let change = change.detail("jobs", jobs.len()).by(self.dialect(), actor);
        let made = self.make_again(&jobs, change).await?;
        if let Some(request) = request {
            self.remember(actor, REPLAY, request, id).await?;
        }
        Ok(made)
    }

    /// Returns the jobs of an event that a request created, found by the prefix of their idempotency keys.
    async fn replayed(&self, event: &str, mark: &str) -> Result<Replayed, Error> {
        let query = Draft::new(self.dialect(), "SELECT id FROM dispatch_jobs WHERE event_id = ")
            .text(event)
            .push(" AND idempotency_key LIKE ")
            .text(&format!("{mark}-%"))
            .push(" ORDER BY id");
        let rows = self.all("find the jobs of a replay", query).await?;
        Ok(Replayed { job_ids: rows.into_iter().map(|row| Reader::new(row).word()).collect() })
    }

    /// Writes jobs and their audit entry. A job whose key exists was created a moment ago by the same request.
    async fn make_again(&self, jobs: &[Draught], change: Statement) -> Result<Replayed, Error> {
        let drafts: Vec<&Draught> = jobs.iter().collect();
        let mut statements = insert_jobs(self.dialect(), &drafts, None);
        statements.push(change);
        let looks = statements.len();
        statements.extend(job::lookups(self.dialect(), &drafts));
        let answers = self.run("make jobs for an event", statements).await?;
        let known = Known::read(answers.into_iter().skip(looks));
        let made: Vec<Created> = jobs.iter().map(|job| known.created(job)).collect::<Result<_, _>>()?;
        let fresh = made.iter().filter(|made| matches!(made, Created::Fresh { .. }));
        self.hand(fresh.map(|made| made.id().to_owned()).collect()).await;
        Ok(Replayed { job_ids: made.iter().map(|made| made.id().to_owned()).collect() })
    }

    /// Creates a job with a test event, to try the target of a subscription.
    ///
    /// A repeated `request` returns the job that it created the first time.
    pub async fn test_subscription(
        &self,
        actor: &Actor,
        id: &str,
        request: Option<&Request>,
    ) -> Result<Replayed, Error> {
        let subscription = self.subscription(actor, id).await?;
        if let Some(request) = request
            && let Some(job) = self.made_before(actor, TEST, request).await?
        {
            return Ok(Replayed { job_ids: vec![job] });
        }
        let facts = Facts {
            id: None,
            source: "postrider",
            code: &subscription.event_code.replace('*', "test"),
            subject: None,
            client: subscription.client_id.as_deref(),
            correlation: None,
            content_type: "application/json",
            data: Some("{\"test\":true}"),
            trace: None,
        };
        let mark = request.map(|request| request.mark(actor, TEST));
        let once = mark.as_deref().map_or(Once::Never, Once::Request);
        let job = drafted(actor, &facts, &subscription, self.clock().await?, once);
        let change = Change::new("test", "subscription", id).of_client(subscription.client_id.as_deref());
        let made = self.make_again(&[job], change.by(self.dialect(), actor)).await?;
        if let (Some(request), [job]) = (request, made.job_ids.as_slice()) {
            self.remember(actor, TEST, request, job).await?;
        }
        Ok(made)
    }

    /// Returns the active subscriptions that events of these clients may match, and the time of the database.
    async fn subscriptions_of<'a>(
        &self,
        clients: impl Iterator<Item = Option<&'a str>>,
    ) -> Result<(Vec<Subscription>, Moment), Error> {
        let clients: BTreeSet<&str> = clients.flatten().collect();
        let query = Draft::new(self.dialect(), subscription::SHEET.selected(self.dialect()))
            .push(" WHERE t.active = ")
            .flag(true)
            .push(" AND (t.client_id IS NULL OR t.client_id IN ")
            .texts(clients)
            .push(") ORDER BY t.id");
        let found: Vec<Subscription> =
            self.all("look for subscriptions", query).await?.into_iter().map(subscription::read).collect();
        for lost in found.iter().filter(|subscription| !subscription.readable) {
            tracing::warn!(
                subscription = lost.id,
                "cannot read the filters, headers or mode of a subscription: it matches no event until they are corrected"
            );
        }
        Ok((found, self.clock().await?))
    }

    /// Writes the events with their jobs. Returns the id of each event: the new one, or that of an earlier delivery.
    async fn write_events(
        &self,
        actor: &Actor,
        events: &[&Checked],
        jobs: &BTreeMap<String, Vec<Draught>>,
    ) -> Result<BTreeMap<Key, String>, Error> {
        if events.is_empty() {
            return Ok(BTreeMap::new());
        }
        let dialect = self.dialect();
        let mut columns: Vec<_> = SHEET.columns[..12].to_vec();
        columns.push(("created_by", Kind::Text));
        let insert = Insert { table: SHEET.table, columns: &columns, or_nothing: true, ..Insert::default() };
        let rows = events.iter().map(|event| fresh(dialect, event, actor)).collect();
        let mut statements = vec![insert.rows(dialect, rows)];
        let event = given(dialect, "event_id");
        let written = format!("EXISTS (SELECT 1 FROM dispatch_events AS e WHERE e.id = {event})");
        let jobs: Vec<&Draught> = jobs.values().flatten().collect();
        statements.extend(insert_jobs(dialect, &jobs, Some(&written)));
        let made = events.iter().map(|event| (actor, event.id.as_str(), event.client.as_deref()));
        statements.push(audit::made(dialect, "event", SHEET.table, made));
        let looks = statements.len();
        statements.extend(lookups(dialect, events));
        let answers = self.run("take events in", statements).await?;
        Ok(answers.into_iter().skip(looks).flat_map(|answer: Answer| answer.rows).map(key).collect())
    }
}

/// The client, source and id of a CloudEvent, which identify it.
type Key = (Option<String>, String, String);

fn key(row: Vec<postrider_seams::row::Value>) -> (Key, String) {
    let mut row = Reader::new(row);
    let id = row.word();
    ((row.text(), row.word(), row.word()), id)
}

fn fresh(dialect: Dialect, event: &Checked, actor: &Actor) -> Fresh {
    Fresh::new()
        .text("id", event.id.clone())
        .text("event_id", event.event_id.clone())
        .text("source", event.source.clone())
        .text("code", event.code.clone())
        .text("subject", event.subject.clone())
        .text("client_id", event.client.clone())
        .text("correlation_id", event.correlation.clone())
        .time(dialect, "occurred_at", event.time)
        .text("data_content_type", event.content_type.clone())
        .text("data_schema", event.schema.clone())
        .text("extensions", serde_json::json!(event.extensions).to_string())
        .text("data", event.data.clone())
        .text("created_by", actor.key_id())
}

fn lookups(dialect: Dialect, events: &[&Checked]) -> Vec<Statement> {
    let mut ids: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for event in events {
        let client = event.client.as_deref().unwrap_or_default();
        ids.entry((client, &event.source)).or_default().insert(&event.event_id);
    }
    let client = if dialect == Dialect::Mysql { "client_key" } else { "coalesce(client_id, '')" };
    let source = quoted(dialect, "source");
    let look = |((id, from), ids): ((&str, &str), BTreeSet<&str>)| {
        let text = format!("SELECT id, client_id, {source}, event_id FROM dispatch_events WHERE {client} = ");
        let query = Draft::new(dialect, text).text(id).push(&format!(" AND {source} = ")).text(from);
        query.push(" AND event_id IN ").texts(ids).done()
    };
    ids.into_iter().map(look).collect()
}

/// The kinds under which requests are stored for idempotency.
const REPLAY: &str = "replay";
const TEST: &str = "test";

/// How a job is kept from being created twice: the origin of its idempotency key.
#[derive(Clone, Copy)]
enum Once<'a> {
    /// One job per event and subscription.
    Event,
    /// One job per request and subscription; holds the request's key prefix.
    Request(&'a str),
    /// No key: every call creates a job.
    Never,
}

/// The members of an event that its jobs need.
struct Facts<'a> {
    id: Option<&'a str>,
    source: &'a str,
    code: &'a str,
    subject: Option<&'a str>,
    client: Option<&'a str>,
    correlation: Option<&'a str>,
    content_type: &'a str,
    data: Option<&'a str>,
    trace: Option<String>,
}

/// The trace context in the extension attribute `traceparent`, if it is valid.
fn trace(extensions: &BTreeMap<String, serde_json::Value>) -> Option<String> {
    crate::traceparent(extensions.get("traceparent")?.as_str()?)
}

impl<'a> Facts<'a> {
    fn of(event: &'a Checked) -> Self {
        Self {
            id: Some(&event.id),
            source: &event.source,
            code: &event.code,
            subject: event.subject.as_deref(),
            client: event.client.as_deref(),
            correlation: event.correlation.as_deref(),
            content_type: &event.content_type,
            data: event.data.as_deref(),
            trace: trace(&event.extensions),
        }
    }

    fn of_event(event: &'a Event) -> Self {
        Self {
            id: Some(&event.id),
            source: &event.source,
            code: &event.code,
            subject: event.subject.as_deref(),
            client: event.client_id.as_deref(),
            correlation: event.correlation_id.as_deref(),
            content_type: event.data_content_type.as_deref().unwrap_or("application/json"),
            data: event.data.as_deref(),
            trace: trace(&event.extensions),
        }
    }

    fn matches(&self, subscription: &Subscription, data: &serde_json::Value) -> bool {
        let client = subscription.client_id.as_deref();
        subscription.readable
            && (client.is_none() || client == self.client)
            && matches_code(&subscription.event_code, self.code)
            && subscription.source_prefix.as_deref().is_none_or(|prefix| self.source.starts_with(prefix))
            && subscription.filters.iter().all(|filter| filter.holds(data))
    }
}

fn drafted(
    actor: &Actor,
    event: &Facts<'_>,
    subscription: &Subscription,
    now: Moment,
    once: Once<'_>,
) -> Draught {
    let key = match once {
        Once::Event => event.id,
        Once::Request(mark) => Some(mark),
        Once::Never => None,
    };
    let key = key.map(|key| format!("{key}-{}", subscription.id));
    let group = event.subject.map(|subject| format!("{}:{subject}", subscription.code));
    let job = NewJob {
        source: Some(event.source.to_owned()),
        subject: event.subject.map(str::to_owned),
        event_id: event.id.map(str::to_owned),
        correlation_id: event.correlation.map(str::to_owned),
        headers: subscription.headers.clone(),
        payload: event.data.map(str::to_owned),
        payload_content_type: Some(event.content_type.to_owned()),
        data_only: Some(subscription.data_only),
        service_account_id: subscription.service_account_id.clone(),
        client_id: event.client.map(str::to_owned),
        mode: subscription.mode,
        dispatch_pool_id: subscription.dispatch_pool_id.clone(),
        message_group: group.map(|group| group.chars().take(255).collect()),
        sequence: Some(subscription.sequence),
        timeout_seconds: Some(subscription.timeout_seconds),
        max_retries: Some(subscription.max_retries),
        retry_strategy: Some(subscription.retry_strategy.clone()),
        expires_at: subscription.expires_after_seconds.map(|seconds| now.after_seconds(seconds)),
        idempotency_key: key,
        traceparent: event.trace.clone(),
        ..NewJob::to(event.code, &subscription.target_url)
    };
    let origin = Origin { subscription: Some(subscription.id.clone()), created_by: actor.key_id() };
    job.drafted(DispatchKind::Event, origin)
}

fn jobs_for(
    actor: &Actor,
    event: &Facts<'_>,
    subscriptions: &[Subscription],
    now: Moment,
    once: Once<'_>,
) -> Vec<Draught> {
    let data = event.data.and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
    let matching = subscriptions.iter().filter(|subscription| event.matches(subscription, &data));
    matching.map(|subscription| drafted(actor, event, subscription, now, once)).collect()
}
