//! Group commit: jobs that are created by single requests share transactions.
//!
//! Requests that arrive during a transaction are written together in the next one, so that one commit serves many. A
//! single job does not wait for others.
//!
//! Owns: which jobs share a transaction, and the answer to each request. Must not: check jobs. Invariant: every job has
//! its own answer, whichever jobs share its transaction; a caller that disconnects affects no other answer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use postrider_seams::store::{self, Class};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::create::{Created, write};
use super::view::{job_queries, read_jobs};
use super::{DispatchJob, JobDraft};
use crate::Error;
use crate::access::Actor;
use crate::sql::Execute;

/// Number of concurrent transactions: while one waits for the disk, the next one fills.
const WRITERS: usize = 2;
/// Maximum number of jobs per transaction, and of bytes of their payloads.
const MAX_BATCH: usize = 100;
const MAX_BATCH_BYTES: usize = 4 << 20;

/// The answer to one request: the result, and the job as read back if it is new.
type WriteResult = Result<(Created, Option<DispatchJob>), Error>;

struct PendingJob {
    actor: Actor,
    draft: JobDraft,
    sender: oneshot::Sender<WriteResult>,
}

pub(crate) struct GroupCommit {
    database: Arc<dyn Execute>,
    pending: Mutex<VecDeque<PendingJob>>,
    writers: Arc<Semaphore>,
}

impl GroupCommit {
    /// Creates the group commit for jobs on this database.
    pub fn new(database: Arc<dyn Execute>) -> Arc<Self> {
        let writers = Arc::new(Semaphore::new(WRITERS));
        Arc::new(Self { database, pending: Mutex::default(), writers })
    }

    /// Writes a job together with those that wait now. It is written even if the caller stops waiting for the answer.
    pub async fn write(self: &Arc<Self>, actor: &Actor, draft: JobDraft) -> WriteResult {
        let (sender, receiver) = oneshot::channel();
        self.queue().push_back(PendingJob { actor: actor.clone(), draft, sender });
        self.start_writer();
        receiver.await.unwrap_or_else(|_| Err(interrupted().into()))
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<PendingJob>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a writer if one is free. If all are busy, one of them continues with the waiting jobs when it finishes.
    fn start_writer(self: &Arc<Self>) {
        if let Ok(permit) = Arc::clone(&self.writers).try_acquire_owned() {
            tokio::spawn(Arc::clone(self).write_pending(permit));
        }
    }

    async fn write_pending(self: Arc<Self>, permit: OwnedSemaphorePermit) {
        loop {
            let jobs = self.next_batch();
            if jobs.is_empty() {
                break;
            }
            self.write_batch(jobs).await;
        }
        drop(permit);
        // A job may have arrived after `next_batch` found none, while this writer still held its permit.
        if !self.queue().is_empty() {
            self.start_writer();
        }
    }

    /// Removes the next jobs to be written together from the queue.
    fn next_batch(&self) -> Vec<PendingJob> {
        let mut queue = self.queue();
        let mut jobs = Vec::new();
        let mut bytes = 0;
        while jobs.len() < MAX_BATCH && bytes < MAX_BATCH_BYTES {
            let Some(job) = queue.pop_front() else { break };
            bytes += job.draft.new.payload.as_ref().map_or(0, String::len);
            jobs.push(job);
        }
        jobs
    }

    async fn write_batch(&self, mut jobs: Vec<PendingJob>) {
        // The same order everywhere, so that two transactions with the same keys cannot deadlock.
        jobs.sort_by(|one, other| one.draft.new.idempotency_key.cmp(&other.draft.new.idempotency_key));
        match self.transact(&jobs).await {
            Ok(results) => send_results(jobs, results),
            // The cause may be a single job or a duplicate id: write each job alone, so that the others succeed.
            Err(error) if error.is_permanent() => {
                for mut job in jobs {
                    job.draft.assign_new_id();
                    let alone = vec![job];
                    match self.transact(&alone).await {
                        Ok(results) => send_results(alone, results),
                        Err(error) => send_error(alone, error),
                    }
                }
            }
            Err(error) => send_error(jobs, error),
        }
    }

    async fn transact(&self, jobs: &[PendingJob]) -> Result<Vec<WriteResult>, Error> {
        let database = &*self.database;
        let drafts: Vec<(&Actor, &JobDraft)> = jobs.iter().map(|job| (&job.actor, &job.draft)).collect();
        let ids = padded_ids(jobs.iter().map(|job| job.draft.id.as_str()).collect());
        let (by_key, read) = write(database, &drafts, job_queries(database.dialect(), &ids)).await?;
        let mut fresh: BTreeMap<String, DispatchJob> =
            read_jobs(read).into_iter().map(|job| (job.id.clone(), job)).collect();
        let result = |job: &PendingJob| {
            let created = by_key.created(&job.draft)?;
            Ok((created, fresh.remove(&job.draft.id)))
        };
        Ok(jobs.iter().map(result).collect())
    }
}

/// The error if the writer ended without an answer, by shutdown or panic: the job may or may not have been written.
fn interrupted() -> store::Error {
    let text = "the request was interrupted while the job was written: repeat it, with the same idempotency key if it had one";
    store::Error::new(Class::Transient, text)
}

/// Repeats the last id up to a power of two, so that there are few different statements to prepare.
fn padded_ids(mut ids: Vec<&str>) -> Vec<&str> {
    if let Some(last) = ids.last().copied() {
        ids.resize(ids.len().next_power_of_two(), last);
    }
    ids
}

/// Sends each request its answer. If the caller has disconnected, the answer is dropped.
fn send_results(jobs: Vec<PendingJob>, results: Vec<WriteResult>) {
    for (job, result) in jobs.into_iter().zip(results) {
        let _ = job.sender.send(result);
    }
}

/// Sends every request the same error; only the first gets its source.
fn send_error(jobs: Vec<PendingJob>, error: Error) {
    let (class, message) = match &error {
        Error::Store(error) => (error.class, error.message.clone()),
        other => (Class::Permanent, other.to_string()),
    };
    let copies = std::iter::repeat_with(|| Error::Store(store::Error::new(class, message.clone())));
    let results = std::iter::once(error).chain(copies).map(Err).take(jobs.len()).collect();
    send_results(jobs, results);
}
