//! Group commit: what single requests create is written in shared transactions.
//!
//! Requests that arrive during a transaction are written together in the next one, so that one commit serves many. A
//! single request does not wait for others, and a second transaction is begun only for many.
//!
//! Owns: which requests share a transaction, and the answer to each. Must not: check requests. Invariant: every request
//! has its own answer, whichever requests share its transaction; a caller that disconnects affects no other answer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use postrider_seams::store::{self, Class};
use tokio::sync::oneshot;

use crate::Error;

/// Number of concurrent transactions: while one waits for the disk, the next one fills.
const WRITERS: usize = 2;
/// Number of waiting requests for which a further transaction is begun while another one runs. Fewer wait for it: a
/// statement costs the database about as much as the rows of ten requests.
const WORTH_A_WRITER: usize = 32;
/// Maximum number of requests per transaction, and of bytes of their content.
const MAX_BATCH: usize = 100;
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Writes requests together.
pub trait WriteTogether: Send + Sync + 'static {
    type Request: Send + 'static;
    type Answer: Send + 'static;
    type Error: From<store::Error> + Send + 'static;

    /// Returns the bytes of a request that count towards the size of a transaction.
    fn bytes(request: &Self::Request) -> usize;

    /// Writes the requests, and returns the result of each, in order.
    fn write(&self, requests: Vec<Self::Request>) -> impl Future<Output = Vec<Answer<Self>>> + Send;
}

/// The result of one request.
pub type Answer<W> = Result<<W as WriteTogether>::Answer, <W as WriteTogether>::Error>;

struct Pending<W: WriteTogether> {
    request: W::Request,
    sender: oneshot::Sender<Answer<W>>,
}

/// The requests of one kind that wait to be written, and those who write them.
pub struct GroupCommit<W: WriteTogether> {
    writer: W,
    state: Mutex<State<W>>,
}

struct State<W: WriteTogether> {
    pending: VecDeque<Pending<W>>,
    /// Number of transactions under way.
    running: usize,
}

impl<W: WriteTogether> State<W> {
    /// Whether the transactions under way leave work for one more.
    fn is_worth_a_writer(&self) -> bool {
        match self.running {
            0 => !self.pending.is_empty(),
            1..WRITERS => self.pending.len() >= WORTH_A_WRITER,
            _ => false,
        }
    }
}

/// A writer that is counted until it finds no more work, or until a panic ends it.
struct Running<W: WriteTogether> {
    commit: Arc<GroupCommit<W>>,
    is_counted: bool,
}

impl<W: WriteTogether> Drop for Running<W> {
    fn drop(&mut self) {
        if !self.is_counted {
            return;
        }
        let mut state = self.commit.state();
        state.running -= 1;
        // At a shutdown, waiting requests end with their callers.
        if std::thread::panicking() && state.is_worth_a_writer() {
            self.commit.start_writer(state);
        }
    }
}

impl<W: WriteTogether> GroupCommit<W> {
    /// Creates the group commit of one kind of request.
    pub fn new(writer: W) -> Arc<Self> {
        let state = State { pending: VecDeque::new(), running: 0 };
        Arc::new(Self { writer, state: Mutex::new(state) })
    }

    /// Writes a request together with those that wait now. It is written even if the caller stops waiting for the
    /// answer.
    pub async fn write(self: &Arc<Self>, request: W::Request) -> Answer<W> {
        let (sender, receiver) = oneshot::channel();
        self.push(Pending { request, sender });
        receiver.await.unwrap_or_else(|_| Err(interrupted().into()))
    }

    fn state(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request, and starts a writer if it is worth one. Otherwise a running one continues with it.
    fn push(self: &Arc<Self>, request: Pending<W>) {
        let mut state = self.state();
        state.pending.push_back(request);
        if state.is_worth_a_writer() {
            self.start_writer(state);
        }
    }

    fn start_writer(self: &Arc<Self>, mut state: MutexGuard<'_, State<W>>) {
        state.running += 1;
        drop(state);
        tokio::spawn(Running { commit: Arc::clone(self), is_counted: true }.write_pending());
    }
}

impl<W: WriteTogether> Running<W> {
    /// Removes the next requests to be written together from the queue. None are left for this writer once the others
    /// will continue with them: it is no longer counted then.
    fn next_batch(&mut self) -> (Vec<W::Request>, Vec<oneshot::Sender<Answer<W>>>) {
        let mut state = self.commit.state();
        let (mut bytes, mut batch) = (0, (Vec::new(), Vec::new()));
        state.running -= 1;
        self.is_counted = state.is_worth_a_writer();
        if !self.is_counted {
            return batch;
        }
        state.running += 1;
        while batch.0.len() < MAX_BATCH && bytes < MAX_BATCH_BYTES {
            let Some(Pending { request, sender }) = state.pending.pop_front() else { break };
            bytes += W::bytes(&request);
            batch.0.push(request);
            batch.1.push(sender);
        }
        batch
    }

    async fn write_pending(mut self) {
        loop {
            let (requests, senders) = self.next_batch();
            if requests.is_empty() {
                return;
            }
            let answers = self.commit.writer.write(requests).await;
            for (sender, answer) in senders.into_iter().zip(answers) {
                // If the caller has disconnected, the answer is dropped.
                let _ = sender.send(answer);
            }
        }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Answers with the number of requests in the transaction, or panics at request 0.
    struct Counting(Mutex<Vec<usize>>);

    impl WriteTogether for Counting {
        type Request = usize;
        type Answer = usize;
        type Error = Error;

        fn bytes(_: &usize) -> usize {
            0
        }

        async fn write(&self, requests: Vec<usize>) -> Vec<Result<usize, Error>> {
            assert!(!requests.contains(&0), "request 0 is a bug");
            self.0.lock().unwrap().push(requests.len());
            tokio::time::sleep(Duration::from_millis(10)).await;
            requests.iter().map(|_| Ok(requests.len())).collect()
        }
    }

    fn send(
        commit: &Arc<GroupCommit<Counting>>,
        request: usize,
    ) -> tokio::task::JoinHandle<Answer<Counting>> {
        let commit = Arc::clone(commit);
        tokio::spawn(async move { commit.write(request).await })
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_transaction_is_begun_for_many_requests_only() {
        let commit = GroupCommit::new(Counting(Mutex::default()));
        let first = send(&commit, 1);
        tokio::time::sleep(Duration::from_millis(1)).await;
        let few: Vec<_> = (0..WORTH_A_WRITER - 1).map(|_| send(&commit, 1)).collect();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(*commit.writer.0.lock().unwrap(), [1], "they wait for the first transaction");
        let many = send(&commit, 1);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(*commit.writer.0.lock().unwrap(), [1, WORTH_A_WRITER]);
        assert_eq!(first.await.unwrap().unwrap(), 1);
        for request in few.into_iter().chain([many]) {
            assert_eq!(request.await.unwrap().unwrap(), WORTH_A_WRITER);
        }
        assert_eq!(commit.state().running, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_ends_only_the_requests_of_its_transaction() {
        let commit = GroupCommit::new(Counting(Mutex::default()));
        let first = send(&commit, 0);
        // It waits until the writer has panicked, or comes after.
        let second = send(&commit, 1);
        assert!(first.await.unwrap().is_err());
        let second = second.await.unwrap();
        assert!(second.is_err() || second.is_ok_and(|count| count == 1));
        assert_eq!(send(&commit, 1).await.unwrap().unwrap(), 1);
        assert_eq!(commit.state().running, 0);
    }
}
