//! Jobs that are made one a request, written together: who comes while transactions are under way goes with the next one, so
//! that one commit serves many. A lone job waits for nobody.
//!
//! Owns: who shares a transaction, and who is told what. Must not: check jobs. Invariant: each job has its own answer,
//! whoever shares its transaction; a caller that goes away takes nobody else's answer with it.

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

/// Transactions at once: while one waits for the disk, the next is filled.
const AT_ONCE: usize = 2;
/// Jobs of one transaction, and bytes of their payloads.
const MOST: usize = 100;
const MOST_BYTES: usize = 4 << 20;

/// What came of a job, and the job as it is read back where it is a fresh one.
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
    pub fn new(database: Arc<dyn Plain>) -> Arc<Self> {
        let writers = Arc::new(Semaphore::new(AT_ONCE));
        Arc::new(Self { database, waiting: Mutex::default(), writers })
    }

    /// Writes a job with those that wait now. Once begun it is written, whether or not anybody waits for the answer.
    pub async fn write(self: &Arc<Self>, actor: &Actor, draft: Draught) -> Told {
        let (tell, told) = oneshot::channel();
        self.waiting().push_back(Waiting { actor: actor.clone(), draft, tell });
        self.begin();
        told.await.unwrap_or_else(|_| Err(cut_short().into()))
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where all writers are at work, one of them takes what waits when it is through.
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
        // One that came after the last look, while this writer still counted as at work.
        if !self.waiting().is_empty() {
            self.begin();
        }
    }

    /// The next to be written together.
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
        // In one order everywhere, so that two transactions with the same keys never wait for each other.
        jobs.sort_by(|one, other| one.draft.new.idempotency_key.cmp(&other.draft.new.idempotency_key));
        match self.together(&jobs).await {
            Ok(answers) => tell(jobs, answers),
            // Perhaps the fault of one, or of an id: the others shall not pay for it.
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

/// Whoever was writing is gone, with the process or by a fault of ours: the job may be there or not.
fn cut_short() -> store::Error {
    let text = "the request was interrupted while the job was written: repeat it, with the same idempotency key if it had one";
    store::Error::new(Class::Transient, text)
}

/// So many that there are few forms of the statement to prepare: the last one, again and again.
fn padded(mut ids: Vec<&str>) -> Vec<&str> {
    if let Some(last) = ids.last().copied() {
        ids.resize(ids.len().next_power_of_two(), last);
    }
    ids
}

/// Who went away meanwhile misses nothing but its answer.
fn tell(jobs: Vec<Waiting>, answers: Vec<Told>) {
    for (job, told) in jobs.into_iter().zip(answers) {
        let _ = job.tell.send(told);
    }
}

/// The same failure for each; its source goes to the first.
fn tell_all(jobs: Vec<Waiting>, error: Error) {
    let (class, message) = match &error {
        Error::Store(error) => (error.class, error.message.clone()),
        other => (Class::Permanent, other.to_string()),
    };
    let copies = std::iter::repeat_with(|| Error::Store(store::Error::new(class, message.clone())));
    let answers = std::iter::once(error).chain(copies).map(Err).take(jobs.len()).collect();
    tell(jobs, answers);
}
