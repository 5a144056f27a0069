//! Writes events with their jobs: those of one list, or those of single requests together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::batch::EventBatch;
use super::create::{CreatedEvent, JobKey, job_drafts};
use super::view::{Event, TABLE};
use crate::access::Actor;
use crate::group_commit::{WriteTogether, shared_error};
use crate::job::{JOBS, JobDraft, insert_jobs};
use crate::sql::{
    Answer, Dialect, Execute, Insert, NewRow, RowReader, SqlBuilder, Statement, Table, client_key, columns,
    select, source_column,
};
use crate::subscription::{self, Subscription};
use crate::{Error, Moment, audit, hub};

/// A valid event, and who sends it.
#[derive(Debug)]
pub(crate) struct EventRequest {
    pub actor: Actor,
    pub event: Event,
}

/// The jobs of events, by the id of the event.
pub(super) type JobsByEvent = BTreeMap<String, Vec<JobDraft>>;

/// Writes the events of single requests together.
pub(crate) struct EventWriter(pub Arc<dyn Execute>);

impl WriteTogether for EventWriter {
    type Request = EventRequest;
    type Answer = CreatedEvent;
    type Error = Error;

    fn bytes(request: &EventRequest) -> usize {
        request.event.data.as_ref().map_or(0, String::len)
    }

    async fn write(&self, requests: Vec<EventRequest>) -> Vec<Result<CreatedEvent, Error>> {
        let clients = requests.iter().map(|request| request.event.client_id.as_deref());
        let subscriptions = match ActiveSubscriptions::read(&*self.0, clients).await {
            Ok(subscriptions) => subscriptions,
            Err(error) => return shared_error(error, requests.len()),
        };
        let mut answers = Vec::with_capacity(requests.len());
        let mut requests = requests.into_iter().map(Ok).peekable();
        while requests.peek().is_some() {
            let part = EventBatch::take(&mut requests, |request| subscriptions.jobs_of(request));
            answers.extend(self.store_part(&part).await);
        }
        answers
    }
}

impl EventWriter {
    async fn store_part(&self, part: &EventBatch) -> Vec<Result<CreatedEvent, Error>> {
        let requests: Vec<&EventRequest> = part.events.iter().flatten().collect();
        match store(&*self.0, &requests, &part.jobs).await {
            Ok(answers) => answers,
            // The cause may be a single event: store each alone, so that the others succeed.
            Err(error) if error.is_permanent() && requests.len() > 1 => {
                let mut answers = Vec::with_capacity(requests.len());
                for request in &requests {
                    match store(&*self.0, std::slice::from_ref(request), &part.jobs).await {
                        Ok(alone) => answers.extend(alone),
                        Err(error) => answers.push(Err(error)),
                    }
                }
                answers
            }
            Err(error) => shared_error(error, requests.len()),
        }
    }
}

/// The active subscriptions that events may match, and the time of the database.
pub(super) struct ActiveSubscriptions {
    pub list: Vec<Subscription>,
    pub now: Moment,
}

impl ActiveSubscriptions {
    /// Reads the subscriptions that events of these clients may match.
    pub async fn read<'a>(
        database: &dyn Execute,
        clients: impl Iterator<Item = Option<&'a str>>,
    ) -> Result<Self, Error> {
        let clients: BTreeSet<&str> = clients.flatten().collect();
        let query = select(database.dialect(), &subscription::TABLE)
            .push(" AND t.active = ")
            .flag(true)
            .push(" AND (t.client_id IS NULL OR t.client_id IN ")
            .in_list(clients)
            .push(") ORDER BY t.id");
        let answer = database.transact("find subscriptions", &[query.finish()]).await?.pop();
        let rows = answer.unwrap_or_default().rows.into_iter().map(RowReader::new);
        let list: Vec<Subscription> = rows.map(subscription::read).collect();
        for unreadable in list.iter().filter(|subscription| !subscription.readable) {
            tracing::warn!(
                subscription = unreadable.id,
                "cannot read the filters, headers or mode of a subscription: it matches no event until they are corrected"
            );
        }
        let expires = |subscription: &Subscription| subscription.expires_after_seconds.is_some();
        // Only the expiry of a job needs the time.
        let now = if list.iter().any(expires) { hub::clock(database).await? } else { Moment::now() };
        Ok(Self { list, now })
    }

    /// Returns the jobs of a new event.
    pub fn jobs_of(&self, request: &EventRequest) -> Vec<JobDraft> {
        job_drafts(&request.actor, &request.event, self, JobKey::Event)
    }
}

/// Stores events and their jobs in one transaction, and returns the result of each event, in order.
pub(super) async fn store(
    database: &dyn Execute,
    requests: &[&EventRequest],
    jobs: &JobsByEvent,
) -> Result<Vec<Result<CreatedEvent, Error>>, Error> {
    let first = write(database, requests, jobs).await?;
    if jobs.values().any(|jobs| !jobs.is_empty()) {
        // Here, as a caller that disconnects must not leave its jobs to the next poll.
        database.wake(JOBS);
    }
    let answer = |request: &&EventRequest| {
        let event = &request.event;
        let id = first.get(&key_of(event)).ok_or_else(|| Error::unreadable("a fresh event"))?;
        let known = *id != event.id;
        let of_event = jobs.get(&event.id).filter(|_| !known);
        let ids = of_event.map(|jobs| jobs.iter().map(|job| job.id.clone()).collect());
        Ok(CreatedEvent { id: id.clone(), known, job_ids: ids.unwrap_or_default() })
    };
    Ok(requests.iter().map(answer).collect())
}

/// Writes the events with their jobs. Returns the id of each event: the new one, or that of an earlier delivery.
async fn write(
    database: &dyn Execute,
    requests: &[&EventRequest],
    jobs: &JobsByEvent,
) -> Result<BTreeMap<Key, String>, Error> {
    if requests.is_empty() {
        return Ok(BTreeMap::new());
    }
    let dialect = database.dialect();
    let mut requests = requests.to_vec();
    // The same order everywhere, so that two transactions with the same events cannot deadlock.
    requests.sort_by(|one, other| one.event.event_id.cmp(&other.event.event_id));
    let rows = requests.iter().map(|request| event_row(&request.event));
    let returning = (dialect != Dialect::Mysql).then(|| KEY.returning_list(dialect));
    let returns = returning.is_some();
    let mut statements =
        Insert::into(TABLE.name).skip_duplicates(true).returning(returning).parts(dialect, rows);
    let event = source_column(dialect, "event_id");
    let written = format!("EXISTS (SELECT 1 FROM dispatch_events AS e WHERE e.id = {event})");
    let of_requests = requests.iter().filter_map(|request| jobs.get(&request.event.id));
    let jobs: Vec<&JobDraft> = of_requests.flatten().collect();
    statements.extend(insert_jobs(dialect, &jobs, Some(&written)));
    let made = requests
        .iter()
        .map(|request| (&request.actor, request.event.id.as_str(), request.event.client_id.as_deref()));
    statements.push(audit::created_entries(dialect, "event", Some(TABLE.name), made));
    if !returns {
        statements.extend(lookups(dialect, &requests));
    }
    let answers = database.transact("store events", &statements).await?;
    let mut found = keys(answers);
    requests.retain(|request| !found.contains_key(&key_of(&request.event)));
    // What the insert skipped was stored before.
    if returns && !requests.is_empty() {
        found.extend(keys(database.transact("find stored events", &lookups(dialect, &requests)).await?));
    }
    Ok(found)
}

/// The columns of an event that [`keys`] reads.
const KEY: Table = Table { name: TABLE.name, columns: columns![id, client_id, source, event_id] };

/// The client, source and id of a CloudEvent, which identify it.
type Key = (Option<String>, String, String);

fn key_of(event: &Event) -> Key {
    (event.client_id.clone(), event.source.clone(), event.event_id.clone())
}

/// Reads the ids of events by their keys. Of the statements that store events, only those return rows.
fn keys(answers: Vec<Answer>) -> BTreeMap<Key, String> {
    let rows = answers.into_iter().flat_map(|answer| answer.rows).map(RowReader::new);
    let read = |mut row: RowReader| {
        let id = row.required_text();
        ((row.text(), row.required_text(), row.required_text()), id)
    };
    rows.map(read).collect()
}

fn event_row(event: &Event) -> NewRow {
    NewRow::new()
        .text("id", event.id.clone())
        .text("event_id", event.event_id.clone())
        .text("source", event.source.clone())
        .text("code", event.code.clone())
        .text("subject", event.subject.clone())
        .text("client_id", event.client_id.clone())
        .text("correlation_id", event.correlation_id.clone())
        .time("occurred_at", event.occurred_at)
        .text("data_content_type", event.data_content_type.clone())
        .text("data_schema", event.data_schema.clone())
        .json("extensions", &event.extensions)
        .text("data", event.data.clone())
        .text("created_by", event.created_by.clone())
}

fn lookups(dialect: Dialect, requests: &[&EventRequest]) -> Vec<Statement> {
    let mut ids: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for event in requests.iter().map(|request| &request.event) {
        let client = event.client_id.as_deref().unwrap_or_default();
        ids.entry((client, &event.source)).or_default().insert(&event.event_id);
    }
    let client = client_key(dialect);
    let source = dialect.quoted("source");
    let lookup = |((id, from), ids): ((&str, &str), BTreeSet<&str>)| {
        let list = KEY.returning_list(dialect);
        let text = format!("SELECT {list} FROM {} WHERE {client} = ", KEY.name);
        let query = SqlBuilder::new(dialect, text).text(id).push(&format!(" AND {source} = ")).text(from);
        query.push(" AND event_id IN ").in_list(ids).finish()
    };
    ids.into_iter().map(lookup).collect()
}
