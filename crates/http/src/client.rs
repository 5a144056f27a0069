//! The HTTP client: sends a request and returns its response before a deadline.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use crate::call::{Answer, Call, Limits};
use crate::connection::{Connection, Unanswered};
use crate::dial::Dialer;
use crate::error::{Error, Fault};
use crate::guard::Guard;
use crate::lookup::Lookups;
use crate::pool::Pool;
use crate::resolve::{Resolve, SystemResolver};
use crate::target::Target;
use crate::tls::{self, Roots};

/// Pooled connections that may turn out to be closed, one after the other, before a new one is dialled.
const STALE: usize = 3;

/// Settings of a [`Client`]: address guard, trusted roots, connection limit and timeouts.
#[derive(Clone)]
pub struct ClientSettings {
    pub guard: Guard,
    pub roots: Roots,
    /// Maximum number of connections over all hosts; idle ones are closed to make room for new ones.
    pub connections: usize,
    /// Time after which an idle connection is closed.
    pub idle: Duration,
    /// Time limit of the TCP connect, and again of the TLS handshake.
    pub connect_timeout: Duration,
    /// Time limit of one DNS lookup.
    pub lookup_timeout: Duration,
    pub resolver: Arc<dyn Resolve>,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            guard: Guard::default(),
            roots: Roots::default(),
            connections: 2000,
            idle: Duration::from_secs(50),
            connect_timeout: Duration::from_secs(5),
            lookup_timeout: Duration::from_secs(3),
            resolver: Arc::new(SystemResolver::default()),
        }
    }
}

/// The resolved way to a target: see [`Client::route`].
#[derive(Debug, Clone, Default)]
pub struct Route {
    client: Option<Arc<str>>,
    /// `None`: the pool had a connection; if it is gone, the name is resolved when the target is dialled.
    addresses: Option<Vec<SocketAddr>>,
}

/// Sends HTTP requests. Redirects are returned like any other response, and proxy variables are ignored.
pub struct Client {
    dialer: Dialer,
    pool: Arc<Pool>,
}

impl Client {
    /// Creates a client without connecting. The error describes what is wrong with the root certificates.
    pub fn new(settings: &ClientSettings) -> Result<Self, String> {
        Ok(Self {
            dialer: Dialer {
                guard: settings.guard.clone(),
                lookups: Lookups::new(Arc::clone(&settings.resolver), settings.lookup_timeout),
                connector: tls::connector(&settings.roots)?,
                connect_timeout: settings.connect_timeout,
            },
            pool: Pool::new(settings.connections, settings.idle),
        })
    }

    /// Checks whether the guard allows the addresses that the target's name resolves to now.
    /// Sends no request. Every address is checked again when it is dialled.
    pub async fn check(&self, target: &Target) -> Result<(), Error> {
        self.dialer.addresses(None, target).await.map(|_| ())
    }

    /// Resolves the target's name, unless the pool has a connection to it.
    /// The lookup has its own timeout and does not count as request time. `client` is the client whose limits it uses.
    pub async fn route(&self, client: Option<&str>, target: &Target) -> Result<Route, Error> {
        let client = client.map(Into::into);
        if self.pool.has(&target.origin) {
            return Ok(Route { client, addresses: None });
        }
        let addresses = self.dialer.addresses(client.as_deref(), target).await?;
        Ok(Route { client, addresses: Some(addresses) })
    }

    /// Resolves and sends a request; unlike in [`Client::send_by`], the DNS lookup counts towards the limits.
    pub async fn send(&self, call: &Call, limits: Limits) -> Result<Answer, Error> {
        self.send_by(&Route::default(), call, limits).await
    }

    /// Sends a request once and reads its response.
    /// Another connection is used only if a pooled one turns out to be closed before any of the request was sent.
    /// Cancel-safe in that nothing is left behind; not idempotent.
    pub async fn send_by(&self, route: &Route, call: &Call, limits: Limits) -> Result<Answer, Error> {
        let origin = &call.target.origin;
        let mut stale = 0;
        loop {
            let mut connection = self.connection(route, &call.target, limits, stale < STALE).await?;
            let begun = Instant::now();
            let head = match timeout_at(limits.deadline, connection.send(call)).await {
                Ok(Ok(head)) => head,
                Ok(Err(Unanswered::NotSent(_))) if stale <= STALE => {
                    stale += 1;
                    continue;
                }
                Ok(Err(Unanswered::NotSent(error))) => return Err(ended(origin, &error)),
                Ok(Err(Unanswered::Sent(error))) => return Err(ended(origin, &error).after_sending()),
                Err(_) => {
                    self.pool.close_unproven(origin, begun);
                    let message = format!("no answer from {origin} in time");
                    return Err(Error::new(Fault::Timeout, message).after_sending());
                }
            };
            let answer = read(origin, head, limits).await?;
            if !answer.cut {
                self.pool.give_back(origin, connection);
            }
            return Ok(answer);
        }
    }

    async fn connection(
        &self,
        route: &Route,
        target: &Target,
        limits: Limits,
        kept: bool,
    ) -> Result<Connection, Error> {
        let origin = &target.origin;
        if kept && let Some(connection) = self.pool.take(origin) {
            return Ok(connection);
        }
        let late = || Error::new(Fault::Timeout, format!("no connection with {origin} in time"));
        let turn = self.pool.turn(origin);
        let _turn = match &turn {
            Some(turn) => Some(timeout_at(limits.deadline, turn.lock()).await.map_err(|_| late())?),
            None => None,
        };
        // While this request waited for its turn, another one may have opened a connection that can be shared.
        if kept
            && turn.is_some()
            && let Some(connection) = self.pool.take(origin)
        {
            return Ok(connection);
        }
        let permit = timeout_at(limits.deadline, self.pool.permit())
            .await
            .map_err(|_| Error::new(Fault::Busy, "all connections are in use"))?;
        let opening = async {
            let looked_up;
            let addresses = if let Some(addresses) = &route.addresses {
                addresses
            } else {
                looked_up = self.dialer.addresses(route.client.as_deref(), target).await?;
                &looked_up
            };
            Connection::open(self.dialer.dial(target, addresses).await?, permit).await
        };
        let connection = timeout_at(limits.deadline, opening).await.map_err(|_| late())??;
        self.pool.opened(origin, &connection);
        Ok(connection)
    }
}

async fn read(
    origin: &crate::target::Origin,
    head: Response<Incoming>,
    limits: Limits,
) -> Result<Answer, Error> {
    let (parts, mut incoming) = head.into_parts();
    let status = parts.status.as_u16();
    let (body, cut) = match timeout_at(limits.deadline, body(&mut incoming, limits.body)).await {
        Ok(Ok(read)) => read,
        Ok(Err(error)) => {
            return Err(Error { status: Some(status), ..ended(origin, &error).after_sending() });
        }
        Err(_) => {
            let message = format!("the answer of {origin} did not end in time");
            return Err(Error {
                status: Some(status),
                ..Error::new(Fault::Timeout, message).after_sending()
            });
        }
    };
    Ok(Answer { status, version: parts.version, headers: parts.headers, body, cut })
}

async fn body(incoming: &mut Incoming, cap: usize) -> hyper::Result<(Bytes, bool)> {
    let mut body = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        let room = cap - body.len();
        if data.len() > room {
            body.extend_from_slice(&data[..room]);
            return Ok((body.freeze(), true));
        }
        body.extend_from_slice(&data);
    }
    Ok((body.freeze(), false))
}

/// Converts a connection failure into our error: closed early, or a response that is not HTTP.
fn ended(origin: &crate::target::Origin, error: &hyper::Error) -> Error {
    if error.is_parse() || error.is_user() {
        return Error::new(Fault::Protocol, format!("{origin} does not speak HTTP")).caused_by(error);
    }
    Error::new(Fault::Closed, format!("{origin} ended the connection")).caused_by(error)
}
