//! A TCP proxy that injects network faults between a client and a server, for tests and benches.
//!
//! Owns: the listening port, the mode of new connections, and the list of open ones. `proxy/link.rs` forwards the bytes
//! of one connection.
//!
//! A frozen connection is half-open as far as a client can see: nothing it sends is answered and it is never closed.
//! The kernel of this machine still acknowledges its segments, so a TCP keepalive alone does not detect it.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::SockRef;

use crate::error::{Error, Result};
use crate::server;

mod link;
mod losses;

use link::{Link, reset};
use losses::Losses;

/// The treatment of new connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewConnections {
    Forward,
    /// Accepted, but never answered, like a dead host behind a working load balancer.
    BlackHole,
    /// The port is closed: "connection refused".
    Refuse,
}

/// An answer that never arrives because the connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostAnswer {
    /// The answer to a request that contains these bytes; the request reaches the server.
    To(&'static [u8]),
    /// An answer that contains these bytes.
    With(&'static [u8]),
}

/// A proxy that forwards connections on a private port to a target; on drop it resets them and frees the port.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    port: u16,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    target: SocketAddr,
    mode: NewConnections,
    delay: Duration,
    losses: Arc<Losses>,
    links: Vec<Arc<Link>>,
    accepted: usize,
    listening: bool,
    ended: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Proxy {
    /// Starts a proxy that forwards to this target without faults.
    pub fn start(target: SocketAddr) -> Result<Self> {
        server::on_free_port(|port| Self::start_on(port, target))
    }

    fn start_on(port: u16, target: SocketAddr) -> Result<Self> {
        let listener = listen(port).map_err(Error::command("a proxy"))?;
        let state = State {
            target,
            mode: NewConnections::Forward,
            delay: Duration::ZERO,
            losses: Arc::default(),
            links: Vec::new(),
            accepted: 0,
            listening: true,
            ended: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let acceptor = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept_until_dropped(&shared, port, listener)
        });
        Ok(Self { shared, port, acceptor: Some(acceptor) })
    }

    /// The port of the proxy.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of the proxy.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Forwards new connections to another server. Open connections are not changed.
    pub fn retarget(&self, target: SocketAddr) {
        self.shared.state().target = target;
    }

    /// Sets the treatment of new connections. Returns when it is in effect.
    pub fn new_connections(&self, mode: NewConnections) {
        let mut state = self.shared.state();
        state.mode = mode;
        self.shared.changed.notify_all();
        while state.listening == (mode == NewConnections::Refuse) {
            drop(state);
            if mode == NewConnections::Refuse {
                self.wake_acceptor();
            }
            state = self.shared.state();
            state = self
                .shared
                .changed
                .wait_timeout(state, Duration::from_millis(10))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Delays every byte by this time in each direction. Bytes are pipelined: a delay adds latency but does not reduce
    /// throughput. Bytes already on their way keep their delay.
    pub fn delay(&self, delay: Duration) {
        let mut state = self.shared.state();
        state.delay = delay;
        for link in &state.links {
            link.delay(delay);
        }
    }

    /// Stops forwarding on every open connection, without closing any: they are half-open until `thaw`.
    pub fn freeze(&self) {
        for link in &self.shared.state().links {
            link.freeze(true);
        }
    }

    /// Continues forwarding on frozen connections without loss. Connections opened in a black hole stay dead.
    pub fn thaw(&self) {
        for link in &self.shared.state().links {
            link.freeze(false);
        }
    }

    /// Freezes all open connections and black-holes new ones, as if the server's host had vanished.
    pub fn black_hole(&self) {
        self.new_connections(NewConnections::BlackHole);
        self.freeze();
    }

    /// Resets (RST) every open connection, on both sides.
    pub fn cut(&self) {
        let links = std::mem::take(&mut self.shared.state().links);
        for link in &links {
            link.cut();
        }
    }

    /// Loses the next `times` such answers, on any connection.
    pub fn lose_answers(&self, answer: LostAnswer, times: usize) {
        self.shared.state().losses.lose(answer, times);
    }

    /// The number of answers that are still to be lost.
    pub fn answers_to_lose(&self) -> usize {
        self.shared.state().losses.left()
    }

    /// The number of connections accepted since the start.
    pub fn accepted(&self) -> usize {
        self.shared.state().accepted
    }

    /// The number of open connections, frozen ones included.
    pub fn open(&self) -> usize {
        self.shared.state().links.len()
    }

    /// Makes a blocked `accept` return. An error means that the port is closed already and the acceptor is not blocked.
    fn wake_acceptor(&self) {
        drop(TcpStream::connect_timeout(&self.address(), Duration::from_millis(100)));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.changed.notify_all();
        self.wake_acceptor();
        if let Some(acceptor) = self.acceptor.take() {
            // A panic of the acceptor thread has been printed already.
            drop(acceptor.join());
        }
        self.cut();
    }
}

fn listen(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
}

/// Stops listening at once. Closing alone does not: a child process that another thread starts at this moment has a copy
/// of the descriptor until it executes its program.
fn close(listener: &TcpListener) {
    // Fails only on a socket that does not listen any more.
    drop(SockRef::from(listener).shutdown(Shutdown::Both));
}

fn accept_until_dropped(shared: &Arc<Shared>, port: u16, listener: TcpListener) {
    let mut listener = Some(listener);
    loop {
        let mut state = shared.state();
        if state.ended {
            return listener.iter().for_each(close);
        }
        if state.mode == NewConnections::Refuse {
            listener.take().iter().for_each(close);
            state.listening = false;
            shared.changed.notify_all();
            drop(shared.wait(state));
            continue;
        }
        drop(state);
        // The port is reserved between two binds only by convention (`port.rs`), so a bind may have to be repeated.
        let Some(open) = listener.take().or_else(|| listen(port).ok()) else { continue };
        shared.state().listening = true;
        shared.changed.notify_all();
        if let Ok((client, _)) = open.accept() {
            add_connection(shared, client);
        }
        listener = Some(open);
    }
}

/// Adds a new connection to the list. Separate threads forward it, as connecting to the target may take long.
fn add_connection(shared: &Arc<Shared>, client: TcpStream) {
    let mut state = shared.state();
    if state.ended || state.mode == NewConnections::Refuse {
        reset(&client);
        return;
    }
    let link = Arc::new(Link::new(client, state.delay, Arc::clone(&state.losses)));
    state.accepted += 1;
    state.links.push(Arc::clone(&link));
    if state.mode == NewConnections::BlackHole {
        return;
    }
    let (target, shared) = (state.target, Arc::clone(shared));
    drop(state);
    std::thread::spawn(move || {
        link.forward(target);
        shared.state().links.retain(|other| !Arc::ptr_eq(other, &link));
    });
}
