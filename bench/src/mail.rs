//! Measures mails/s of 2 KB to `smtp-sink`, compared with Postfix's `smtp-source` with as many connections.

use std::collections::BTreeMap;
use std::sync::Arc;

use postrider_composers::EmailComposer;
use postrider_composers::email::Settings;
use postrider_contract::Contract;
use postrider_mail::Signer;
use postrider_seams::{Composer, Store, Value};
use postrider_store_memory::{MemoryStore, MemoryTable};
use postrider_transport_smtp::{Smtp, Tls};
use tokio::time::Instant;

use crate::lane::{contract, drain, lane, limits, rate};
use crate::report::{Figure, Report, median};
use crate::servers::{BenchTable, SUBJECT, variable};

const BATCH: u32 = 500;

/// About 2 KB with the headers, in lines of usual length.
pub fn body() -> String {
    "The quick brown fox jumps over the lazy dog while the rain falls.\r\n".repeat(25)
}

/// Measures both with this many mails and connections.
pub async fn run(report: Report, rounds: usize, rows: u64, connections: usize) {
    let sink = variable("POSTRIDER_TEST_SMTP_SINK");
    let contract = contract(BATCH);
    let table = BenchTable::postgres(&contract).await;
    let (mut source, mut memory, mut postgres, mut signed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        Report::progress(&format!(
            "round {round} of {rounds}, {rows} mails each over {connections} connections"
        ));
        source.push(smtp_source(&sink, rows, connections).await);
        memory.push(send(&contract, filled(&contract, rows), plain(), &sink, connections, rows).await);
        table.fill(rows, &body()).await;
        postgres.push(send(&contract, table.store(&contract).await, plain(), &sink, connections, rows).await);
        signed.push(send(&contract, filled(&contract, rows), dkim(), &sink, connections, rows).await);
    }
    let source = median(&mut source);
    report.print(&Figure::new("mail", "smtp-source", source, "mails/s"));
    for (case, figures) in [
        ("from memory", &mut memory),
        ("from postgres", &mut postgres),
        ("from memory, DKIM (Ed25519)", &mut signed),
    ] {
        report.print(
            &Figure::new("mail", case, median(figures), "mails/s").compared_with("smtp-source", source),
        );
    }
}

/// Runs Postfix's load generator; returns mails per second.
pub async fn smtp_source(sink: &str, mails: u64, connections: usize) -> f64 {
    let started = Instant::now();
    let output = tokio::process::Command::new("smtp-source")
        .args(["-d", "-l", "2048", "-f", "from@example.org", "-t", "to@example.org"])
        .args(["-s", &connections.to_string(), "-m", &mails.to_string(), sink])
        .env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()))
        .output()
        .await
        .expect("smtp-source comes with Postfix");
    assert!(output.status.success(), "smtp-source failed: {}", String::from_utf8_lossy(&output.stderr));
    rate(mails, started.elapsed())
}

fn filled(contract: &Contract, rows: u64) -> Arc<dyn Store> {
    let table = MemoryTable::new(contract.clone());
    let body = body();
    for id in 1..=i64::try_from(rows).expect("a bench has fewer rows than that") {
        let text = |text: &str| Value::Text(text.to_owned());
        table.insert(BTreeMap::from([
            ("id".to_owned(), Value::Int(id)),
            ("status".to_owned(), text("queued")),
            ("retry_count".to_owned(), Value::Int(0)),
            ("next_attempt_at".to_owned(), Value::Int(table.now())),
            ("to_addresses".to_owned(), text("to@example.org")),
            ("from_address".to_owned(), text("from@example.org")),
            ("subject".to_owned(), text(SUBJECT)),
            ("body_text".to_owned(), text(&body)),
        ]));
    }
    MemoryStore::open(&table, 0, "bench")
}

/// A composer that does not sign.
pub fn plain() -> Arc<dyn Composer> {
    Arc::new(EmailComposer::new(Settings::new("bench")))
}

fn dkim() -> Arc<dyn Composer> {
    let mut settings = Settings::new("bench");
    // The key of the signing tests is sufficient: these mails are not verified.
    let key = include_str!("../../crates/mail/tests/dkim/ed25519.pem");
    settings.signers = vec![Signer::new("example.org", "bench", key).expect("a valid key")];
    Arc::new(EmailComposer::new(settings))
}

/// Sends the rows of a store through the engine; returns mails per second.
pub async fn send(
    contract: &Contract,
    store: Arc<dyn Store>,
    composer: Arc<dyn Composer>,
    sink: &str,
    connections: usize,
    rows: u64,
) -> f64 {
    let (host, port) = sink.split_once(':').expect("host:port");
    let mut settings = postrider_transport_smtp::Settings::new(host, Tls::None);
    settings.port = port.parse().expect("a port");
    settings.connections = connections;
    let smtp = Smtp::new(settings).expect("settings are right");
    let mut limits = limits(BATCH);
    limits.concurrency = connections;
    drain(lane(contract, store, composer, Arc::new(smtp), limits), rows).await
}
