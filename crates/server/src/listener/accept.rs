//! The accept loop: gives each connection its time limits and a place within the connection limits.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::server::conn::http2::Connection as Http2Connection;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use postrider_seams::tcp;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower_service::Service as _;

use super::connections::{ConnectionSlot, Connections};
use super::http2::{self, Responses};
use super::request_body::TrackedBody;
use super::version::{HttpVersion, detect};
use super::write_timeout::WriteTimeout;
use crate::api::Problem;

/// Time limit of a request's head, from the end of the previous request or the start of the connection.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of a head, and of one read.
pub const BUFFER: usize = 64 << 10;
/// The paths that reserved places are for.
const HEALTH: [&str; 2] = ["/healthz", "/readyz"];
/// Delay before the next accept if no descriptor was left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// Time limit of requests in flight at shutdown. Streams have no end of their own.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers requests until `shutdown` completes, then finishes those in flight.
pub async fn serve(
    socket: TcpListener,
    routes: Router,
    connections: Arc<Connections>,
    shutdown: impl Future<Output = ()>,
) {
    let (stop, stopping) = watch::channel(false);
    let mut shutdown = pin!(shutdown);
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            Some(_) = tasks.join_next() => continue,
            () = &mut shutdown => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Refused by closing: a response would need the resources that are missing.
                let Some(place) = connections.admit(peer.ip()) else { continue };
                tasks.spawn(answer(stream, peer, routes.clone(), place, stopping.clone()));
            }
            Err(error) if postrider_seams::is_exhausted(&error) => {
                tracing::warn!(%error, "cannot accept a connection: closing an idle one");
                connections.close_one();
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
            // The client disconnected before it was accepted.
            Err(error) => tracing::debug!(%error, "cannot accept a connection"),
        }
    }
    drop(socket);
    let _ = stop.send(true);
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, all).await.is_err() {
        tracing::debug!("some requests were not finished in time");
    }
}

/// Returns the response to a request on a reserved place that is not a health check.
fn busy() -> Response {
    let problem = Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "all connections have a request under way; try again in a moment",
    );
    ([(header::CONNECTION, "close")], problem).into_response()
}

/// How a connection is served.
struct Served {
    place: ConnectionSlot,
    stopping: watch::Receiver<bool>,
}

async fn answer(
    stream: TcpStream,
    peer: SocketAddr,
    routes: Router,
    place: ConnectionSlot,
    stopping: watch::Receiver<bool>,
) {
    // Responses are written whole: delaying their last packet gains nothing.
    if stream.set_nodelay(true).and_then(|()| tcp::detect_vanished_peer(&stream)).is_err() {
        return;
    }
    let mut served = Served { place, stopping };
    let Some(version) = served.version(&stream).await else { return };
    let ended = match version {
        HttpVersion::One => served.http1(stream, peer, routes).await,
        HttpVersion::Two => served.http2(stream, peer, routes).await,
    };
    if let Err(error) = ended {
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}

impl Served {
    /// Returns the version of HTTP that the client speaks; `None` if the connection is over.
    async fn version(&mut self, stream: &TcpStream) -> Option<HttpVersion> {
        tokio::select! {
            version = tokio::time::timeout(HEAD_TIMEOUT, detect(stream)) => version.ok()?.ok(),
            () = self.place.closed() => None,
            _ = self.stopping.wait_for(|stop| *stop) => None,
        }
    }

    async fn http1(
        &mut self,
        stream: TcpStream,
        peer: SocketAddr,
        routes: Router,
    ) -> Result<(), hyper::Error> {
        let place = &self.place;
        let service = service_fn(|request: hyper::Request<Incoming>| {
            let answered = respond(request, peer, &routes, place);
            async move { Ok::<_, Infallible>(answered.await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(WriteTimeout::new(stream)), service);
        let never = std::future::pending();
        drive(connection, http1::Connection::graceful_shutdown, place, &mut self.stopping, never).await
    }

    async fn http2(
        &mut self,
        stream: TcpStream,
        peer: SocketAddr,
        routes: Router,
    ) -> Result<(), hyper::Error> {
        let (place, responses) = (&self.place, Responses::default());
        let service = service_fn(|request: hyper::Request<Incoming>| {
            let (answered, responses) = (respond(request, peer, &routes, place), responses.clone());
            async move { Ok::<_, Infallible>(answered.await.map(|body| responses.track(body))) }
        });
        let connection = http2::builder().serve_connection(TokioIo::new(WriteTimeout::new(stream)), service);
        let over = http2::watch(place, &responses);
        drive(connection, Http2Connection::graceful_shutdown, place, &mut self.stopping, over).await
    }
}

/// Answers one request. It is in flight until the last part of its response.
fn respond(
    request: hyper::Request<Incoming>,
    peer: SocketAddr,
    routes: &Router,
    place: &ConnectionSlot,
) -> impl Future<Output = hyper::Response<Body>> + Send + 'static {
    let in_flight = Arc::new(place.request());
    let mut request = request.map(|body| Body::new(TrackedBody::new(body, Arc::clone(&in_flight))));
    request.extensions_mut().insert(ConnectInfo(peer));
    let refused = place.is_reserved() && !HEALTH.contains(&request.uri().path());
    let answered = (!refused).then(|| routes.clone().call(request));
    async move {
        let response = match answered {
            Some(answered) => answered.await.unwrap_or_else(|never| match never {}),
            None => busy(),
        };
        response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let _still = &in_flight;
                frame
            }))
        })
    }
}

/// Drives a connection to its end: until the client ends it, its place is needed, or the server stops. Once `over`
/// completes, requests under way may still finish.
async fn drive<C: Future<Output = Result<(), hyper::Error>>>(
    connection: C,
    shut_down: fn(Pin<&mut C>),
    place: &ConnectionSlot,
    stopping: &mut watch::Receiver<bool>,
    over: impl Future<Output = ()>,
) -> Result<(), hyper::Error> {
    let (mut connection, mut over) = (pin!(connection), pin!(over));
    let mut end = None;
    loop {
        tokio::select! {
            ended = connection.as_mut() => return ended,
            () = place.closed() => return Ok(()),
            () = tokio::time::sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => return Ok(()),
            () = over.as_mut(), if end.is_none() => {
                end = Some(Instant::now() + SHUTDOWN_TIMEOUT);
                shut_down(connection.as_mut());
            }
            _ = stopping.wait_for(|stop| *stop), if end.is_none() => {
                end = Some(Instant::now() + SHUTDOWN_TIMEOUT);
                shut_down(connection.as_mut());
            }
        }
    }
}
