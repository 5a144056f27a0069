//! An SMTP relay that takes its time for each mail, and counts how often it accepted it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Counts a mail before it waits and answers.
#[derive(Clone, Default)]
pub struct SlowRelay {
    /// The delay per mail in milliseconds.
    pub delay_millis: Arc<AtomicU64>,
    /// Mails by subject.
    pub accepted: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl SlowRelay {
    /// Starts listening; returns the address.
    pub async fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let slow = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let slow = slow.clone();
                tokio::spawn(async move { slow.serve(stream).await });
            }
        });
        address
    }

    /// Serves a connection without PIPELINING: one command, one reply.
    async fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let (read, mut write) = stream.split();
        let mut lines = BufReader::new(read).lines();
        write.write_all(b"220 slow\r\n").await.ok()?;
        while let Some(line) = lines.next_line().await.ok()? {
            let answer: &[u8] = match line.get(..4).unwrap_or_default() {
                "QUIT" => return None,
                "DATA" => {
                    write.write_all(b"354 go\r\n").await.ok()?;
                    let mut subject = String::new();
                    loop {
                        let line = lines.next_line().await.ok()??;
                        if let Some(found) = line.strip_prefix("Subject: ") {
                            found.clone_into(&mut subject);
                        }
                        if line == "." {
                            break;
                        }
                    }
                    *self.accepted.lock().unwrap().entry(subject).or_default() += 1;
                    tokio::time::sleep(Duration::from_millis(self.delay_millis.load(SeqCst))).await;
                    b"250 ok\r\n"
                }
                _ => b"250 ok\r\n",
            };
            write.write_all(answer).await.ok()?;
        }
        Some(())
    }

    /// The number of mails accepted so far.
    pub fn total(&self) -> usize {
        self.accepted.lock().unwrap().values().sum()
    }
}
