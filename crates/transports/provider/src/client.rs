//! HTTP client with pooled connections. Its errors say whether the request may have been received.
//!
//! Must not: follow redirects, read more than [`MAX_RESPONSE`] bytes of a response, or log a header.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use postrider_seams::error_chain;
use postrider_seams::{is_caused_by_exhaustion, tcp};
use tokio::time::{Instant, timeout, timeout_at};
use tower_service::Service;

/// Maximum bytes of a response that are read.
const MAX_RESPONSE: usize = 64 << 10;

/// Idle time of connections. Providers close idle ones too; those that we close first cannot fail during a request.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// An HTTP request. Headers that contain a key are marked sensitive.
#[derive(Debug, Clone)]
pub(crate) struct ProviderRequest {
    pub method: Method,
    /// Path and query, from the first slash.
    pub path: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Bytes,
}

#[derive(Debug, Clone)]
pub(crate) struct ProviderResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// The part of the body that arrived in time.
    pub body: Bytes,
}

impl ProviderResponse {
    /// Returns a header as text, `None` if it is missing or not ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Parses the body as JSON; `Null` if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// The reason why a request has no response.
#[derive(Debug)]
pub(crate) enum SendError {
    /// No connection could be made, so nothing was sent.
    Unreachable(String),
    /// This machine has no descriptors, memory or local ports left, so nothing was sent.
    Exhausted(String),
    /// The request may have been received.
    Lost(String),
}

pub(crate) struct ProviderClient {
    pooled: HyperClient<TimedConnector, Full<Bytes>>,
    timeout: Duration,
}

impl ProviderClient {
    /// Creates a client; `connect_timeout` limits TCP and TLS, `timeout` the whole request.
    pub fn new(connect_timeout: Duration, timeout: Duration) -> Self {
        let https = HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector());
        let pooled = HyperClient::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(hyper_util::rt::TokioTimer::new())
            .build(TimedConnector { inner: https, limit: connect_timeout });
        Self { pooled, timeout }
    }

    /// Sends a request and reads its response, by the deadline or the client's own timeout.
    pub async fn send(
        &self,
        base: &str,
        request: ProviderRequest,
        deadline: Instant,
    ) -> Result<ProviderResponse, SendError> {
        let deadline = deadline.min(Instant::now() + self.timeout);
        let mut built = http::Request::new(Full::new(request.body));
        *built.method_mut() = request.method;
        *built.uri_mut() = Uri::try_from(format!("{base}{}", request.path)).map_err(|error| {
            SendError::Unreachable(format!("the provider's address is not a URL: {error}"))
        })?;
        built.headers_mut().extend(request.headers.into_iter().map(|(name, value)| (Some(name), value)));
        let answer = match timeout_at(deadline, self.pooled.request(built)).await {
            Err(_) => return Err(SendError::Lost("no answer in time".to_owned())),
            Ok(Err(error)) if error.is_connect() && is_caused_by_exhaustion(&error) => {
                return Err(SendError::Exhausted(error_chain(&error)));
            }
            Ok(Err(error)) if error.is_connect() => return Err(SendError::Unreachable(error_chain(&error))),
            Ok(Err(error)) => return Err(SendError::Lost(error_chain(&error))),
            Ok(Ok(answer)) => answer,
        };
        let (head, mut body) = answer.into_parts();
        let mut read = BytesMut::new();
        // The status is sufficient; a body that hangs or breaks off does not change the result.
        let _ = timeout_at(deadline, async {
            while let Some(Ok(frame)) = body.frame().await {
                if let Ok(data) = frame.into_data() {
                    read.extend_from_slice(&data[..data.len().min(MAX_RESPONSE - read.len())]);
                }
                if read.len() >= MAX_RESPONSE {
                    break;
                }
            }
        })
        .await;
        Ok(ProviderResponse { status: head.status.as_u16(), headers: head.headers, body: read.freeze() })
    }
}

fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_keepalive(Some(tcp::KEEPALIVE_IDLE));
    connector.set_keepalive_interval(Some(tcp::KEEPALIVE_INTERVAL));
    connector.set_keepalive_retries(Some(tcp::KEEPALIVE_RETRIES));
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(tcp::USER_TIMEOUT));
    connector
}

/// A connector with one limit for TCP and TLS together, so that a later timeout means a request in flight.
#[derive(Clone)]
struct TimedConnector {
    inner: HttpsConnector<HttpConnector>,
    limit: Duration,
}

type Boxed = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for TimedConnector {
    type Response = <HttpsConnector<HttpConnector> as Service<Uri>>::Response;
    type Error = Boxed;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Boxed>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Boxed>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.inner.call(uri);
        let limit = self.limit;
        Box::pin(async move {
            match timeout(limit, connecting).await {
                Ok(connected) => connected,
                Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no connection in time").into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_vanished_provider_is_detected() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let uri = Uri::try_from(format!("http://{address}/")).expect("a URL");
        let stream = connector().call(uri).await.expect("a connection");
        let socket = socket2::SockRef::from(stream.inner());
        assert_eq!(socket.tcp_keepalive_time().expect("an option"), tcp::KEEPALIVE_IDLE);
        assert_eq!(socket.tcp_user_timeout().expect("an option"), Some(tcp::USER_TIMEOUT));
    }
}
