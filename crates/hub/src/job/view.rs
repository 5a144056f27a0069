//! Jobs as the API returns them, and how their rows are read.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::attempt::{self, DispatchAttempt};
use super::{DispatchKind, DispatchMode, DispatchProtocol, DispatchStatus};
use crate::access::Actor;
use crate::sql::{Answer, Clauses as _, Dialect, RowReader, SqlBuilder, Statement, Table, columns};
use crate::validation::is_id;
use crate::{Error, Hub, Moment, mask};

pub(super) const TABLE: Table = Table {
    name: "dispatch_jobs",
    columns: columns![
        id, external_id, source, kind, code, subject, event_id, correlation_id, target_url, protocol, headers,
        payload_content_type, data_only: Flag, service_account_id, client_id, subscription_id, mode, dispatch_pool_id,
        message_group, sequence: Int, timeout_seconds: Int, schema_id, status, max_retries: Int, retry_strategy,
        scheduled_for: Time, expires_at: Time, next_attempt_at: Time, attempt_count: Int, last_attempt_at: Time,
        completed_at: Time, duration_millis: Int, last_error, idempotency_key, created_at: Time, updated_at: Time,
    ],
};

/// A webhook delivery with its attempts. Lists leave out `payload` and `attempts`.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchJob {
    /// Id of the job, a TSID of 13 characters.
    pub id: String,
    /// The caller's own id of the job.
    pub external_id: Option<String>,
    /// Where the job comes from: the `source` of its event or task.
    pub source: Option<String>,
    /// Whether a subscription (`EVENT`) or a caller (`TASK`) created the job.
    pub kind: DispatchKind,
    /// Type of the event, or code of the task.
    pub code: String,
    /// What the event or task is about.
    pub subject: Option<String>,
    /// Id of the event that the job was created for.
    pub event_id: Option<String>,
    /// Id that ties related jobs and events together.
    pub correlation_id: Option<String>,
    /// Searchable keys and values.
    pub metadata: Vec<DispatchJobMetadata>,
    /// URL that the payload is posted to.
    pub target_url: String,
    /// How the job is delivered.
    pub protocol: DispatchProtocol,
    /// Additional headers of the request.
    pub headers: BTreeMap<String, String>,
    /// Body of the request. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub payload: Option<String>,
    /// Id of the API key that created the job.
    #[serde(skip)]
    pub created_by: Option<String>,
    /// Media type of the payload.
    pub payload_content_type: String,
    /// Whether the payload is sent as it is. Otherwise it is sent in a CloudEvents envelope.
    pub data_only: bool,
    /// Service account that authenticates and signs the request.
    pub service_account_id: Option<String>,
    /// Client that the job belongs to.
    pub client_id: Option<String>,
    /// Subscription that the job was created for.
    pub subscription_id: Option<String>,
    /// What a failure means for later jobs of the same message group. Null: the stored value is unknown; the job blocks
    /// its group.
    pub mode: Option<DispatchMode>,
    /// Pool whose limits apply to the job.
    pub dispatch_pool_id: Option<String>,
    /// Group within which jobs are delivered in order.
    pub message_group: Option<String>,
    /// Order within the message group, lowest first.
    pub sequence: i64,
    /// Time limit of one attempt, in seconds.
    pub timeout_seconds: i64,
    /// JSON Schema that the payload was checked against.
    pub schema_id: Option<String>,
    /// State of the job.
    pub status: DispatchStatus,
    /// Maximum number of attempts in total. An operator's retry raises it.
    pub max_retries: Option<i64>,
    /// When failed attempts are retried: `exponential`, `fixed`, `immediate`, or a JSON list of seconds.
    pub retry_strategy: Option<String>,
    /// Earliest time of the first attempt.
    pub scheduled_for: Option<Moment>,
    /// Latest time of an attempt. A job that is not delivered by then ends in `ERROR`.
    pub expires_at: Option<Moment>,
    /// When the next attempt is due. Null in `ERROR`: the job is not retried automatically.
    pub next_attempt_at: Option<Moment>,
    /// Attempts made so far.
    pub attempt_count: i64,
    /// When the last attempt started.
    pub last_attempt_at: Option<Moment>,
    /// When the job ended.
    pub completed_at: Option<Moment>,
    /// Duration of all attempts together, in milliseconds.
    pub duration_millis: Option<i64>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// Key that prevents a second job for the same request.
    pub idempotency_key: Option<String>,
    /// Every attempt, oldest first. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub attempts: Option<Vec<DispatchAttempt>>,
    /// When the job was created.
    pub created_at: Option<Moment>,
    /// When the job last changed.
    pub updated_at: Option<Moment>,
}

/// A searchable key and value of a job.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DispatchJobMetadata {
    /// Id of the entry.
    pub id: String,
    /// Key to search by.
    pub key: String,
    /// Value to search for.
    pub value: String,
}

/// Reads a row and replaces unreadable values by defaults, so that a row of another program cannot break its page.
pub(super) fn read(row: &mut RowReader) -> DispatchJob {
    DispatchJob {
        id: row.required_text(),
        external_id: row.text(),
        source: row.text(),
        kind: row.required_name_or(DispatchKind::Unknown),
        code: row.required_text(),
        subject: row.text(),
        event_id: row.text(),
        correlation_id: row.text(),
        metadata: Vec::new(),
        target_url: row.required_text(),
        protocol: row.required_name_or(DispatchProtocol::Unknown),
        headers: row.json(),
        payload: None,
        created_by: None,
        payload_content_type: row.required_text(),
        data_only: row.flag(),
        service_account_id: row.text(),
        client_id: row.text(),
        subscription_id: row.text(),
        mode: row.name_or(DispatchMode::Unknown),
        dispatch_pool_id: row.text(),
        message_group: row.text(),
        sequence: row.required_int(),
        timeout_seconds: row.required_int(),
        schema_id: row.text(),
        status: row.required_name_or(DispatchStatus::Unknown),
        max_retries: row.int(),
        retry_strategy: row.text(),
        scheduled_for: row.time(),
        expires_at: row.time(),
        next_attempt_at: row.time(),
        attempt_count: row.required_int(),
        last_attempt_at: row.time(),
        completed_at: row.time(),
        duration_millis: row.int(),
        last_error: row.text(),
        idempotency_key: row.text(),
        attempts: None,
        created_at: row.time(),
        updated_at: row.time(),
    }
}

impl Hub {
    /// Returns one job with its payload and its attempts, the latest 1000 of them.
    ///
    /// Fails if the job does not exist or its client is outside the actor's scope. A producer gets the payload only of
    /// jobs that its own key created.
    pub async fn job(&self, actor: &Actor, id: &str) -> Result<DispatchJob, Error> {
        const NOT_FOUND: Error = Error::NotFound("dispatch job");
        if !is_id(id) {
            return Err(NOT_FOUND);
        }
        let attempts = self.select(&attempt::TABLE).and_equals("job_id", Some(id));
        // If there are more than 1000, the latest ones.
        let attempts = attempts.push(" ORDER BY t.attempt_number DESC, t.id DESC LIMIT 1000");
        let mut statements = job_queries(self.dialect(), &[id]);
        statements.push(attempts.finish());
        let mut answers = self.run("read a dispatch job", statements).await?;
        let attempts = answers.pop().unwrap_or_default().rows.into_iter().rev();
        let job = read_jobs(answers).pop().filter(|job| actor.scope.covers(job.client_id.as_deref()));
        let mut job = job.ok_or(NOT_FOUND)?;
        if !actor.may_read_created_by(job.created_by.as_deref()) {
            job.payload = None;
        }
        // The headers of an event's job come from its subscription, not from the key that sent the event.
        let own = job.created_by.as_deref() == Some(actor.key.as_str()) && job.subscription_id.is_none();
        mask::headers(actor, own, &mut job.headers);
        mask::addresses(actor, &job.target_url, &mut job.last_error);
        let masked =
            attempts.map(|row| attempt::read(RowReader::new(row)).for_caller(actor, &job.target_url));
        job.attempts = Some(masked.collect());
        Ok(job)
    }
}

/// The queries whose answers [`read_jobs`] reads.
pub(super) fn job_queries(dialect: Dialect, ids: &[&str]) -> Vec<Statement> {
    let columns = TABLE.select_list(dialect, "t");
    let jobs = format!("SELECT {columns}, t.payload, t.created_by FROM dispatch_jobs AS t WHERE t.id IN ");
    let jobs = SqlBuilder::new(dialect, jobs).in_list(ids);
    vec![jobs.finish(), metadata_query(dialect, ids).finish()]
}

/// The query for `job, id, key, value` of the metadata of these jobs, in the order of the request.
pub(super) fn metadata_query(dialect: Dialect, ids: &[&str]) -> SqlBuilder {
    SqlBuilder::new(dialect, "SELECT t.job_id, t.id, t.")
        .column("key")
        .push(", t.")
        .column("value")
        .push(" FROM dispatch_job_metadata AS t WHERE t.job_id IN ")
        .in_list(ids)
        .push(" ORDER BY t.id")
}

/// Reads complete jobs with an empty list of attempts.
pub(super) fn read_jobs(answers: Vec<Answer>) -> Vec<DispatchJob> {
    let mut answers = answers.into_iter();
    let mut next = || answers.next().unwrap_or_default().rows.into_iter().map(RowReader::new);
    let (jobs, metadata) = (next(), next());
    let mut of: BTreeMap<String, Vec<DispatchJobMetadata>> = BTreeMap::new();
    for (job, entry) in metadata.map(read_metadata) {
        of.entry(job).or_default().push(entry);
    }
    let job = |mut row| {
        let mut job = read(&mut row);
        job.payload = row.text();
        job.created_by = row.text();
        job.metadata = of.remove(&job.id).unwrap_or_default();
        job.attempts = Some(Vec::new());
        job
    };
    jobs.map(job).collect()
}

pub(super) fn read_metadata(mut row: RowReader) -> (String, DispatchJobMetadata) {
    let (job, id) = (row.required_text(), row.required_text());
    (job, DispatchJobMetadata { id, key: row.required_text(), value: row.required_text() })
}
