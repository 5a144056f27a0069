//! Creating jobs: one, or many at once with a result for each.

use std::collections::{BTreeMap, BTreeSet};

use super::fresh::{FreshReads, FreshRow, read_fresh};
use super::{DispatchJob, DispatchStatus, JobDraft, JobRequest, NewJob, enum_name};
use crate::access::Actor;
use crate::audit;
use crate::sql::{
    Answer, ColumnType, Dialect, Execute, Insert, NewRow, RowReader, SqlBuilder, Statement, client_key, now,
    source_column, source_value, tsid,
};
use crate::{Error, Hub};

/// The result of creating one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// A new job.
    New { id: String },
    /// A job of an earlier request with the same idempotency key and content.
    Existing { id: String },
}

impl Created {
    /// Returns the id of the job, new or existing.
    pub fn id(&self) -> &str {
        match self {
            Self::New { id } | Self::Existing { id } => id,
        }
    }
}

/// The result of one job of a batch.
pub type JobResult = Result<Created, Error>;

impl Hub {
    /// Creates one job, or returns the job that the same request created before.
    ///
    /// Fails if the request is invalid, or if its idempotency key was used for a different request.
    pub async fn create_job(&self, actor: &Actor, new: NewJob) -> Result<(Created, DispatchJob), Error> {
        let mut drafts = [new.validated(actor, &self.settings)];
        self.check_references(actor, &mut drafts).await?;
        let [draft] = drafts;
        let request = JobRequest { actor: actor.clone(), draft: draft? };
        let (created, job) = self.job_commits.write(request).await?;
        let job = match (&created, job) {
            (Created::New { id }, Some(mut job)) => {
                // The job is not read again: a poller may have published it to the queue meanwhile, and the caller
                // would see that state instead of the refusal.
                if job.status == DispatchStatus::Queued && self.publish(vec![id.clone()]).await > 0 {
                    job.status = DispatchStatus::Pending;
                }
                job
            }
            (Created::New { .. }, None) => return Err(Error::unreadable("a fresh dispatch job")),
            (Created::Existing { id }, _) => self.job(actor, id).await?,
        };
        Ok((created, job))
    }

    /// Creates jobs in one transaction. An invalid job has its own error and stops no other.
    pub async fn create_jobs(&self, actor: &Actor, new: Vec<NewJob>) -> Result<Vec<JobResult>, Error> {
        let mut drafts: Vec<Result<JobDraft, Error>> =
            new.into_iter().map(|new| new.validated(actor, &self.settings)).collect();
        self.check_references(actor, &mut drafts).await?;
        let by_key = match self.write_drafts(actor, &drafts).await {
            // The error may be a duplicate id: retry once with new ids.
            Err(error) if error.is_permanent() => {
                drafts.iter_mut().flatten().for_each(JobDraft::assign_new_id);
                self.write_drafts(actor, &drafts).await?
            }
            by_key => by_key?,
        };
        let created: Vec<JobResult> =
            drafts.into_iter().map(|draft| draft.and_then(|draft| by_key.created(&draft))).collect();
        let fresh = created.iter().filter_map(|created| match created {
            Ok(Created::New { id }) => Some(id.clone()),
            _ => None,
        });
        self.announce(fresh.collect()).await;
        Ok(created)
    }

    async fn write_drafts(
        &self,
        actor: &Actor,
        drafts: &[Result<JobDraft, Error>],
    ) -> Result<JobsByKey, Error> {
        let drafts: Vec<(&Actor, &JobDraft)> = drafts.iter().flatten().map(|draft| (actor, draft)).collect();
        Ok(write(self.database(), &drafts, FreshReads::default()).await?.0)
    }
}

/// Writes jobs, their metadata and their audit entries, and reads what the database set in the new rows.
pub(super) async fn write(
    database: &dyn Execute,
    jobs: &[(&Actor, &JobDraft)],
    reads: FreshReads,
) -> Result<(JobsByKey, BTreeMap<String, FreshRow>), Error> {
    let dialect = database.dialect();
    let drafts: Vec<&JobDraft> = jobs.iter().map(|(_, draft)| *draft).collect();
    let returns = reads.returning.is_some();
    let mut statements = insert_jobs_returning(dialect, &drafts, None, reads.returning.as_deref());
    if statements.is_empty() {
        return Ok((JobsByKey::default(), BTreeMap::new()));
    }
    let created =
        jobs.iter().map(|(actor, draft)| (*actor, draft.id.as_str(), draft.new.client_id.as_deref()));
    // Only a job with an idempotency key may have been skipped.
    let may_skip = drafts.iter().any(|draft| draft.new.idempotency_key.is_some());
    let table = may_skip.then_some("dispatch_jobs");
    statements.push(audit::created_entries(dialect, "dispatchJob", table, created));
    let writes = statements.len();
    let lookup_queries = lookups(dialect, &drafts);
    let lookup_count = lookup_queries.len();
    statements.extend(lookup_queries);
    statements.extend(reads.queries);
    let mut inserted = database.transact("create dispatch jobs", &statements).await?;
    let mut looked_up = inserted.split_off(writes);
    let read = looked_up.split_off(lookup_count);
    let fresh = read_fresh(returns.then_some(inserted), read);
    Ok((JobsByKey::read(looked_up.into_iter()), fresh))
}

/// The statements that insert jobs and their metadata. `condition` is a condition on the rows to insert.
pub(crate) fn insert_jobs(dialect: Dialect, drafts: &[&JobDraft], condition: Option<&str>) -> Vec<Statement> {
    insert_jobs_returning(dialect, drafts, condition, None)
}

fn insert_jobs_returning(
    dialect: Dialect,
    drafts: &[&JobDraft],
    condition: Option<&str>,
    returning: Option<&str>,
) -> Vec<Statement> {
    if drafts.is_empty() {
        return Vec::new();
    }
    // A duplicate idempotency key means that the job exists, so its row is skipped. A duplicate id means that another
    // process generated the same one: no row may be skipped then, and the transaction fails.
    // A job is QUEUED at once, or PENDING if `scheduled_for` is later than the database's clock.
    let (now, scheduled) = (now(dialect), source_value(dialect, ("scheduled_for", ColumnType::Time)));
    let status = format!("CASE WHEN {scheduled} > {now} THEN 'PENDING' ELSE 'QUEUED' END");
    let queued_at = format!("CASE WHEN {scheduled} > {now} THEN NULL ELSE {now} END");
    let mut statements = Vec::new();
    for (keyed, of_event) in [(true, false), (true, true), (false, false), (false, true)] {
        let alike = |draft: &&&JobDraft| {
            draft.new.idempotency_key.is_some() == keyed && draft.payload_of_event == of_event
        };
        let rows = drafts.iter().filter(alike).map(|draft| job_row(draft));
        let mut insert = Insert::into("dispatch_jobs")
            .only(condition.map(str::to_owned))
            .skip_duplicates(keyed)
            .returning(returning.map(str::to_owned))
            .computed("status", status.clone())
            .computed("queued_at", queued_at.clone());
        if of_event {
            let event = source_column(dialect, "event_id");
            let data = format!("(SELECT e.data FROM dispatch_events AS e WHERE e.id = {event})");
            insert = insert.computed("payload", data);
        }
        statements.extend(insert.parts(dialect, rows));
    }
    let metadata = drafts.iter().flat_map(|draft| metadata_rows(draft));
    let job = source_column(dialect, "job_id");
    let written = format!("EXISTS (SELECT 1 FROM dispatch_jobs AS j WHERE j.id = {job})");
    statements.extend(Insert::into("dispatch_job_metadata").only(Some(written)).parts(dialect, metadata));
    statements
}

fn job_row(draft: &JobDraft) -> NewRow {
    let new = &draft.new;
    let headers = (!new.headers.is_empty()).then(|| serde_json::json!(new.headers).to_string());
    let row = NewRow::new()
        .text("id", draft.id.clone())
        .text("external_id", new.external_id.clone())
        .text("source", new.source.clone())
        .text("kind", enum_name(&draft.kind))
        .text("code", new.code.clone())
        .text("subject", new.subject.clone())
        .text("event_id", new.event_id.clone())
        .text("correlation_id", new.correlation_id.clone())
        .text("traceparent", new.traceparent.clone())
        .text("target_url", new.target_url.clone())
        .text("protocol", enum_name(&new.protocol))
        .text("headers", headers)
        .text("payload_content_type", new.payload_content_type.clone())
        .flag("data_only", new.data_only.unwrap_or(true))
        .text("service_account_id", new.service_account_id.clone())
        .text("client_id", new.client_id.clone())
        .text("subscription_id", draft.origin.subscription.clone())
        .text("mode", enum_name(&new.mode))
        .text("dispatch_pool_id", new.dispatch_pool_id.clone())
        .text("message_group", new.message_group.clone())
        .int("sequence", new.sequence)
        .int("timeout_seconds", new.timeout_seconds)
        .text("schema_id", new.schema_id.clone())
        .int("max_retries", new.max_retries)
        .int("retry_budget", new.max_retries)
        .text("retry_strategy", new.retry_strategy.clone())
        .time("scheduled_for", new.scheduled_for)
        .time("expires_at", new.expires_at)
        .text("idempotency_key", new.idempotency_key.clone())
        .text("request_hash", draft.hash.clone())
        .text("created_by", draft.origin.created_by.clone());
    if draft.payload_of_event { row } else { row.text("payload", new.payload.clone()) }
}

fn metadata_rows(draft: &JobDraft) -> impl Iterator<Item = NewRow> {
    draft.new.metadata.iter().map(|metadatum| {
        NewRow::new()
            .text("id", tsid())
            .text("job_id", draft.id.clone())
            .text("key", metadatum.key.clone())
            .text("value", metadatum.value.clone())
    })
}

/// The queries, one per client, for the jobs that now have these idempotency keys: new or earlier ones.
pub(crate) fn lookups(dialect: Dialect, drafts: &[&JobDraft]) -> Vec<Statement> {
    let mut keys: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for new in drafts.iter().map(|draft| &draft.new) {
        if let Some(key) = &new.idempotency_key {
            keys.entry(new.client_id.as_deref().unwrap_or_default()).or_default().insert(key);
        }
    }
    let client = client_key(dialect);
    let lookup = |(id, keys): (&str, BTreeSet<&str>)| {
        let text = format!(
            "SELECT id, client_id, idempotency_key, request_hash FROM dispatch_jobs WHERE {client} = "
        );
        SqlBuilder::new(dialect, text).text(id).push(" AND idempotency_key IN ").in_list(keys).finish()
    };
    keys.into_iter().map(lookup).collect()
}

/// The jobs found by client and idempotency key, with their id and the hash of their request.
#[derive(Default)]
pub(crate) struct JobsByKey(BTreeMap<(Option<String>, String), (String, Option<String>)>);

impl JobsByKey {
    /// Reads the answers to [`lookups`].
    pub fn read(answers: impl Iterator<Item = Answer>) -> Self {
        let rows = answers.flat_map(|answer| answer.rows);
        let by_key = rows.map(RowReader::new).map(|mut row| {
            let id = row.required_text();
            ((row.text(), row.required_text()), (id, row.text()))
        });
        Self(by_key.collect())
    }

    /// Returns whether the job was created or already existed; a conflict if its key was used for a different request.
    pub fn created(&self, draft: &JobDraft) -> JobResult {
        let fresh = || Created::New { id: draft.id.clone() };
        let Some(key) = &draft.new.idempotency_key else { return Ok(fresh()) };
        match self.0.get(&(draft.new.client_id.clone(), key.clone())) {
            Some((id, _)) if *id == draft.id => Ok(fresh()),
            Some((id, hash)) if hash.is_some() && *hash == draft.hash => {
                Ok(Created::Existing { id: id.clone() })
            }
            Some(_) => Err(Error::conflict(
                "idempotencyKey",
                "was already used for a different request of this client",
            )),
            None => Err(Error::unreadable("the idempotency key of a fresh job")),
        }
    }
}
