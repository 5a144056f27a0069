//! A job as it is shown, and how its row is read.

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
    pub id: String,
    pub external_id: Option<String>,
    pub source: Option<String>,
    pub kind: DispatchKind,
    pub code: String,
    pub subject: Option<String>,
    pub event_id: Option<String>,
    pub correlation_id: Option<String>,
    pub metadata: Vec<DispatchJobMetadata>,
    pub target_url: String,
    pub protocol: DispatchProtocol,
    pub headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub payload: Option<String>,
    /// The key that made it.
    #[serde(skip)]
    pub created_by: Option<String>,
    pub payload_content_type: String,
    /// The payload as it is; else in a CloudEvents envelope.
    pub data_only: bool,
    pub service_account_id: Option<String>,
    pub client_id: Option<String>,
    pub subscription_id: Option<String>,
    /// None: a value that is not ours, which blocks its group.
    pub mode: Option<DispatchMode>,
    pub dispatch_pool_id: Option<String>,
    pub message_group: Option<String>,
    pub sequence: i64,
    pub timeout_seconds: i64,
    pub schema_id: Option<String>,
    pub status: DispatchStatus,
    /// Bounds all attempts. An operator's retry adds to it.
    pub max_retries: Option<i64>,
    pub retry_strategy: Option<String>,
    pub scheduled_for: Option<Moment>,
    pub expires_at: Option<Moment>,
    /// When it is tried again; none in ERROR: never by itself.
    pub next_attempt_at: Option<Moment>,
    pub attempt_count: i64,
    pub last_attempt_at: Option<Moment>,
    pub completed_at: Option<Moment>,
    /// Of all attempts together.
    pub duration_millis: Option<i64>,
    pub last_error: Option<String>,
    pub idempotency_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub attempts: Option<Vec<DispatchAttempt>>,
    pub created_at: Option<Moment>,
    pub updated_at: Option<Moment>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DispatchJobMetadata {
    pub id: String,
    pub key: String,
    pub value: String,
}

/// Reads a row whatever it holds: one that other programs wrote must not hide the rest of its page.
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
    /// One job, whole, with every attempt.
    pub async fn job(&self, actor: &Actor, id: &str) -> Result<DispatchJob, Error> {
        const ABSENT: Error = Error::Absent("dispatch job");
        if !is_id(id) {
            return Err(ABSENT);
        }
        let attempts = Draft::new(self.dialect(), attempt::SHEET.selected(self.dialect()));
        let attempts = attempts.push(" WHERE t.job_id = ").text(id);
        // The last ones, should there be very many.
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
        // Those of an event's job are its subscription's.
        let own = job.created_by.as_deref() == Some(actor.key.as_str()) && job.subscription_id.is_none();
        mask::headers(actor, own, &mut job.headers);
        mask::addresses(actor, &job.target_url, &mut job.last_error);
        let shown = attempts.map(|row| attempt::read(row).for_caller(actor, &job.target_url));
        job.attempts = Some(shown.collect());
        Ok(job)
    }
}

/// What [`shown`] wants to read.
pub(super) fn reads(dialect: Dialect, ids: &[&str]) -> Vec<Statement> {
    let jobs = format!(
        "SELECT {}, t.payload, t.created_by FROM dispatch_jobs AS t WHERE t.id IN ",
        SHEET.listed(dialect)
    );
    let jobs = Draft::new(dialect, jobs).texts(ids.iter().copied());
    vec![jobs.done(), metadata_of(dialect, ids).done()]
}

/// `job, id, key, value` of these jobs, in the order in which they were given.
pub(super) fn metadata_of(dialect: Dialect, ids: &[&str]) -> Draft {
    Draft::new(dialect, "SELECT t.job_id, t.id, t.")
        .name("key")
        .push(", t.")
        .name("value")
        .push(" FROM dispatch_job_metadata AS t WHERE t.job_id IN ")
        .texts(ids.iter().copied())
        .push(" ORDER BY t.id")
}

/// Jobs, whole, as they are before their first attempt.
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
