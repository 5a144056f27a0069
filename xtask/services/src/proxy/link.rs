//! One proxied connection: two directions, each with a reading thread and a writing thread.
//!
//! Separate threads make a delay pure latency: while one chunk waits, the next ones are read already.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::losses::Losses;

/// The largest chunk, 64 KiB, so that a direction buffers 64 MiB at most, more than the delays of tests need.
const CHUNK: usize = 64 * 1024;
const CHUNKS: usize = 1024;
/// Interval at which a write to a peer that does not read checks whether the connection was cut.
const WRITE_TIMEOUT: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Link {
    client: TcpStream,
    flags: Mutex<Flags>,
    changed: Condvar,
    losses: Arc<Losses>,
}

#[derive(Debug)]
struct Flags {
    /// The connection to the server; set while the connection is forwarded.
    server: Option<Arc<TcpStream>>,
    delay: Duration,
    frozen: bool,
    cut: bool,
    /// Whether the next answer is lost.
    loses_answer: bool,
}

/// Bytes and the time at which they are due at the other side; an empty chunk is the end of the stream.
struct Chunk {
    due: Instant,
    bytes: Vec<u8>,
}

impl Link {
    pub(super) fn new(client: TcpStream, delay: Duration, losses: Arc<Losses>) -> Self {
        let flags = Flags { server: None, delay, frozen: false, cut: false, loses_answer: false };
        Self { client, flags: Mutex::new(flags), changed: Condvar::new(), losses }
    }

    fn flags(&self) -> MutexGuard<'_, Flags> {
        self.flags.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn delay(&self, delay: Duration) {
        self.flags().delay = delay;
    }

    pub(super) fn freeze(&self, frozen: bool) {
        self.flags().frozen = frozen;
        self.changed.notify_all();
    }

    /// Ends the connection with a reset. It is sent when the last forwarding thread drops the sockets, which happens
    /// once their reads end; for a connection in a black hole it is sent at once.
    pub(super) fn cut(&self) {
        let mut flags = self.flags();
        flags.cut = true;
        reset(&self.client);
        if let Some(server) = flags.server.take() {
            reset(&server);
        }
        self.changed.notify_all();
    }

    /// Connects to the target and forwards in both directions until both have ended or the connection is cut.
    pub(super) fn forward(&self, target: SocketAddr) {
        let Ok(server) = TcpStream::connect(target).map(Arc::new) else { return self.cut() };
        {
            let mut flags = self.flags();
            if flags.cut {
                return;
            }
            flags.server = Some(Arc::clone(&server));
        }
        for stream in [&self.client, &*server] {
            if stream.set_nodelay(true).and(stream.set_write_timeout(Some(WRITE_TIMEOUT))).is_err() {
                return self.cut();
            }
        }
        std::thread::scope(|threads| {
            for (from, to, is_answer) in [(&self.client, &*server, false), (&*server, &self.client, true)] {
                let (sender, receiver) = sync_channel(CHUNKS);
                threads.spawn(move || self.read(from, &sender, is_answer));
                threads.spawn(move || self.write(to, &receiver));
            }
        });
    }

    /// Reads until the end of the stream. A reset by one peer becomes a reset of the other.
    fn read(&self, mut from: &TcpStream, sender: &SyncSender<Chunk>, is_answer: bool) {
        let mut buffer = vec![0; CHUNK];
        loop {
            let bytes = match from.read(&mut buffer) {
                Ok(length) => buffer[..length].to_vec(),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return self.cut(),
            };
            let ended = bytes.is_empty();
            if self.is_lost(&bytes, is_answer) {
                return self.cut();
            }
            let due = Instant::now() + self.flags().delay;
            if sender.send(Chunk { due, bytes }).is_err() || ended {
                return;
            }
        }
    }

    /// Whether this answer is to be lost. Requests are always forwarded; a matching one marks its answer.
    fn is_lost(&self, bytes: &[u8], is_answer: bool) -> bool {
        if is_answer {
            return self.losses.loses(bytes) || self.flags().loses_answer;
        }
        if self.losses.loses_answer_to(bytes) {
            self.flags().loses_answer = true;
        }
        false
    }

    fn write(&self, to: &TcpStream, receiver: &Receiver<Chunk>) {
        while let Ok(chunk) = receiver.recv() {
            if !self.wait_until(chunk.due) {
                return;
            }
            if chunk.bytes.is_empty() {
                // An error means that the peer is gone already; the other direction notices it.
                drop(to.shutdown(Shutdown::Write));
                return;
            }
            if !self.write_all(to, &chunk.bytes) {
                return self.cut();
            }
        }
    }

    /// Waits until a chunk may be written; false if the connection was cut.
    fn wait_until(&self, due: Instant) -> bool {
        let mut flags = self.flags();
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if flags.cut {
                return false;
            }
            flags = match (flags.frozen, left.is_zero()) {
                (false, true) => return true,
                (true, _) => self.changed.wait(flags).unwrap_or_else(PoisonError::into_inner),
                (false, false) => {
                    self.changed.wait_timeout(flags, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn write_all(&self, mut to: &TcpStream, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() && !self.flags().cut {
            match to.write(bytes) {
                Ok(length) => bytes = &bytes[length..],
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => return false,
            }
        }
        bytes.is_empty()
    }
}

/// Makes the close of this socket a reset, and ends reads that block on it.
pub(super) fn reset(stream: &TcpStream) {
    // Both fail only on a socket whose connection has ended.
    drop(SockRef::from(stream).set_linger(Some(Duration::ZERO)));
    drop(stream.shutdown(Shutdown::Read));
}
