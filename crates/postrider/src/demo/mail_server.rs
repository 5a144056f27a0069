//! The demo's mail server, on loopback: accepts mails, refuses some temporarily and some permanently, and keeps a
//! journal of those that it accepted.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// Delay of each reply to a mail, as real servers have, so that the killed worker holds rows.
const REPLY_DELAY: Duration = Duration::from_millis(15);

/// The mails that the server accepted and refused.
#[derive(Default)]
struct Journal {
    /// Address → the Message-ID of every mail to it that was accepted.
    accepted: HashMap<String, Vec<String>>,
    /// Address → number of temporary refusals.
    refused: HashMap<String, u64>,
}

/// The running server; its tasks end with the process.
pub struct MailServer {
    port: u16,
    journal: Arc<Mutex<Journal>>,
}

impl MailServer {
    /// Starts the server on a free port.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let journal = Arc::<Mutex<Journal>>::default();
        let shared = Arc::clone(&journal);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Session::new(stream, Arc::clone(&shared)).serve());
            }
        });
        Ok(Self { port, journal })
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The number of mails accepted so far, duplicates included.
    pub fn accepted(&self) -> u64 {
        self.with_journal(|journal| journal.accepted.values().map(|mails| mails.len() as u64).sum())
    }

    /// Address → the Message-ID of every mail that it received.
    pub fn journal(&self) -> HashMap<String, Vec<String>> {
        self.with_journal(|journal| journal.accepted.clone())
    }

    fn with_journal<T>(&self, read: impl FnOnce(&Journal) -> T) -> T {
        read(&self.journal.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One connection.
struct Session {
    lines: BufReader<OwnedReadHalf>,
    out: OwnedWriteHalf,
    journal: Arc<Mutex<Journal>>,
    /// Recipients of the current mail.
    to: Vec<String>,
}

impl Session {
    fn new(stream: TcpStream, journal: Arc<Mutex<Journal>>) -> Self {
        // With Nagle's algorithm a reply may wait for the acknowledgement of the previous one.
        let _ = stream.set_nodelay(true);
        let (read, out) = stream.into_split();
        Self { lines: BufReader::new(read), out, journal, to: Vec::new() }
    }

    /// Replies until the client sends QUIT or disconnects, as killed workers do.
    async fn serve(mut self) {
        let _ = self.run().await;
    }

    async fn run(&mut self) -> io::Result<()> {
        self.reply("220 demo.example ESMTP").await?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let command = line.trim_end();
            let verb = command.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
            match verb.as_str() {
                "EHLO" => {
                    self.reply(
                        "250-demo.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES",
                    )
                    .await?;
                }
                "HELO" | "NOOP" => self.reply("250 2.0.0 fine").await?,
                "MAIL" | "RSET" => {
                    self.to.clear();
                    self.reply("250 2.0.0 fine").await?;
                }
                "RCPT" => self.recipient(command).await?,
                "DATA" => self.data().await?,
                "QUIT" => return self.reply("221 2.0.0 bye").await,
                _ => self.reply("502 5.5.1 not known here").await?,
            }
        }
    }

    async fn reply(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(format!("{text}\r\n").as_bytes()).await
    }

    async fn recipient(&mut self, command: &str) -> io::Result<()> {
        let address = command.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
        let answer = self.reply_for(&address);
        if answer.starts_with('2') {
            self.to.push(address);
        }
        self.reply(answer).await
    }

    /// Chooses the reply by the address.
    fn reply_for(&self, address: &str) -> &'static str {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        if address.starts_with("nobody") {
            return "550 5.1.1 no such mailbox";
        }
        let full = address.starts_with("full");
        let refusals = journal.refused.entry(address.to_owned()).or_default();
        if full || (address.starts_with("later") && *refusals == 0) {
            *refusals += 1;
            return if full { "452 4.2.2 mailbox full" } else { "450 4.2.1 mailbox busy, try again" };
        }
        "250 2.1.5 fine"
    }

    async fn data(&mut self) -> io::Result<()> {
        if self.to.is_empty() {
            return self.reply("554 5.5.1 no valid recipients").await;
        }
        self.reply("354 go on").await?;
        let mut message_id = String::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.lines.read_until(b'\n', &mut line).await? == 0 {
                return Ok(());
            }
            if line == b".\r\n" {
                break;
            }
            if let Some(id) = line.strip_prefix(b"Message-ID: ") {
                message_id = String::from_utf8_lossy(id).trim().to_owned();
            }
        }
        tokio::time::sleep(REPLY_DELAY).await;
        let accepted = std::mem::take(&mut self.to);
        {
            let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            for address in accepted {
                journal.accepted.entry(address).or_default().push(message_id.clone());
            }
        }
        self.reply("250 2.0.0 accepted").await
    }
}
