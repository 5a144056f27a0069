//! Group commit: what single requests create is written in shared transactions.
//!
//! Requests that arrive during a transaction are written together in the next one, so that one commit serves many. A
//! single request does not wait for others.
//!
//! Owns: which requests share a transaction, and the answer to each. Must not: check requests. Invariant: every request
//! has its own answer, whichever requests share its transaction; a caller that disconnects affects no other answer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use postrider_seams::store::{self, Class};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::Error;

/// Number of concurrent transactions: while one waits for the disk, the next one fills.
const WRITERS: usize = 2;
/// Maximum number of requests per transaction, and of bytes of their content.
const MAX_BATCH: usize = 100;
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Writes requests together.
pub(crate) trait WriteTogether: Send + Sync + 'static {
    type Request: Send + 'static;
    type Answer: Send + 'static;

    /// Returns the bytes of a request that count towards the size of a transaction.
    fn bytes(request: &Self::Request) -> usize;

    /// Writes the requests, and returns the result of each, in order.
    fn write(
        &self,
        requests: Vec<Self::Request>,
    ) -> impl Future<Output = Vec<Result<Self::Answer, Error>>> + Send;
}

struct Pending<W: WriteTogether> {
    request: W::Request,
    sender: oneshot::Sender<Result<W::Answer, Error>>,
}

pub(crate) struct GroupCommit<W: WriteTogether> {
    writer: W,
    pending: Mutex<VecDeque<Pending<W>>>,
    permits: Arc<Semaphore>,
}

impl<W: WriteTogether> GroupCommit<W> {
    /// Creates the group commit of one kind of request.
    pub fn new(writer: W) -> Arc<Self> {
        Arc::new(Self { writer, pending: Mutex::default(), permits: Arc::new(Semaphore::new(WRITERS)) })
    }

    /// Writes a request together with those that wait now. It is written even if the caller stops waiting for the
    /// answer.
    pub async fn write(self: &Arc<Self>, request: W::Request) -> Result<W::Answer, Error> {
        let (sender, receiver) = oneshot::channel();
        self.queue().push_back(Pending { request, sender });
        self.start_writer();
        receiver.await.unwrap_or_else(|_| Err(interrupted().into()))
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Pending<W>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a writer if one is free. If all are busy, one of them continues with the waiting requests when it
    /// finishes.
    fn start_writer(self: &Arc<Self>) {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            tokio::spawn(Arc::clone(self).write_pending(permit));
        }
    }

    async fn write_pending(self: Arc<Self>, permit: OwnedSemaphorePermit) {
        loop {
            let (requests, senders) = self.next_batch();
            if requests.is_empty() {
                break;
            }
            let answers = self.writer.write(requests).await;
            for (sender, answer) in senders.into_iter().zip(answers) {
                // If the caller has disconnected, the answer is dropped.
                let _ = sender.send(answer);
            }
        }
        drop(permit);
        // A request may have arrived after `next_batch` found none, while this writer still held its permit.
        if !self.queue().is_empty() {
            self.start_writer();
        }
    }

    /// Removes the next requests to be written together from the queue.
    #[expect(clippy::type_complexity, reason = "two lists of the same length")]
    fn next_batch(&self) -> (Vec<W::Request>, Vec<oneshot::Sender<Result<W::Answer, Error>>>) {
        let mut queue = self.queue();
        let mut bytes = 0;
        let mut batch = (Vec::new(), Vec::new());
        while batch.0.len() < MAX_BATCH && bytes < MAX_BATCH_BYTES {
            let Some(Pending { request, sender }) = queue.pop_front() else { break };
            bytes += W::bytes(&request);
            batch.0.push(request);
            batch.1.push(sender);
        }
        batch
    }
}

/// The error if the writer ended without an answer, by shutdown or panic: the object may or may not have been written.
fn interrupted() -> store::Error {
    let text = "the request was interrupted while it was written: repeat it, with the same idempotency key if it had one";
    store::Error::new(Class::Transient, text)
}

/// Returns the same error for each of `count` requests; only the first gets its source.
pub(crate) fn shared_error<T>(error: Error, count: usize) -> Vec<Result<T, Error>> {
    let (class, message) = match &error {
        Error::Store(error) => (error.class, error.message.clone()),
        other => (Class::Permanent, other.to_string()),
    };
    let copies = std::iter::repeat_with(|| Error::Store(store::Error::new(class, message.clone())));
    std::iter::once(error).chain(copies).map(Err).take(count).collect()
}
