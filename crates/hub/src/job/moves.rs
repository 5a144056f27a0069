//! What an operator does to jobs: retry, cancel, complete. The moves are the contract's own (`contracts/dispatch_jobs.toml`).

use serde::Serialize;
use utoipa::ToSchema;

use super::list::within;
use super::{DispatchJob, DispatchStatus, Filter};
use crate::access::Actor;
use crate::audit::{self, Change};
use crate::draft::Draft;
use crate::sheet::{Reader, now};
use crate::{Error, Hub};

/// The most jobs that one bulk retry takes; it says whether there are more.
const BULK: u32 = 1000;

/// Jobs of one statement.
const AT_ONCE: usize = 200;

/// Result of a bulk retry.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Retried {
    /// Number of jobs that will be tried again.
    pub retried: u64,
    /// Whether more jobs match. Repeat the request to retry them.
    pub more: bool,
}

/// In ERROR, and not to be tried again by itself.
const DEAD: &str = "t.status = 'ERROR' AND t.next_attempt_at IS NULL";

impl Hub {
    /// Back to be tried, with its original budget of attempts on top (J6); numbering goes on.
    pub async fn retry_job(&self, actor: &Actor, id: &str) -> Result<DispatchJob, Error> {
        let job = self.job(actor, id).await?;
        if job.status != DispatchStatus::Error {
            return Err(refused("retried", "only jobs in ERROR can be", &job));
        }
        let retry = self.retry([id], "t.status = 'ERROR'");
        let moved = self.moved(actor, ("retry", audit::GOES), &job, retry).await?;
        self.hand(vec![job.id]).await;
        Ok(moved)
    }

    fn retry<'a>(&self, ids: impl IntoIterator<Item = &'a str>, state: &str) -> Draft {
        let dialect = self.dialect();
        // MySQL writes from left to right, each with what was written before it: the due time, which tells dead jobs, last.
        self.update(&format!(
            "retry_budget = {BUDGET}, max_retries = CASE WHEN {DEAD} THEN t.attempt_count + {BUDGET} ELSE t.max_retries \
             END, completed_at = NULL, expires_at = CASE WHEN t.expires_at <= {now} THEN NULL ELSE t.expires_at END, \
             queued_at = {queued}, next_attempt_at = {now}",
            now = now(dialect),
            // Whoever hands it to a queue at once need not be asked to do it again.
            queued = if self.handing.is_some() { now(dialect) } else { "NULL" },
        ))
        .push(" WHERE t.id IN ")
        .texts(ids)
        .push(" AND ")
        .push(state)
    }

    /// By hand to CANCELLED (J14): any state but COMPLETED; a cancelled job stays as it is.
    pub async fn cancel_job(&self, actor: &Actor, id: &str) -> Result<DispatchJob, Error> {
        let job = self.job(actor, id).await?;
        match job.status {
            DispatchStatus::Cancelled => return Ok(job),
            DispatchStatus::Completed => return Err(refused("cancelled", "it was delivered:", &job)),
            _ => {}
        }
        let cancel = self
            .update("status = 'CANCELLED', next_attempt_at = NULL, claimed_by = NULL, lease_until = NULL")
            .push(" WHERE t.id = ")
            .text(id)
            .push(" AND t.status IN ('QUEUED', 'PENDING', 'IN_PROGRESS', 'ERROR')");
        self.moved(actor, ("cancel", "m.status = 'CANCELLED'"), &job, cancel).await
    }

    /// An operator vouches for it: from ERROR to COMPLETED.
    pub async fn complete_job(&self, actor: &Actor, id: &str) -> Result<DispatchJob, Error> {
        let job = self.job(actor, id).await?;
        match job.status {
            DispatchStatus::Completed => return Ok(job),
            DispatchStatus::Error => {}
            _ => return Err(refused("completed", "only jobs in ERROR can be", &job)),
        }
        let completed = now(self.dialect());
        let complete = self
            .update(&format!("status = 'COMPLETED', next_attempt_at = NULL, completed_at = {completed}"))
            .push(" WHERE t.id = ")
            .text(id)
            .push(" AND t.status = 'ERROR'");
        self.moved(actor, ("complete", "m.status = 'COMPLETED'"), &job, complete).await
    }

    /// Every dead job that the filter names, the oldest first, some at a time.
    pub async fn retry_jobs(&self, actor: &Actor, filter: &Filter) -> Result<Retried, Error> {
        let dialect = self.dialect();
        let query = Draft::new(dialect, "SELECT t.id, t.client_id FROM dispatch_jobs AS t WHERE ").push(DEAD);
        let query = within(filter.narrow(query, dialect), actor);
        let query = query.push(" ORDER BY t.created_at, t.id LIMIT ").int(BULK + 1);
        let rows = self.all("find dead dispatch jobs", query).await?;
        let more = rows.len() > BULK as usize;
        let dead: Vec<(String, Option<String>)> = rows
            .into_iter()
            .take(BULK as usize)
            .map(|row| {
                let mut row = Reader::new(row);
                (row.word(), row.text())
            })
            .collect();
        let mut retried = 0;
        // Several small transactions rather than one that holds a thousand locks.
        for part in dead.chunks(AT_ONCE) {
            let retry = self.retry(part.iter().map(|(id, _)| id.as_str()), DEAD);
            let lines = audit::retried(
                dialect,
                actor,
                part.iter().map(|(id, client)| (id.as_str(), client.as_deref())),
            );
            let answers = self.run("retry dispatch jobs", vec![retry.done(), lines]).await?;
            retried += answers.first().map_or(0, |answer| answer.changed);
        }
        self.hand(dead.into_iter().map(|(id, _)| id).collect()).await;
        Ok(Retried { retried, more })
    }

    fn update(&self, writes: &str) -> Draft {
        let dialect = self.dialect();
        // PostgreSQL and SQLite name no table in SET; MySQL takes the bare column as well.
        let text = format!("UPDATE dispatch_jobs AS t SET {writes}, updated_at = {}", now(dialect));
        Draft::new(dialect, text)
    }

    /// Makes a move of a job that was just seen, to what `is` says of `m`. Where it moved meanwhile, the state of things is
    /// told.
    async fn moved(
        &self,
        actor: &Actor,
        (action, is): (&'static str, &str),
        job: &DispatchJob,
        update: Draft,
    ) -> Result<DispatchJob, Error> {
        let dialect = self.dialect();
        let change = Change::new(action, "dispatchJob", &job.id)
            .of_client(job.client_id.as_deref())
            .detail("from", super::name(&job.status));
        let statements = vec![update.done(), change.if_now(dialect, actor, "dispatch_jobs", is)];
        let answers = self.run("move a dispatch job", statements).await?;
        let now = self.job(actor, &job.id).await?;
        match answers.first() {
            Some(answer) if answer.changed > 0 => Ok(now),
            _ => Err(refused("moved", "it has changed meanwhile:", &now)),
        }
    }
}

/// The budget of attempts that a job was made with.
const BUDGET: &str = "COALESCE(t.retry_budget, t.max_retries, 3)";

fn refused(verb: &str, why: &str, job: &DispatchJob) -> Error {
    Error::conflict(
        "status",
        format!("the job cannot be {verb}: {why} this one is {}", super::name(&job.status)),
    )
}
