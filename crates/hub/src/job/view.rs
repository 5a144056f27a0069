//! Jobs as the API returns them, and how their rows are read.

use std::collections::BTreeMap;

use postrider_seams::row::Value;
use postrider_sql::Dialect;
use postrider_sql::plain::{Answer, Statement};
use serde::Serialize;
use utoipa::ToSchema;

use super::attempt::{self, DispatchAttempt};
use super::{DispatchKind, DispatchMode, DispatchProtocol, DispatchStatus, named};
use crate::access::Actor;
use crate::check::is_id;
use crate::draft::Draft;
use crate::sheet::{Kind, Reader, Sheet};
use crate::{Error, Hub, Moment, mask};

pub(super) const SHEET: Sheet = Sheet {
    table: "dispatch_jobs",
    columns: &[
        ("id", Kind::Text),
        ("external_id", Kind::Text),
        ("source", Kind::Text),
        ("kind", Kind::Text),
        ("code", Kind::Text),
        ("subject", Kind::Text),
        ("event_id", Kind::Text),
        ("correlation_id", Kind::Text),
        ("target_url", Kind::Text),
        ("protocol", Kind::Text),
        ("headers", Kind::Text),
        ("payload_content_type", Kind::Text),
        ("data_only", Kind::Flag),
        ("service_account_id", Kind::Text),
        ("client_id", Kind::Text),
        ("subscription_id", Kind::Text),
        ("mode", Kind::Text),
        ("dispatch_pool_id", Kind::Text),
        ("message_group", Kind::Text),
        ("sequence", Kind::Int),
        ("timeout_seconds", Kind::Int),
        ("schema_id", Kind::Text),
        ("status", Kind::Text),
        ("max_retries", Kind::Int),
        ("retry_strategy", Kind::Text),
        ("scheduled_for", Kind::Time),
        ("expires_at", Kind::Time),
        ("next_attempt_at", Kind::Time),
        ("attempt_count", Kind::Int),
        ("last_attempt_at", Kind::Time),
        ("completed_at", Kind::Time),
        ("duration_millis", Kind::Int),
        ("last_error", Kind::Text),
        ("idempotency_key", Kind::Text),
        ("created_at", Kind::Time),
        ("updated_at", Kind::Time),
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
    /// The key that made it.
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
pub(super) fn read(row: &mut Reader) -> DispatchJob {
    DispatchJob {
        id: row.word(),
        external_id: row.text(),
        source: row.text(),
        kind: named(&row.word()).unwrap_or(DispatchKind::Unknown),
        code: row.word(),
        subject: row.text(),
        event_id: row.text(),
        correlation_id: row.text(),
        metadata: Vec::new(),
        target_url: row.word(),
        protocol: named(&row.word()).unwrap_or(DispatchProtocol::Unknown),
        headers: row.json(),
        payload: None,
        created_by: None,
        payload_content_type: row.word(),
        data_only: row.flag(),
        service_account_id: row.text(),
        client_id: row.text(),
        subscription_id: row.text(),
        mode: row.text().map(|mode| named(&mode).unwrap_or(DispatchMode::Unknown)),
        dispatch_pool_id: row.text(),
        message_group: row.text(),
        sequence: row.int().unwrap_or_default(),
        timeout_seconds: row.int().unwrap_or_default(),
        schema_id: row.text(),
        status: named(&row.word()).unwrap_or(DispatchStatus::Unknown),
        max_retries: row.int(),
        retry_strategy: row.text(),
        scheduled_for: row.time(),
        expires_at: row.time(),
        next_attempt_at: row.time(),
        attempt_count: row.int().unwrap_or_default(),
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
        const ABSENT: Error = Error::Absent("dispatch job");
        if !is_id(id) {
            return Err(ABSENT);
        }
        let attempts = Draft::new(self.dialect(), attempt::SHEET.selected(self.dialect()));
        let attempts = attempts.push(" WHERE t.job_id = ").text(id);
        // If there are more than 1000, the latest ones.
        let attempts = attempts.push(" ORDER BY t.attempt_number DESC, t.id DESC LIMIT 1000");
        let mut statements = reads(self.dialect(), &[id]);
        statements.push(attempts.done());
        let mut answers = self.run("read a dispatch job", statements).await?;
        let attempts = answers.pop().unwrap_or_default().rows.into_iter().rev();
        let job = shown(answers).pop().filter(|job| actor.scope.covers(job.client_id.as_deref()));
        let mut job = job.ok_or(ABSENT)?;
        if !actor.may_read_what(job.created_by.as_deref()) {
            job.payload = None;
        }
        // The headers of an event's job come from its subscription, not from the key that sent the event.
        let own = job.created_by.as_deref() == Some(actor.key.as_str()) && job.subscription_id.is_none();
        mask::headers(actor, own, &mut job.headers);
        mask::addresses(actor, &job.target_url, &mut job.last_error);
        let shown = attempts.map(|row| attempt::read(row).for_caller(actor, &job.target_url));
        job.attempts = Some(shown.collect());
        Ok(job)
    }
}

/// The queries whose answers [`shown`] reads.
pub(super) fn reads(dialect: Dialect, ids: &[&str]) -> Vec<Statement> {
    let jobs = format!(
        "SELECT {}, t.payload, t.created_by FROM dispatch_jobs AS t WHERE t.id IN ",
        SHEET.listed(dialect)
    );
    let jobs = Draft::new(dialect, jobs).texts(ids.iter().copied());
    vec![jobs.done(), metadata_of(dialect, ids).done()]
}

/// The query for `job, id, key, value` of the metadata of these jobs, in the order of the request.
pub(super) fn metadata_of(dialect: Dialect, ids: &[&str]) -> Draft {
    Draft::new(dialect, "SELECT t.job_id, t.id, t.")
        .name("key")
        .push(", t.")
        .name("value")
        .push(" FROM dispatch_job_metadata AS t WHERE t.job_id IN ")
        .texts(ids.iter().copied())
        .push(" ORDER BY t.id")
}

/// Reads complete jobs with an empty list of attempts.
pub(super) fn shown(answers: Vec<Answer>) -> Vec<DispatchJob> {
    let mut answers = answers.into_iter();
    let mut next = || answers.next().unwrap_or_default().rows;
    let (jobs, metadata) = (next(), next());
    let mut of: BTreeMap<String, Vec<DispatchJobMetadata>> = BTreeMap::new();
    for (job, metadatum) in metadata.into_iter().map(metadatum) {
        of.entry(job).or_default().push(metadatum);
    }
    let job = |row| {
        let mut row = Reader::new(row);
        let mut job = read(&mut row);
        job.payload = row.text();
        job.created_by = row.text();
        job.metadata = of.remove(&job.id).unwrap_or_default();
        job.attempts = Some(Vec::new());
        job
    };
    jobs.into_iter().map(job).collect()
}

pub(super) fn metadatum(row: Vec<Value>) -> (String, DispatchJobMetadata) {
    let mut row = Reader::new(row);
    let job = row.word();
    (job, DispatchJobMetadata { id: row.word(), key: row.word(), value: row.word() })
}
