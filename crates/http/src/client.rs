//! The HTTP client: sends a request and returns its response before a deadline.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use crate::connection::{Connection, NoResponse};
use crate::connection_pool::HttpConnectionPool;
use crate::dial::Dialer;
use crate::error::{Error, ErrorKind};
use crate::guard::Guard;
use crate::lookup::Lookups;
use crate::message::{HttpRequest, HttpResponse, RequestLimits};
use crate::resolve::{Resolve, SystemResolver};
use crate::target::Target;
use crate::tls::{self, Roots};

/// Pooled connections that may turn out to be closed, one after the other, before a new one is dialled.
const MAX_STALE: usize = 3;

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

/// The way to a target that [`Client::resolve`] found: its addresses, or a pooled connection.
#[derive(Debug, Clone)]
pub struct ResolvedTarget {
    /// `None`: the pool had a connection. If that is gone, the request is not sent: see [`ErrorKind::NotResolved`].
    addresses: Option<Vec<SocketAddr>>,
}

/// Sends HTTP requests. Redirects are returned like any other response, and proxy variables are ignored.
pub struct Client {
    dialer: Dialer,
    pool: Arc<HttpConnectionPool>,
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
            pool: HttpConnectionPool::new(settings.connections, settings.idle),
        })
    }

    /// Checks whether the guard allows the addresses that the target's name resolves to now.
    /// Sends no request. Every address is checked again when it is dialled.
    pub async fn check(&self, target: &Target) -> Result<(), Error> {
        self.dialer.addresses(None, target).await.map(|_| ())
    }

    /// Resolves the target's name, unless the pool has a connection to it.
    /// The lookup has its own timeout and does not count as request time. `client` is the client whose limits it uses.
    pub async fn resolve(&self, client: Option<&str>, target: &Target) -> Result<ResolvedTarget, Error> {
        if self.pool.has_connection(&target.origin) {
            return Ok(ResolvedTarget { addresses: None });
        }
        self.resolve_name(client, target).await
    }

    /// Resolves the target's name as [`Client::resolve`] does, even if the pool has a connection to it.
    pub async fn resolve_name(&self, client: Option<&str>, target: &Target) -> Result<ResolvedTarget, Error> {
        Ok(ResolvedTarget { addresses: Some(self.dialer.addresses(client, target).await?) })
    }

    /// Resolves and sends a request; unlike in [`Client::send_resolved`], the DNS lookup counts towards the limits.
    pub async fn send(&self, request: &HttpRequest, limits: RequestLimits) -> Result<HttpResponse, Error> {
        self.send_once(None, request, limits).await
    }

    /// Sends a request once and reads its response.
    /// Another connection is used only if a pooled one turns out to be closed before any of the request was sent. If the
    /// target was resolved to a pooled connection and that is gone, nothing is sent: [`ErrorKind::NotResolved`].
    /// Cancel-safe in that nothing is left behind; not idempotent.
    pub async fn send_resolved(
        &self,
        resolved: &ResolvedTarget,
        request: &HttpRequest,
        limits: RequestLimits,
    ) -> Result<HttpResponse, Error> {
        self.send_once(Some(resolved), request, limits).await
    }

    async fn send_once(
        &self,
        resolved: Option<&ResolvedTarget>,
        request: &HttpRequest,
        limits: RequestLimits,
    ) -> Result<HttpResponse, Error> {
        let origin = &request.target.origin;
        let mut stale_connections = 0;
        loop {
            let mut connection =
                self.connection(resolved, &request.target, limits, stale_connections < MAX_STALE).await?;
            let begun = Instant::now();
            let head = match timeout_at(limits.deadline, connection.send(request)).await {
                Ok(Ok(head)) => head,
                Ok(Err(NoResponse::NotSent(_))) if stale_connections <= MAX_STALE => {
                    stale_connections += 1;
                    continue;
                }
                Ok(Err(NoResponse::NotSent(error))) => return Err(connection_error(origin, &error)),
                Ok(Err(NoResponse::Sent(error))) => {
                    return Err(connection_error(origin, &error).after_sending());
                }
                Err(_) => {
                    self.pool.close_idle_since(origin, begun);
                    let message = format!("no answer from {origin} in time");
                    return Err(Error::new(ErrorKind::Timeout, message).after_sending());
                }
            };
            let response = read_response(origin, head, limits).await?;
            if !response.truncated {
                self.pool.put_back(origin, connection);
            }
            return Ok(response);
        }
    }

    async fn connection(
        &self,
        resolved: Option<&ResolvedTarget>,
        target: &Target,
        limits: RequestLimits,
        allow_pooled: bool,
    ) -> Result<Connection, Error> {
        let origin = &target.origin;
        if allow_pooled && let Some(connection) = self.pool.take_connection(origin) {
            return Ok(connection);
        }
        if resolved.is_some_and(|resolved| resolved.addresses.is_none()) {
            let message = format!("the pooled connection with {origin} is gone");
            return Err(Error::new(ErrorKind::NotResolved, message));
        }
        let timed_out = || Error::new(ErrorKind::Timeout, format!("no connection with {origin} in time"));
        let dial_lock = self.pool.dial_lock(origin);
        let _dialling = match &dial_lock {
            Some(dial_lock) => {
                Some(timeout_at(limits.deadline, dial_lock.lock()).await.map_err(|_| timed_out())?)
            }
            None => None,
        };
        // While this request waited for its turn, another one may have opened a connection that can be shared.
        if allow_pooled
            && dial_lock.is_some()
            && let Some(connection) = self.pool.take_connection(origin)
        {
            return Ok(connection);
        }
        let permit = timeout_at(limits.deadline, self.pool.permit())
            .await
            .map_err(|_| Error::new(ErrorKind::Busy, "all connections are in use"))?;
        let opening = async {
            let addresses_found;
            let addresses = if let Some(addresses) = resolved.and_then(|resolved| resolved.addresses.as_ref())
            {
                addresses
            } else {
                addresses_found = self.dialer.addresses(None, target).await?;
                &addresses_found
            };
            Connection::open(self.dialer.dial(target, addresses).await?, permit).await
        };
        let connection = timeout_at(limits.deadline, opening).await.map_err(|_| timed_out())??;
        self.pool.record_opened(origin, &connection);
        Ok(connection)
    }
}

async fn read_response(
    origin: &crate::target::Origin,
    head: Response<Incoming>,
    limits: RequestLimits,
) -> Result<HttpResponse, Error> {
    let (parts, mut incoming) = head.into_parts();
    let status = parts.status.as_u16();
    let (body, truncated) = match timeout_at(limits.deadline, read_body(&mut incoming, limits.body)).await {
        Ok(Ok(read)) => read,
        Ok(Err(error)) => {
            return Err(Error { status: Some(status), ..connection_error(origin, &error).after_sending() });
        }
        Err(_) => {
            let message = format!("the answer of {origin} did not end in time");
            return Err(Error {
                status: Some(status),
                ..Error::new(ErrorKind::Timeout, message).after_sending()
            });
        }
    };
    Ok(HttpResponse { status, version: parts.version, headers: parts.headers, body, truncated })
}

async fn read_body(incoming: &mut Incoming, limit: usize) -> hyper::Result<(Bytes, bool)> {
    let mut body = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        let remaining = limit - body.len();
        if data.len() > remaining {
            body.extend_from_slice(&data[..remaining]);
            return Ok((body.freeze(), true));
        }
        body.extend_from_slice(&data);
    }
    Ok((body.freeze(), false))
}

/// Converts a connection failure into our error: closed early, or a response that is not HTTP.
fn connection_error(origin: &crate::target::Origin, error: &hyper::Error) -> Error {
    if error.is_parse() || error.is_user() {
        return Error::new(ErrorKind::Protocol, format!("{origin} does not speak HTTP")).caused_by(error);
    }
    Error::new(ErrorKind::Closed, format!("{origin} ended the connection")).caused_by(error)
}
