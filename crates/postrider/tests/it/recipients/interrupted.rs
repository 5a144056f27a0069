//! Rules G1 and M9: a mail whose recipients need more time than a call of the relay has costs no attempt.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::{final_row, installed, without_results};
use crate::support::database::{self, Kind};
use crate::support::installation::Installation;

/// Time that the relay needs for one recipient.
const PER_RECIPIENT: Duration = Duration::from_millis(150);

/// A relay that accepts one recipient per transaction, slowly.
#[derive(Clone, Default)]
struct OneAtATime {
    accepted: Arc<Mutex<Vec<String>>>,
}

impl OneAtATime {
    async fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let relay = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let relay = relay.clone();
                // A worker that stops closes its connections.
                tokio::spawn(async move { relay.serve(stream).await.ok() });
            }
        });
        address
    }

    async fn serve(self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let (mut to, mut in_text) = (None, false);
        stream.write_all(b"220 relay.test\r\n").await?;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let line = line.trim_end();
            let answer = match line {
                "." if in_text => {
                    in_text = false;
                    tokio::time::sleep(PER_RECIPIENT).await;
                    self.accepted.lock().expect("no panic").extend(to.take());
                    "250 2.0.0 ok"
                }
                _ if in_text => continue,
                "DATA" => {
                    in_text = true;
                    "354 go"
                }
                "RSET" => {
                    to = None;
                    "250 ok"
                }
                _ => match line.strip_prefix("RCPT TO:<").and_then(|rest| rest.split('>').next()) {
                    Some(_) if to.is_some() => "452 4.5.3 too many recipients",
                    Some(address) => {
                        to = Some(address.to_owned());
                        "250 ok"
                    }
                    None => "250 ok",
                },
            };
            stream.write_all(format!("{answer}\r\n").as_bytes()).await?;
        }
    }
}

/// A lane with a single attempt per row, and with time for about four recipients per call.
async fn in_short_calls(kind: Kind, name: &str, own_column: bool) {
    let mut installation = Installation::new();
    let (url, sql) = database::fresh(kind, name, &installation.sandbox).await;
    let relay = OneAtATime::default();
    let address = relay.start().await;
    let more = "attempts.max = 1\ntimeout = \"800ms\"\n";
    if own_column {
        installed(&installation, &url, &address, more);
    } else {
        without_results(&installation, &url, &sql, &address, more).await;
    }
    let expected: Vec<String> = (0..12).map(|number| format!("user{number:02}@example.org")).collect();
    let mut words = vec!["send", "mail", "--subject", "many", "--text", "hi"];
    words.extend(expected.iter().flat_map(|address| ["--to", address]));
    let id = installation.sandbox.run(&words).success().stdout.trim().to_owned();
    let worker = installation.start_worker();
    assert_eq!(final_row(&sql, &id).await, ("sent".into(), "0".into(), String::new()));
    installation.stop(worker).await;
    let mut accepted = relay.accepted.lock().expect("no panic").clone();
    accepted.sort();
    assert_eq!(accepted, expected, "every recipient has it once");
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_calls_that_end_between_recipients_cost_no_attempt() {
    in_short_calls(Kind::Sqlite, "short", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_calls_that_end_between_recipients_cost_no_attempt_without_a_results_column_on_sqlite() {
    in_short_calls(Kind::Sqlite, "shorter", false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_calls_that_end_between_recipients_cost_no_attempt_without_a_results_column_on_postgres() {
    in_short_calls(Kind::Postgres, "shorter", false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_calls_that_end_between_recipients_cost_no_attempt_without_a_results_column_on_mariadb() {
    in_short_calls(Kind::MariaDb, "shorter", false).await;
}
