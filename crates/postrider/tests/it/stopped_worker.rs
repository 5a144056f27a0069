//! A worker that is stopped (SIGSTOP) longer than its leases, while another delivers its rows.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::sandbox::Sandbox;
use crate::support::database::{Kind, fresh};
use crate::support::sql::Cell;
use crate::support::wait::wait_until;

const ROWS: u64 = 120;
const CONNECTIONS: usize = 2;
const TIMEOUT: Duration = Duration::from_mins(2);

/// A relay that accepts each mail slowly, and counts how often it did.
#[derive(Clone, Default)]
struct SlowRelay {
    /// The delay per mail in milliseconds.
    delay_millis: Arc<AtomicU64>,
    accepted: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl SlowRelay {
    async fn start(&self) -> SocketAddr {
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

    fn total(&self) -> usize {
        self.accepted.lock().unwrap().values().sum()
    }
}

/// Mails that the stopped worker's transport had not begun to send are not sent after the worker continues.
#[tokio::test(flavor = "multi_thread")]
async fn j_a_stopped_worker_sends_nothing_that_another_worker_has_sent() {
    let slow = SlowRelay::default();
    let relay = slow.start().await;
    let sandbox = Sandbox::new(None);
    let (url, sql) = fresh(Kind::Postgres, "stopped", &sandbox).await;
    let settings = format!(
        "[stores.main]\nurl = \"{url}\"\n\
         [transports.relay]\nurl = \"smtp://{relay}?tls=none\"\nconnections = {CONNECTIONS}\nbatch = 20\n\
         [mail]\nfrom = \"shop@example.com\"\n\
         [lanes.mail]\ncontract = \"mail_outbox\"\npoll = \"100ms\"\nsweep = \"200ms\"\n\
         [lanes.mail.lease]\nfor = \"4s\"\n"
    );
    std::fs::write(sandbox.path("postrider.toml"), settings).unwrap();
    sandbox.run(&["migrate"]).success();
    for number in 0..ROWS {
        let subject = format!("mail {number}");
        let cells = [
            ("to_addresses", Cell::from("ann@example.org")),
            ("subject", Cell::from(subject.as_str())),
            ("body_text", Cell::from("hello")),
            ("status", Cell::from("queued")),
            ("retry_count", Cell::Sql("0".to_owned())),
            ("next_attempt_at", Cell::Sql("now()".to_owned())),
        ];
        sql.insert("mail_outbox", &cells).await;
    }
    let stopped = sandbox.start_with_log("stopped.log");
    // Fast at first, so that call sizes grow; then slow, so that many mails of a call are left when the
    // worker is stopped.
    wait_until("calls have grown", TIMEOUT, || async { (slow.total() >= 40).then_some(()) }).await;
    slow.delay_millis.store(500, SeqCst);
    tokio::time::sleep(Duration::from_millis(700)).await;
    stopped.signal(Signal::STOP);
    let begun = slow.total();
    assert!(begun < 100, "it was stopped in the middle of the run: {begun}");
    tokio::time::sleep(Duration::from_secs(5)).await;
    slow.delay_millis.store(0, SeqCst);

    let other = sandbox.start_with_log("other.log");
    wait_until("another worker sends all", TIMEOUT, || async {
        (sql.count("mail_outbox WHERE status = 'sent'").await == Some(ROWS)).then_some(())
    })
    .await;
    let before = slow.total();
    stopped.signal(Signal::CONT);
    tokio::time::sleep(Duration::from_secs(6)).await;
    let late = slow.total() - before;
    assert!(late <= CONNECTIONS, "{late} mails were sent by a worker that had lost them:\n{}", stopped.log());
    assert_eq!(slow.accepted.lock().unwrap().len(), usize::try_from(ROWS).unwrap());
    drop(other);
}
