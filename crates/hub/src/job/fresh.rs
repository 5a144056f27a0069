//! A job that was just written: built from its request and the few columns that the database itself set, so that no
//! payload is read back.

use std::collections::BTreeMap;

use super::view::{DispatchJobMetadata, metadata_query, read_metadata};
use super::{DispatchJob, DispatchStatus, JobDraft};
use crate::Moment;
use crate::sql::{Answer, Dialect, RowReader, SqlBuilder, Statement, Table, columns};

/// The columns that the database sets, or whose values it rounds.
const TABLE: Table = Table {
    name: "dispatch_jobs",
    columns: columns![id, status, scheduled_for: Time, expires_at: Time, created_at: Time, updated_at: Time],
};

/// What the database set in the row of a new job.
pub(super) struct FreshRow {
    status: DispatchStatus,
    scheduled_for: Option<Moment>,
    expires_at: Option<Moment>,
    created_at: Option<Moment>,
    updated_at: Option<Moment>,
    metadata: Vec<DispatchJobMetadata>,
}

/// How the columns of new rows are read; by default they are not.
#[derive(Debug, Default)]
pub(super) struct FreshReads {
    /// The columns that the inserts return; `None` on MySQL, which has no RETURNING.
    pub returning: Option<String>,
    /// The queries after the inserts.
    pub queries: Vec<Statement>,
}

/// Returns how the rows of these new jobs are read.
pub(super) fn fresh_reads(dialect: Dialect, ids: &[&str], with_metadata: bool) -> FreshReads {
    let returning = (dialect != Dialect::Mysql).then(|| TABLE.returning_list(dialect));
    let rows =
        || SqlBuilder::new(dialect, TABLE.select(dialect)).push(" WHERE t.id IN ").in_list(ids).finish();
    let rows = returning.is_none().then(rows);
    let metadata = with_metadata.then(|| metadata_query(dialect, ids).finish());
    FreshReads { returning, queries: rows.into_iter().chain(metadata).collect() }
}

/// Reads the rows of new jobs, by id: what the inserts returned, or the answer to the first query, and their metadata.
pub(super) fn read_fresh(inserted: Option<Vec<Answer>>, answers: Vec<Answer>) -> BTreeMap<String, FreshRow> {
    let mut answers = answers.into_iter();
    let inserted = inserted.unwrap_or_else(|| answers.next().into_iter().collect());
    let rows = inserted.into_iter().flat_map(|answer| answer.rows).map(RowReader::new);
    let mut fresh: BTreeMap<String, FreshRow> = rows.map(read_row).collect();
    let metadata = answers.flat_map(|answer| answer.rows).map(RowReader::new);
    for (job, entry) in metadata.map(read_metadata) {
        if let Some(row) = fresh.get_mut(&job) {
            row.metadata.push(entry);
        }
    }
    fresh
}

fn read_row(mut row: RowReader) -> (String, FreshRow) {
    let id = row.required_text();
    let fresh = FreshRow {
        status: row.required_name_or(DispatchStatus::Unknown),
        scheduled_for: row.time(),
        expires_at: row.time(),
        created_at: row.time(),
        updated_at: row.time(),
        metadata: Vec::new(),
    };
    (id, fresh)
}

impl FreshRow {
    /// Returns the job as the API shows it.
    pub fn job(self, draft: &JobDraft) -> DispatchJob {
        let new = draft.new.clone();
        DispatchJob {
            id: draft.id.clone(),
            external_id: new.external_id,
            source: new.source,
            kind: draft.kind,
            code: new.code,
            subject: new.subject,
            event_id: new.event_id,
            correlation_id: new.correlation_id,
            metadata: self.metadata,
            target_url: new.target_url,
            protocol: new.protocol,
            headers: new.headers,
            payload: new.payload,
            created_by: draft.origin.created_by.clone(),
            payload_content_type: new.payload_content_type.unwrap_or_default(),
            data_only: new.data_only.unwrap_or(true),
            service_account_id: new.service_account_id,
            client_id: new.client_id,
            subscription_id: draft.origin.subscription.clone(),
            mode: Some(new.mode),
            dispatch_pool_id: new.dispatch_pool_id,
            message_group: new.message_group,
            sequence: new.sequence.unwrap_or_default(),
            timeout_seconds: new.timeout_seconds.unwrap_or_default(),
            schema_id: new.schema_id,
            status: self.status,
            max_retries: new.max_retries,
            retry_strategy: new.retry_strategy,
            scheduled_for: self.scheduled_for,
            expires_at: self.expires_at,
            next_attempt_at: None,
            attempt_count: 0,
            last_attempt_at: None,
            completed_at: None,
            duration_millis: None,
            last_error: None,
            idempotency_key: new.idempotency_key,
            attempts: Some(Vec::new()),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}
