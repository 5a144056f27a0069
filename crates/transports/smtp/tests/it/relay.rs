//! A fake relay that plays a script: one list of acts per connection, in the order in which connections arrive.
//!
//! A script that is not followed exactly fails the test that owns it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

pub const HELLO: &str =
    "250-relay.test\r\n250-PIPELINING\r\n250-SIZE 100000\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n";
pub const BARE_HELLO: &str = "250 relay.test\r\n";
pub const TEXT: &str = "Subject: hi\r\n\r\nhello\r\n.\r\n";

#[derive(Debug, Clone)]
pub enum Act {
    /// Sends exactly these bytes.
    Say(String),
    /// Expects exactly this line.
    Hear(String),
    /// Expects a line with this prefix.
    HearPrefix(&'static str),
    /// Expects exactly these bytes.
    HearBytes(Vec<u8>),
    /// Expects this many bytes.
    HearSome(usize),
    /// Expects the client to close.
    HearEnd,
    /// Starts TLS.
    Secure,
    /// Keeps the connection open and sends nothing.
    Hang,
}

pub fn say(text: &str) -> Act {
    Act::Say(format!("{text}\r\n"))
}

pub fn hear(line: &str) -> Act {
    Act::Hear(line.to_owned())
}

/// Returns the greeting and EHLO of a relay with PIPELINING.
pub fn hello() -> Vec<Act> {
    vec![say("220 relay.test"), Act::HearPrefix("EHLO "), Act::Say(HELLO.to_owned())]
}

/// Expects the commands of a mail to one recipient up to DATA, before any reply.
pub fn commands(to: &str) -> Vec<Act> {
    vec![hear("MAIL FROM:<a@x.test> SIZE=22"), hear(&format!("RCPT TO:<{to}>")), hear("DATA")]
}

pub fn text() -> Act {
    Act::HearBytes(TEXT.as_bytes().to_vec())
}

/// Joins lists of acts.
pub fn script(parts: impl IntoIterator<Item = Vec<Act>>) -> Vec<Act> {
    parts.into_iter().flatten().collect()
}

pub struct Relay {
    pub port: u16,
    task: JoinHandle<()>,
    seen: Arc<Mutex<usize>>,
}

impl Relay {
    pub async fn play(scripts: Vec<Vec<Act>>) -> Self {
        Self::play_with(scripts, None).await
    }

    pub async fn play_with(scripts: Vec<Vec<Act>>, acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(0));
        let count = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let mut playing = Vec::new();
            for script in scripts {
                let (stream, _) = listener.accept().await.unwrap();
                *count.lock().unwrap() += 1;
                playing.push(tokio::spawn(perform(stream, script, acceptor.clone())));
            }
            for play in playing {
                play.await.unwrap();
            }
        });
        Self { port, task, seen }
    }

    pub fn connections(&self) -> usize {
        *self.seen.lock().unwrap()
    }

    /// Asserts that every script was played to its end.
    pub async fn finish(self) {
        tokio::time::timeout(Duration::from_secs(5), self.task)
            .await
            .expect("the relay's script was not played to its end")
            .expect("the client left the relay's script");
    }
}

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

async fn perform(stream: TcpStream, script: Vec<Act>, acceptor: Option<TlsAcceptor>) {
    let mut stream: BufReader<Box<dyn Io>> = BufReader::new(Box::new(stream));
    for act in script {
        match act {
            Act::Say(text) => stream.write_all(text.as_bytes()).await.unwrap(),
            Act::Hear(expected) => assert_eq!(line(&mut stream).await, expected),
            Act::HearPrefix(prefix) => {
                let line = line(&mut stream).await;
                assert!(line.starts_with(prefix), "expected {prefix}…, heard {line}");
            }
            Act::HearBytes(expected) => {
                let mut got = vec![0; expected.len()];
                stream.read_exact(&mut got).await.unwrap();
                assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(&expected));
            }
            Act::HearSome(count) => {
                stream.read_exact(&mut vec![0; count]).await.unwrap();
            }
            Act::HearEnd => {
                let mut rest = Vec::new();
                // A reset counts as an end too.
                let _ = stream.read_to_end(&mut rest).await;
                assert_eq!(String::from_utf8_lossy(&rest), "", "the client should have closed");
            }
            Act::Secure => {
                let acceptor = acceptor.clone().expect("the test gives a certificate");
                // A client that does not trust us ends the handshake, and with it the script.
                let Ok(secured) = acceptor.accept(stream.into_inner()).await else { return };
                stream = BufReader::new(Box::new(secured));
            }
            Act::Hang => tokio::time::sleep(Duration::from_secs(3)).await,
        }
    }
    let _ = stream.shutdown().await;
}

async fn line(stream: &mut BufReader<Box<dyn Io>>) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    let whole = line.strip_suffix("\r\n");
    whole.unwrap_or_else(|| panic!("a line without CR LF: {line:?}")).to_owned()
}
