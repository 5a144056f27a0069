//! Creating jobs: one, or many at once with a result for each.

use std::collections::{BTreeMap, BTreeSet};

use postrider_sql::Dialect;
use postrider_sql::bind::tsid;
use postrider_sql::plain::{Answer, Plain, Statement};

use super::{DispatchJob, DispatchStatus, Draught, NewJob, name};
use crate::access::Actor;
use crate::audit;
use crate::draft::Draft;
use crate::sheet::{Column, Fresh, Insert, Kind, Reader, given, now, quoted};
use crate::{Error, Hub};

/// The result of creating one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// A new job.
    Fresh { id: String },
    /// A job of an earlier request with the same idempotency key and content.
    Known { id: String },
}

impl Created {
    /// Returns the id of the job, new or known.
    pub fn id(&self) -> &str {
        match self {
            Self::Fresh { id } | Self::Known { id } => id,
        }
    }
}

/// The result of one job of a batch.
pub type Outcome = Result<Created, Error>;

const COLUMNS: [Column; 32] = [
    ("id", Kind::Text),
    ("external_id", Kind::Text),
    ("source", Kind::Text),
    ("kind", Kind::Text),
    ("code", Kind::Text),
    ("subject", Kind::Text),
    ("event_id", Kind::Text),
    ("correlation_id", Kind::Text),
    ("traceparent", Kind::Text),
    ("target_url", Kind::Text),
    ("protocol", Kind::Text),
    ("headers", Kind::Text),
    ("payload", Kind::Text),
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
    ("max_retries", Kind::Int),
    ("retry_budget", Kind::Int),
    ("retry_strategy", Kind::Text),
    ("scheduled_for", Kind::Time),
    ("expires_at", Kind::Time),
    ("idempotency_key", Kind::Text),
    ("request_hash", Kind::Text),
    ("created_by", Kind::Text),
];

impl Hub {
    /// Creates one job, or returns the job that the same request created before.
    ///
    /// Fails if the request is invalid, or if its idempotency key was used for a different request.
    pub async fn create_job(&self, actor: &Actor, new: NewJob) -> Result<(Created, DispatchJob), Error> {
        let mut drafts = [new.checked(actor, &self.settings)];
        self.check_references(actor, &mut drafts).await?;
        let [draft] = drafts;
        // The job is read back in the same transaction, because the database's clock set some of its columns.
        let (created, job) = self.gathering.write(actor, draft?).await?;
        let job = match (&created, job) {
            (Created::Fresh { id }, Some(mut job)) => {
                // The job is not read again: a poller may have published it to the queue meanwhile, and the caller
                // would see that state instead of the refusal.
                if job.status == DispatchStatus::Queued && self.hand(vec![id.clone()]).await > 0 {
                    job.status = DispatchStatus::Pending;
                }
                job
            }
            (Created::Fresh { .. }, None) => return Err(Error::broken("a fresh dispatch job")),
            (Created::Known { id }, _) => self.job(actor, id).await?,
        };
        Ok((created, job))
    }

    /// Creates jobs in one transaction. An invalid job has its own error and stops no other.
    pub async fn create_jobs(&self, actor: &Actor, new: Vec<NewJob>) -> Result<Vec<Outcome>, Error> {
        let mut checked: Vec<Result<Draught, Error>> =
            new.into_iter().map(|new| new.checked(actor, &self.settings)).collect();
        self.check_references(actor, &mut checked).await?;
        let known = match self.write_all(actor, &checked).await {
            // The error may be a duplicate id: retry once with new ids.
            Err(error) if error.is_permanent() => {
                checked.iter_mut().flatten().for_each(Draught::renew);
                self.write_all(actor, &checked).await?
            }
            known => known?,
        };
        let created: Vec<Outcome> = checked
            .into_iter()
            .map(|checked| {
                let draft = checked?;
                known.created(&draft)
            })
            .collect();
        let fresh = created.iter().filter_map(|created| match created {
            Ok(Created::Fresh { id }) => Some(id.clone()),
            _ => None,
        });
        self.hand(fresh.collect()).await;
        Ok(created)
    }

    async fn write_all(&self, actor: &Actor, checked: &[Result<Draught, Error>]) -> Result<Known, Error> {
        let drafts: Vec<(&Actor, &Draught)> = checked.iter().flatten().map(|draft| (actor, draft)).collect();
        Ok(write(self.database(), &drafts, Vec::new()).await?.0)
    }
}

/// Writes jobs, their metadata and their audit entries, and runs the queries `reads` at the end of the transaction.
pub(super) async fn write(
    database: &dyn Plain,
    jobs: &[(&Actor, &Draught)],
    reads: Vec<Statement>,
) -> Result<(Known, Vec<Answer>), Error> {
    let dialect = database.dialect();
    let drafts: Vec<&Draught> = jobs.iter().map(|(_, draft)| *draft).collect();
    let mut statements = insert_jobs(dialect, &drafts, None);
    if statements.is_empty() {
        return Ok((Known::default(), Vec::new()));
    }
    let made = jobs.iter().map(|(actor, draft)| (*actor, draft.id.as_str(), draft.new.client_id.as_deref()));
    statements.push(audit::made(dialect, "dispatchJob", "dispatch_jobs", made));
    let writes = statements.len();
    let looks = lookups(dialect, &drafts);
    let lookups = looks.len();
    statements.extend(looks);
    statements.extend(reads);
    let mut answers = database.transact("create dispatch jobs", &statements).await?.split_off(writes);
    let read = answers.split_off(lookups);
    Ok((Known::read(answers.into_iter()), read))
}

/// The statements that insert jobs and their metadata. `only` is a condition on the rows to insert.
pub(crate) fn insert_jobs(dialect: Dialect, drafts: &[&Draught], only: Option<&str>) -> Vec<Statement> {
    if drafts.is_empty() {
        return Vec::new();
    }
    // A duplicate idempotency key means that the job exists, so its row is skipped. A duplicate id means that another
    // process generated the same one: no row may be skipped then, and the transaction fails.
    let (keyed, keyless): (Vec<&Draught>, Vec<&Draught>) =
        drafts.iter().partition(|draft| draft.new.idempotency_key.is_some());
    let mut statements = Vec::new();
    for (drafts, or_nothing) in [(keyed, true), (keyless, false)] {
        let rows: Vec<Fresh> = drafts.into_iter().map(|draft| fresh(dialect, draft)).collect();
        let insert = Insert {
            table: "dispatch_jobs",
            columns: &COLUMNS,
            computed: computed(dialect),
            only: only.map(str::to_owned),
            or_nothing,
        };
        if !rows.is_empty() {
            statements.push(insert.rows(dialect, rows));
        }
    }
    let metadata: Vec<Fresh> = drafts.iter().flat_map(|draft| metadata(draft)).collect();
    if !metadata.is_empty() {
        let columns =
            [("id", Kind::Text), ("job_id", Kind::Text), ("key", Kind::Text), ("value", Kind::Text)];
        let written =
            format!("EXISTS (SELECT 1 FROM dispatch_jobs AS j WHERE j.id = {})", given(dialect, "job_id"));
        let insert = Insert {
            table: "dispatch_job_metadata",
            columns: &columns,
            only: Some(written),
            ..Insert::default()
        };
        statements.push(insert.rows(dialect, metadata));
    }
    statements
}

/// The computed columns: a job is QUEUED at once, or PENDING if `scheduled_for` is later than the database's clock.
fn computed(dialect: Dialect) -> Vec<(&'static str, String)> {
    let (now, time) = (now(dialect), scheduled(dialect));
    vec![
        ("status", format!("CASE WHEN {time} > {now} THEN 'PENDING' ELSE 'QUEUED' END")),
        ("queued_at", format!("CASE WHEN {time} > {now} THEN NULL ELSE {now} END")),
    ]
}

fn scheduled(dialect: Dialect) -> String {
    match dialect {
        Dialect::Mysql => "v.`scheduled_for`".to_owned(),
        Dialect::Postgres | Dialect::Sqlite => given(dialect, "scheduled_for"),
    }
}

fn fresh(dialect: Dialect, draft: &Draught) -> Fresh {
    let new = &draft.new;
    let headers = (!new.headers.is_empty()).then(|| serde_json::json!(new.headers).to_string());
    Fresh::new()
        .text("id", draft.id.clone())
        .text("external_id", new.external_id.clone())
        .text("source", new.source.clone())
        .text("kind", name(&draft.kind))
        .text("code", new.code.clone())
        .text("subject", new.subject.clone())
        .text("event_id", new.event_id.clone())
        .text("correlation_id", new.correlation_id.clone())
        .text("traceparent", new.traceparent.clone())
        .text("target_url", new.target_url.clone())
        .text("protocol", name(&new.protocol))
        .text("headers", headers)
        .text("payload", new.payload.clone())
        .text("payload_content_type", new.payload_content_type.clone())
        .flag("data_only", new.data_only.unwrap_or(true))
        .text("service_account_id", new.service_account_id.clone())
        .text("client_id", new.client_id.clone())
        .text("subscription_id", draft.origin.subscription.clone())
        .text("mode", name(&new.mode))
        .text("dispatch_pool_id", new.dispatch_pool_id.clone())
        .text("message_group", new.message_group.clone())
        .int("sequence", new.sequence)
        .int("timeout_seconds", new.timeout_seconds)
        .text("schema_id", new.schema_id.clone())
        .int("max_retries", new.max_retries)
        .int("retry_budget", new.max_retries)
        .text("retry_strategy", new.retry_strategy.clone())
        .time(dialect, "scheduled_for", new.scheduled_for)
        .time(dialect, "expires_at", new.expires_at)
        .text("idempotency_key", new.idempotency_key.clone())
        .text("request_hash", draft.hash.clone())
        .text("created_by", draft.origin.created_by.clone())
}

fn metadata(draft: &Draught) -> impl Iterator<Item = Fresh> {
    draft.new.metadata.iter().map(|metadatum| {
        Fresh::new()
            .text("id", tsid())
            .text("job_id", draft.id.clone())
            .text("key", metadatum.key.clone())
            .text("value", metadatum.value.clone())
    })
}

/// The queries, one per client, for the jobs that now have these idempotency keys: new or earlier ones.
pub(crate) fn lookups(dialect: Dialect, drafts: &[&Draught]) -> Vec<Statement> {
    let mut keys: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for new in drafts.iter().map(|draft| &draft.new) {
        if let Some(key) = &new.idempotency_key {
            keys.entry(new.client_id.as_deref().unwrap_or_default()).or_default().insert(key);
        }
    }
    let client = match dialect {
        Dialect::Mysql => quoted(dialect, "client_key"),
        Dialect::Postgres | Dialect::Sqlite => "coalesce(client_id, '')".to_owned(),
    };
    let look = |(id, keys): (&str, BTreeSet<&str>)| {
        let text = format!(
            "SELECT id, client_id, idempotency_key, request_hash FROM dispatch_jobs WHERE {client} = "
        );
        Draft::new(dialect, text).text(id).push(" AND idempotency_key IN ").texts(keys).done()
    };
    keys.into_iter().map(look).collect()
}

/// The jobs found by client and idempotency key, with their id and the hash of their request.
#[derive(Default)]
pub(crate) struct Known(BTreeMap<(Option<String>, String), (String, Option<String>)>);

impl Known {
    /// Reads the answers to [`lookups`].
    pub fn read(answers: impl Iterator<Item = Answer>) -> Self {
        let rows = answers.flat_map(|answer| answer.rows);
        let known = rows.map(|row| {
            let mut row = Reader::new(row);
            let id = row.word();
            ((row.text(), row.word()), (id, row.text()))
        });
        Self(known.collect())
    }

    /// Returns whether the job was created or already existed; a conflict if its key was used for a different request.
    pub fn created(&self, draft: &Draught) -> Outcome {
        let fresh = || Created::Fresh { id: draft.id.clone() };
        let Some(key) = &draft.new.idempotency_key else { return Ok(fresh()) };
        match self.0.get(&(draft.new.client_id.clone(), key.clone())) {
            Some((id, _)) if *id == draft.id => Ok(fresh()),
            Some((id, Some(hash))) if *hash == draft.hash => Ok(Created::Known { id: id.clone() }),
            Some(_) => Err(Error::conflict(
                "idempotencyKey",
                "was already used for a different request of this client",
            )),
            None => Err(Error::broken("the idempotency key of a fresh job")),
        }
    }
}
