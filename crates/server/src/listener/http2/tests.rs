//! The listener with clients that begin with HTTP/2. Frames are written by hand where a client must misbehave.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::*;
use crate::listener::{ConnectionLimits, Listener, MetricsAccess};
use crate::{Lanes, MetricsRecorder};

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    running: tokio::task::JoinHandle<()>,
}

async fn served(limits: ConnectionLimits) -> Server {
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap().with_limits(limits);
    let address = listener.address();
    let (stop, stopped) = oneshot::channel::<()>();
    let (recorder, _) = MetricsRecorder::separate();
    let lanes: Arc<dyn Lanes> = Arc::new(Vec::new);
    let running = tokio::spawn(async move {
        let shutdown = async move {
            let _ = stopped.await;
        };
        listener.serve(lanes, recorder, None, MetricsAccess::Open, shutdown).await;
    });
    Server { address, stop, running }
}

async fn client(address: SocketAddr) -> (SendRequest<Empty<Bytes>>, tokio::task::JoinHandle<()>) {
    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    (sender, tokio::spawn(async move { connection.await.unwrap_or_default() }))
}

async fn get(sender: &mut SendRequest<Empty<Bytes>>, address: SocketAddr, path: &str) -> (u16, Bytes) {
    let request = Request::get(format!("http://{address}{path}")).body(Empty::new()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    (response.status().as_u16(), response.into_body().collect().await.unwrap().to_bytes())
}

#[tokio::test]
async fn requests_share_a_connection_and_a_drain_ends_it() {
    let server = served(ConnectionLimits::default()).await;
    let (sender, connection) = client(server.address).await;
    let many = (0..50).map(|number| {
        let mut sender = sender.clone();
        let path = if number % 2 == 0 { "/healthz" } else { "/nothing" };
        async move { get(&mut sender, server.address, path).await.0 }
    });
    let codes = futures::future::join_all(many).await;
    assert_eq!(codes.iter().filter(|code| **code == 200).count(), 25);
    assert_eq!(codes.iter().filter(|code| **code == 404).count(), 25);
    server.stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(5), server.running).await.unwrap().unwrap();
    connection.await.unwrap();
}

#[tokio::test]
async fn an_idle_connection_makes_room_for_another() {
    let server = served(ConnectionLimits { total: 1, per_address: 1 }).await;
    let (mut first, connection) = client(server.address).await;
    assert_eq!(get(&mut first, server.address, "/healthz").await.0, 200);
    let (mut second, _open) = client(server.address).await;
    assert_eq!(get(&mut second, server.address, "/healthz").await.0, 200);
    connection.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_requests_is_closed() {
    let server = served(ConnectionLimits::default()).await;
    let start = Instant::now();
    for begin in ["", "P", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(begin.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(start.elapsed() < Duration::from_mins(3), "{begin:?} after {:?}", start.elapsed());
    }
    let (mut sender, connection) = client(server.address).await;
    assert_eq!(get(&mut sender, server.address, "/healthz").await.0, 200);
    let start = Instant::now();
    connection.await.unwrap();
    assert!((29..=41).contains(&start.elapsed().as_secs()), "closed after {:?}", start.elapsed());
}

/// A frame: length, type, flags, stream, payload.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The client's settings: the server may send nothing of a body.
const NO_WINDOW: [u8; 6] = [0, 4, 0, 0, 0, 0];
const SETTINGS: u8 = 4;
const HEADERS: u8 = 1;

async fn begin(address: SocketAddr, settings: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, settings)).await.unwrap();
    stream
}

#[tokio::test]
async fn the_number_of_streams_and_their_bytes_are_limited() {
    let server = served(ConnectionLimits::default()).await;
    let mut stream = begin(server.address, &[]).await;
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(head[3], SETTINGS);
    let mut settings = vec![0; usize::from(head[2])];
    stream.read_exact(&mut settings).await.unwrap();
    let value = |id: u8| {
        let found = settings.chunks(6).find(|setting| setting[1] == id)?;
        Some(u32::from_be_bytes([found[2], found[3], found[4], found[5]]))
    };
    assert_eq!(value(3), Some(MAX_STREAMS));
    assert_eq!(value(4), Some(STREAM_WINDOW));
    assert_eq!(value(6), Some(u32::try_from(BUFFER).unwrap()), "bytes of a head");
}

#[tokio::test(start_paused = true)]
async fn a_response_that_the_client_makes_no_room_for_closes_the_connection() {
    let server = served(ConnectionLimits::default()).await;
    let mut stream = begin(server.address, &NO_WINDOW).await;
    // GET http /healthz of authority `t`, in HPACK.
    let head = [&[0x82, 0x86, 0x04, 8][..], b"/healthz", &[0x01, 1, b't']].concat();
    stream.write_all(&frame(HEADERS, 0x5, 1, &head)).await.unwrap();
    let start = Instant::now();
    let mut answer = Vec::new();
    // The frames of the response are read; its body never comes.
    let _ = tokio::time::timeout(Duration::from_mins(5), stream.read_to_end(&mut answer)).await.unwrap();
    assert!((29..=60).contains(&start.elapsed().as_secs()), "closed after {:?}", start.elapsed());
    assert!(!answer.windows(3).any(|part| part == b"ok\n"), "no room for it");
}
