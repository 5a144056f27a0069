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
use postrider_sql::plain::Plain;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::create::{Created, write};
use super::view::{reads, shown};
use super::{DispatchJob, Draught};
use crate::Error;
use crate::access::Actor;

/// Number of concurrent transactions: while one waits for the disk, the next one fills.
const AT_ONCE: usize = 2;
/// Maximum number of jobs per transaction, and of bytes of their payloads.
const MOST: usize = 100;
const MOST_BYTES: usize = 4 << 20;

/// The answer to one request: the result, and the job as read back if it is new.
type Told = Result<(Created, Option<DispatchJob>), Error>;

struct Waiting {
    actor: Actor,
    draft: Draught,
    tell: oneshot::Sender<Told>,
}

pub(crate) struct Gathering {
    database: Arc<dyn Plain>,
    waiting: Mutex<VecDeque<Waiting>>,
    writers: Arc<Semaphore>,
}

impl Gathering {
    /// Creates the group commit for jobs on this database.
    pub fn new(database: Arc<dyn Plain>) -> Arc<Self> {
        let writers = Arc::new(Semaphore::new(AT_ONCE));
        Arc::new(Self { database, waiting: Mutex::default(), writers })
    }

    /// Writes a job together with those that wait now. It is written even if the caller stops waiting for the answer.
    pub async fn write(self: &Arc<Self>, actor: &Actor, draft: Draught) -> Told {
        let (tell, told) = oneshot::channel();
        self.waiting().push_back(Waiting { actor: actor.clone(), draft, tell });
        self.begin();
        told.await.unwrap_or_else(|_| Err(cut_short().into()))
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a writer if one is free. If all are busy, one of them continues with the waiting jobs when it finishes.
    fn begin(self: &Arc<Self>) {
        if let Ok(permit) = Arc::clone(&self.writers).try_acquire_owned() {
            tokio::spawn(Arc::clone(self).drain(permit));
        }
    }

    async fn drain(self: Arc<Self>, permit: OwnedSemaphorePermit) {
        loop {
            let jobs = self.next();
            if jobs.is_empty() {
                break;
            }
            self.settle(jobs).await;
        }
        drop(permit);
        // A job may have arrived after `next` found none, while this writer still held its permit.
        if !self.waiting().is_empty() {
            self.begin();
        }
    }

    /// Removes the next jobs to be written together from the queue.
    fn next(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting();
        let mut jobs = Vec::new();
        let mut bytes = 0;
        while jobs.len() < MOST && bytes < MOST_BYTES {
            let Some(job) = waiting.pop_front() else { break };
            bytes += job.draft.new.payload.as_ref().map_or(0, String::len);
            jobs.push(job);
        }
        jobs
    }

    async fn settle(&self, mut jobs: Vec<Waiting>) {
        // The same order everywhere, so that two transactions with the same keys cannot deadlock.
        jobs.sort_by(|one, other| one.draft.new.idempotency_key.cmp(&other.draft.new.idempotency_key));
        match self.together(&jobs).await {
            Ok(answers) => tell(jobs, answers),
            // The cause may be a single job or a duplicate id: write each job alone, so that the others succeed.
            Err(error) if error.is_permanent() => {
                for mut job in jobs {
                    job.draft.renew();
                    let alone = vec![job];
                    match self.together(&alone).await {
                        Ok(answers) => tell(alone, answers),
                        Err(error) => tell_all(alone, error),
                    }
                }
            }
            Err(error) => tell_all(jobs, error),
        }
    }

    async fn together(&self, jobs: &[Waiting]) -> Result<Vec<Told>, Error> {
        let database = &*self.database;
        let drafts: Vec<(&Actor, &Draught)> = jobs.iter().map(|job| (&job.actor, &job.draft)).collect();
        let ids = padded(jobs.iter().map(|job| job.draft.id.as_str()).collect());
        let (known, read) = write(database, &drafts, reads(database.dialect(), &ids)).await?;
        let mut fresh: BTreeMap<String, DispatchJob> =
            shown(read).into_iter().map(|job| (job.id.clone(), job)).collect();
        let told = |job: &Waiting| {
            let created = known.created(&job.draft)?;
            Ok((created, fresh.remove(&job.draft.id)))
        };
        Ok(jobs.iter().map(told).collect())
    }
}

/// The error if the writer ended without an answer, by shutdown or panic: the job may or may not have been written.
fn cut_short() -> store::Error {
    let text = "the request was interrupted while the job was written: repeat it, with the same idempotency key if it had one";
    store::Error::new(Class::Transient, text)
}

/// Repeats the last id up to a power of two, so that there are few different statements to prepare.
fn padded(mut ids: Vec<&str>) -> Vec<&str> {
    if let Some(last) = ids.last().copied() {
        ids.resize(ids.len().next_power_of_two(), last);
    }
    ids
}

/// Sends each request its answer. If the caller has disconnected, the answer is dropped.
fn tell(jobs: Vec<Waiting>, answers: Vec<Told>) {
    for (job, told) in jobs.into_iter().zip(answers) {
        let _ = job.tell.send(told);
    }
}

/// Sends every request the same error; only the first gets its source.
fn tell_all(jobs: Vec<Waiting>, error: Error) {
    let (class, message) = match &error {
        Error::Store(error) => (error.class, error.message.clone()),
        other => (Class::Permanent, other.to_string()),
    };
    let copies = std::iter::repeat_with(|| Error::Store(store::Error::new(class, message.clone())));
    let answers = std::iter::once(error).chain(copies).map(Err).take(jobs.len()).collect();
    tell(jobs, answers);
}
