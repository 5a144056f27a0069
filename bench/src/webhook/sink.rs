//! A minimal HTTP receiver: it finds the end of each request and answers 200. By the address that the client dialled it
//! represents many targets, some of which never answer.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const HANGING: u8 = 2;
const SLOW: u8 = 3;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 17\r\n\r\n{\"received\":true}";

/// The receiver. Healthy targets are 127.1.x.y; hanging ones 127.2.x.y; a slow one is 127.3.0.1.
pub struct Sink {
    pub port: u16,
}

impl Sink {
    /// Starts the receiver on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream));
            }
        });
        Self { port }
    }

    /// The URL of a target that answers after 200 ms.
    pub fn slow_url(&self) -> String {
        format!("http://127.{SLOW}.0.1:{}/hook", self.port)
    }

    /// The URL of a target that never answers.
    pub fn hanging_url(&self) -> String {
        format!("http://127.{HANGING}.0.1:{}/hook", self.port)
    }

    /// The URL of a healthy target.
    pub fn url(&self, target: u64) -> String {
        format!("http://127.1.{}.{}:{}/hook", target / 250, target % 250 + 1, self.port)
    }
}

async fn answer(mut stream: TcpStream) {
    let net = stream.local_addr().map_or(0, net);
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::with_capacity(4096);
    loop {
        match stream.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        while let Some(end) = whole_request(&buffer) {
            buffer.drain(..end);
            if net == SLOW {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            if net != HANGING && stream.write_all(ANSWER).await.is_err() {
                return;
            }
        }
    }
}

fn net(address: SocketAddr) -> u8 {
    match address.ip() {
        IpAddr::V4(ip) => ip.octets()[1],
        IpAddr::V6(_) => 0,
    }
}

/// The end of the first request in the buffer; `None` if it is incomplete.
fn whole_request(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&buffer[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let end = head + length.unwrap_or(0);
    (buffer.len() >= end).then_some(end)
}
