//! Operator moves of jobs: retry, cancel, complete, as defined by the contract (`contracts/dispatch_jobs.toml`).

use serde::Serialize;
use utoipa::ToSchema;

use super::{DispatchJob, DispatchStatus, Filter};
use crate::access::Actor;
use crate::audit::{self, Change};
use crate::sql::{Clauses as _, SqlBuilder, now};
use crate::{Error, Hub};

/// Maximum number of jobs of one bulk retry.
const BULK_LIMIT: u32 = 1000;

/// Number of jobs per statement.
const CHUNK: usize = 200;

/// Result of a bulk retry.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RetryResult {
    /// Number of jobs that will be tried again.
    pub retried: u64,
    /// Whether more jobs match. Repeat the request to retry them.
    pub more: bool,
}

/// The SQL condition that the job `t` is in ERROR and is not retried automatically.
const DEAD: &str = "t.status = 'ERROR' AND t.next_attempt_at IS NULL";

impl Hub {
    /// Makes a job in ERROR due now. A job that is not retried automatically gets its original number of attempts (J6).
    ///
    /// Attempt numbers continue. Fails with a conflict in any other state.
    pub async fn retry_job(&self, actor: &Actor, id: &str) -> Result<DispatchJob, Error> {
        let job = self.job(actor, id).await?;
        if job.status != DispatchStatus::Error {
            return Err(conflict("retried", "only jobs in ERROR can be", &job));
        }
        let retry = self.retry_update([id], "t.status = 'ERROR'");
        let moved = self.apply_move(actor, ("retry", audit::RETRY_IS_DUE), &job, retry).await?;
        self.announce(vec![job.id]).await;
        Ok(moved)
    }

    fn retry_update<'a>(&self, ids: impl IntoIterator<Item = &'a str>, state: &str) -> SqlBuilder {
        let dialect = self.dialect();
        // MySQL assigns from left to right and later expressions see the new values, so `next_attempt_at`, which DEAD
        // tests, must be the last.
        self.job_update(&format!(
            "retry_budget = {INITIAL_ATTEMPTS}, max_retries = CASE WHEN {DEAD} THEN t.attempt_count + {INITIAL_ATTEMPTS} ELSE t.max_retries \
             END, completed_at = NULL, expires_at = CASE WHEN t.expires_at <= {now} THEN NULL ELSE t.expires_at END, \
             queued_at = {queued}, next_attempt_at = {now}",
            now = now(dialect),
            // This process publishes the job to the queue itself, so the pollers need not do it.
            queued = if self.queue.is_some() { now(dialect) } else { "NULL" },
        ))
        .push(" WHERE t.id IN ")
        .in_list(ids)
        .push(" AND ")
        .push(state)
    }

    /// Cancels a job in any state but COMPLETED, which is a conflict (J14). A cancelled job is returned unchanged.
    pub async fn cancel_job(&self, actor: &Actor, id: &str) -> Result<DispatchJob, Error> {
        let job = self.job(actor, id).await?;
        match job.status {
            DispatchStatus::Cancelled => return Ok(job),
            DispatchStatus::Completed => return Err(conflict("cancelled", "it was delivered:", &job)),
            _ => {}
        }
        let cancel = self
            .job_update("status = 'CANCELLED', next_attempt_at = NULL, claimed_by = NULL, lease_until = NULL")
            .push(" WHERE t.id = ")
            .text(id)
            .push(" AND t.status IN ('QUEUED', 'PENDING', 'IN_PROGRESS', 'ERROR')");
        self.apply_move(actor, ("cancel", "m.status = 'CANCELLED'"), &job, cancel).await
    }

    /// Marks a job in ERROR as COMPLETED at an operator's request. A completed job is returned unchanged.
    pub async fn complete_job(&self, actor: &Actor, id: &str) -> Result<DispatchJob, Error> {
        let job = self.job(actor, id).await?;
        match job.status {
            DispatchStatus::Completed => return Ok(job),
            DispatchStatus::Error => {}
            _ => return Err(conflict("completed", "only jobs in ERROR can be", &job)),
        }
        let completed = now(self.dialect());
        let complete = self
            .job_update(&format!("status = 'COMPLETED', next_attempt_at = NULL, completed_at = {completed}"))
            .push(" WHERE t.id = ")
            .text(id)
            .push(" AND t.status = 'ERROR'");
        self.apply_move(actor, ("complete", "m.status = 'COMPLETED'"), &job, complete).await
    }

    /// Retries the dead jobs that match the filter, oldest first, at most 1000 per call.
    pub async fn retry_jobs(&self, actor: &Actor, filter: &Filter) -> Result<RetryResult, Error> {
        let dialect = self.dialect();
        let query = self.sql("SELECT t.id, t.client_id FROM dispatch_jobs AS t WHERE ").push(DEAD);
        let query = filter.append_conditions(query, dialect, &self.job_states).and_in_scope(&actor.scope);
        let (dead, key) = (self.job_states.of("DEAD"), self.job_states.key());
        let query = query.all_of(&dead).push(&format!(" ORDER BY {key} LIMIT ")).int(BULK_LIMIT + 1);
        let rows = self.fetch_all("find dead dispatch jobs", query).await?;
        let more = rows.len() > BULK_LIMIT as usize;
        let dead: Vec<(String, Option<String>)> = rows
            .into_iter()
            .take(BULK_LIMIT as usize)
            .map(|mut row| (row.required_text(), row.text()))
            .collect();
        let mut retried = 0;
        // Several small transactions instead of one that holds a thousand locks.
        for part in dead.chunks(CHUNK) {
            let retry = self.retry_update(part.iter().map(|(id, _)| id.as_str()), DEAD);
            let entries = audit::retried_entries(
                dialect,
                actor,
                part.iter().map(|(id, client)| (id.as_str(), client.as_deref())),
            );
            let answers = self.run("retry dispatch jobs", vec![retry.finish(), entries]).await?;
            retried += answers.first().map_or(0, |answer| answer.changed);
        }
        self.announce(dead.into_iter().map(|(id, _)| id).collect()).await;
        Ok(RetryResult { retried, more })
    }

    fn job_update(&self, writes: &str) -> SqlBuilder {
        let dialect = self.dialect();
        // PostgreSQL and SQLite allow no table alias in SET; MySQL accepts the bare column too.
        let text = format!("UPDATE dispatch_jobs AS t SET {writes}, updated_at = {}", now(dialect));
        SqlBuilder::new(dialect, text)
    }

    /// Executes the move of a job that was just read; `condition` is a condition on `m` after the move. Fails with a
    /// conflict that names the current state if the job has changed since it was read.
    async fn apply_move(
        &self,
        actor: &Actor,
        (action, condition): (&'static str, &str),
        job: &DispatchJob,
        update: SqlBuilder,
    ) -> Result<DispatchJob, Error> {
        let dialect = self.dialect();
        let change = Change::new(action, "dispatchJob", &job.id)
            .of_client(job.client_id.as_deref())
            .detail("from", super::enum_name(&job.status));
        let statements = vec![update.finish(), change.entry_if(dialect, actor, "dispatch_jobs", condition)];
        let answers = self.run("move a dispatch job", statements).await?;
        let now = self.job(actor, &job.id).await?;
        match answers.first() {
            Some(answer) if answer.changed > 0 => Ok(now),
            _ => Err(conflict("moved", "it has changed meanwhile:", &now)),
        }
    }
}

/// The SQL expression for the number of attempts that the job was created with.
const INITIAL_ATTEMPTS: &str = "COALESCE(t.retry_budget, t.max_retries, 3)";

fn conflict(verb: &str, why: &str, job: &DispatchJob) -> Error {
    Error::conflict(
        "status",
        format!("the job cannot be {verb}: {why} this one is {}", super::enum_name(&job.status)),
    )
}
