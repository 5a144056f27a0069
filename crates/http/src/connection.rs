//! One HTTP/1.1 or HTTP/2 connection, with a task that drives it.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::header::{HOST, HeaderValue};
use hyper::rt::{Read, Write};
use hyper::{Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::OwnedSemaphorePermit;

use crate::call::Call;
use crate::dial::Dialled;
use crate::error::{Error, Fault};

/// Maximum bytes of a response head, and of a body that is buffered.
const BUFFER: usize = 64 * 1024;
const WINDOW: u32 = 64 * 1024;
/// Interval of HTTP/2 pings. A connection that does not answer its ping is closed, even if TCP reports it open.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) enum Connection {
    One(http1::SendRequest<Full<Bytes>>),
    /// HTTP/2: shared by many requests.
    Two(http2::SendRequest<Full<Bytes>>),
}

/// The reason why a request got no response.
pub(crate) enum Unanswered {
    /// The connection closed before any of the request was sent: another one may be used.
    NotSent(hyper::Error),
    Sent(hyper::Error),
}

impl Connection {
    /// Starts HTTP on a dialled stream; the permit is released when the connection closes.
    pub async fn open(dialled: Dialled, permit: OwnedSemaphorePermit) -> Result<Self, Error> {
        match dialled {
            Dialled::Plain(stream) => one(TokioIo::new(stream), permit).await,
            Dialled::Secure(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                two(TokioIo::new(stream), permit).await
            }
            Dialled::Secure(stream) => one(TokioIo::new(stream), permit).await,
        }
    }

    /// Sends one request and returns the response head; the body is read by the caller.
    pub async fn send(&mut self, call: &Call) -> Result<Response<Incoming>, Unanswered> {
        let sent = match self {
            Self::One(sender) => sender.try_send_request(one_request(call)).await,
            Self::Two(sender) => sender.try_send_request(two_request(call)).await,
        };
        sent.map_err(|mut error: TrySendError<Request<Full<Bytes>>>| {
            let untouched = error.take_message().is_some();
            let error = error.into_error();
            if untouched { Unanswered::NotSent(error) } else { Unanswered::Sent(error) }
        })
    }
}

async fn one<T>(stream: T, permit: OwnedSemaphorePermit) -> Result<Connection, Error>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let handshake = http1::Builder::new().max_buf_size(BUFFER).handshake(stream);
    let (sender, connection) = handshake.await.map_err(|error| unusable(&error))?;
    drive(connection, permit);
    Ok(Connection::One(sender))
}

async fn two<T>(stream: T, permit: OwnedSemaphorePermit) -> Result<Connection, Error>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let handshake = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW * 16)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_TIMEOUT)
        .handshake(stream);
    let (sender, connection) = handshake.await.map_err(|error| unusable(&error))?;
    drive(connection, permit);
    Ok(Connection::Two(sender))
}

fn unusable(error: &hyper::Error) -> Error {
    Error::new(Fault::Protocol, "no HTTP on the connection").caused_by(error)
}

fn drive<F>(connection: F, permit: OwnedSemaphorePermit)
where
    F: Future<Output = hyper::Result<()>> + Send + 'static,
{
    tokio::spawn(async move {
        // A request that waits for a response gets this error itself; the end of an idle connection is normal.
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended");
        }
        drop(permit);
    });
}

fn one_request(call: &Call) -> Request<Full<Bytes>> {
    let mut request = request(call, uri(&call.target.path));
    request.headers_mut().insert(HOST, header(&call.target.authority));
    request
}

fn two_request(call: &Call) -> Request<Full<Bytes>> {
    let scheme = if call.target.is_secure() { "https" } else { "http" };
    request(call, uri(&format!("{scheme}://{}{}", call.target.authority, call.target.path)))
}

fn request(call: &Call, uri: Uri) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(call.body.clone()));
    *request.method_mut() = call.method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = call.headers.clone();
    request
}

fn uri(text: &str) -> Uri {
    text.parse()
        .expect("a target's path was written by the URL library, which escapes what a URI may not hold")
}

fn header(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("a target's authority is ASCII: the URL library made it so")
}
