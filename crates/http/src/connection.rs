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

use crate::dial::DialledStream;
use crate::error::{Error, ErrorKind};
use crate::message::HttpRequest;

/// Maximum bytes of a response head, and of a body that is buffered.
const MAX_BUFFER: usize = 64 * 1024;
const STREAM_WINDOW: u32 = 64 * 1024;
/// Interval of HTTP/2 pings. A connection that does not answer its ping is closed, even if TCP reports it open.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) enum Connection {
    Http1(http1::SendRequest<Full<Bytes>>),
    /// HTTP/2: shared by many requests.
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// The reason why a request got no response.
pub(crate) enum NoResponse {
    /// The connection closed before any of the request was sent: another one may be used.
    NotSent(hyper::Error),
    Sent(hyper::Error),
}

impl Connection {
    /// Starts HTTP on a dialled stream; the permit is released when the connection closes.
    pub async fn open(dialled: DialledStream, permit: OwnedSemaphorePermit) -> Result<Self, Error> {
        match dialled {
            DialledStream::Plain(stream) => open_http1(TokioIo::new(stream), permit).await,
            DialledStream::Secure(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                open_http2(TokioIo::new(stream), permit).await
            }
            DialledStream::Secure(stream) => open_http1(TokioIo::new(stream), permit).await,
        }
    }

    /// Sends one request and returns the response head; the body is read by the caller.
    pub async fn send(&mut self, request: &HttpRequest) -> Result<Response<Incoming>, NoResponse> {
        let sent = match self {
            Self::Http1(sender) => sender.try_send_request(http1_request(request)).await,
            Self::Http2(sender) => sender.try_send_request(http2_request(request)).await,
        };
        sent.map_err(|mut error: TrySendError<Request<Full<Bytes>>>| {
            let not_sent = error.take_message().is_some();
            let error = error.into_error();
            if not_sent { NoResponse::NotSent(error) } else { NoResponse::Sent(error) }
        })
    }
}

async fn open_http1<T>(stream: T, permit: OwnedSemaphorePermit) -> Result<Connection, Error>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let handshake = http1::Builder::new().max_buf_size(MAX_BUFFER).handshake(stream);
    let (sender, connection) = handshake.await.map_err(|error| handshake_error(&error))?;
    spawn_driver(connection, permit);
    Ok(Connection::Http1(sender))
}

async fn open_http2<T>(stream: T, permit: OwnedSemaphorePermit) -> Result<Connection, Error>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let handshake = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(STREAM_WINDOW * 16)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .handshake(stream);
    let (sender, connection) = handshake.await.map_err(|error| handshake_error(&error))?;
    spawn_driver(connection, permit);
    Ok(Connection::Http2(sender))
}

fn handshake_error(error: &hyper::Error) -> Error {
    Error::new(ErrorKind::Protocol, "no HTTP on the connection").caused_by(error)
}

fn spawn_driver<F>(connection: F, permit: OwnedSemaphorePermit)
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

fn http1_request(request: &HttpRequest) -> Request<Full<Bytes>> {
    let mut built = hyper_request(request, uri(&request.target.path));
    built.headers_mut().insert(HOST, header(&request.target.authority));
    built
}

fn http2_request(request: &HttpRequest) -> Request<Full<Bytes>> {
    let scheme = if request.target.is_secure() { "https" } else { "http" };
    hyper_request(request, uri(&format!("{scheme}://{}{}", request.target.authority, request.target.path)))
}

fn hyper_request(request: &HttpRequest, uri: Uri) -> Request<Full<Bytes>> {
    let mut built = Request::new(Full::new(request.body.clone()));
    *built.method_mut() = request.method.clone();
    *built.uri_mut() = uri;
    *built.headers_mut() = request.headers.clone();
    built
}

fn uri(text: &str) -> Uri {
    text.parse()
        .expect("a target's path was written by the URL library, which escapes what a URI may not hold")
}

fn header(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("a target's authority is ASCII: the URL library made it so")
}
