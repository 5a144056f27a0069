//! Test servers to deliver to, and envelopes to deliver.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use postrider_seams::row::Detail;
use postrider_seams::{Content, Envelope, Outcome, Secret, Transport as _, Value, Webhook};
use postrider_transport_webhook::{Settings, Webhooks};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

pub const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A request as a server saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub version: Version,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Seen {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub type Answer = Response<Full<Bytes>>;

pub fn status(code: u16) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = code.try_into().unwrap();
    answer
}

#[derive(Clone)]
pub struct Server {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    pub async fn start(answer: impl Fn(&Seen) -> Answer + Clone + Send + Sync + 'static) -> Self {
        Self::with(None, answer).await
    }

    pub async fn with(
        tls: Option<ServerConfig>,
        answer: impl Fn(&Seen) -> Answer + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
            connections: Arc::default(),
        };
        let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        tokio::spawn({
            let server = server.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    server.connections.fetch_add(1, SeqCst);
                    tokio::spawn(server.clone().serve(stream, acceptor.clone(), answer.clone()));
                }
            }
        });
        server
    }

    async fn serve(
        self,
        stream: TcpStream,
        acceptor: Option<TlsAcceptor>,
        answer: impl Fn(&Seen) -> Answer + Clone + Send + Sync + 'static,
    ) {
        let Some(acceptor) = acceptor else { return self.speak(stream, false, answer).await };
        let Ok(stream) = acceptor.accept(stream).await else { return };
        let two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        self.speak(stream, two, answer).await;
    }

    async fn speak<T>(
        self,
        stream: T,
        two: bool,
        answer: impl Fn(&Seen) -> Answer + Clone + Send + Sync + 'static,
    ) where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(move |request: Request<Incoming>| {
            let (server, answer) = (self.clone(), answer.clone());
            async move {
                let (head, body) = request.into_parts();
                let body =
                    body.collect().await.map_or_else(|_| Bytes::new(), http_body_util::Collected::to_bytes);
                let path = head.uri.path_and_query().map_or_else(String::new, ToString::to_string);
                let (method, version) = (head.method.to_string(), head.version);
                let seen = Seen { method, path, version, headers: head.headers, body };
                let answer = answer(&seen);
                server.seen.lock().unwrap().push(seen);
                Ok::<_, Infallible>(answer)
            }
        });
        let stream = TokioIo::new(stream);
        // A client that disconnects is not a failure of the server.
        let _ = if two {
            hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(stream, service)
                .await
        } else {
            hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await
        };
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }
}

/// Starts a server that runs `act` on each connection; the number counts connections from 0.
pub async fn raw<F>(act: impl Fn(usize, TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut count = 0;
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(act(count, stream));
            count += 1;
        }
    });
    address
}

/// Reads a whole request: head, blank line, and the two-byte body that `webhook` sends.
pub async fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while !bytes.ends_with(b"\r\n\r\n{}") {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
    Some(bytes)
}

/// Creates a root and a server certificate for `names`, signed by it.
pub fn certificates(names: &[&str]) -> (String, ServerConfig) {
    let root_key = rcgen::KeyPair::generate().unwrap();
    let mut root = rcgen::CertificateParams::new(Vec::new()).unwrap();
    root.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let root_pem = root.self_signed(&root_key).unwrap().pem();
    let issuer = rcgen::Issuer::new(root, root_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let leaf = rcgen::CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone()],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        )
        .unwrap();
    (root_pem, config)
}

pub fn webhook(url: &str) -> Webhook {
    Webhook {
        url: url.to_owned(),
        headers: Vec::new(),
        content_type: "application/json".to_owned(),
        body: Bytes::from_static(b"{}"),
        timeout: None,
        authorization: None,
        signing: vec![Secret::new(SECRET)],
        may_postpone: false,
        follows_retry_after: true,
        subscription: None,
        client: None,
        clock_offset: 0,
        allowed_hosts: None,
        recheck: None,
    }
}

pub fn envelope(webhook: Webhook) -> Envelope {
    Envelope {
        row: "1".to_owned(),
        dedupe: "0HZXEQ5Y8JY5Z".to_owned(),
        attempt: 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Webhook(Box::new(webhook)),
        detail: Detail::new(),
    }
}

/// Returns settings that allow loopback addresses.
pub fn settings() -> Settings {
    Settings::from_url("webhook://?allow=127.0.0.0/8", &[]).unwrap()
}

pub fn webhooks() -> Webhooks {
    Webhooks::new(settings()).unwrap()
}

pub async fn deliver(webhooks: &Webhooks, webhook: Webhook) -> Outcome {
    let deadline = Instant::now() + Duration::from_mins(1);
    webhooks.deliver(&[envelope(webhook)], deadline).await.pop().unwrap()
}

/// Returns kind, class and error type of an outcome.
pub fn summary(outcome: &Outcome) -> (&'static str, String, String) {
    let (kind, detail) = match outcome {
        Outcome::Delivered(receipt) => ("delivered", &receipt.detail),
        Outcome::Retryable(failure) => ("retryable", &failure.detail),
        Outcome::Rejected(failure) => ("rejected", &failure.detail),
        Outcome::Uncertain(failure) => ("uncertain", &failure.detail),
        Outcome::Deferred(failure) => ("deferred", &failure.detail),
        other => panic!("{other:?}"),
    };
    let text = |name: &str| detail.get(name).and_then(Value::as_text).unwrap_or_default().to_owned();
    (kind, text("result"), text("class"))
}

#[track_caller]
pub fn assert_summary(outcome: &Outcome, kind: &str, class: &str, error: &str) {
    assert_eq!(summary(outcome), (summary(outcome).0, class.to_owned(), error.to_owned()), "{outcome:?}");
    assert_eq!(summary(outcome).0, kind, "{outcome:?}");
}
