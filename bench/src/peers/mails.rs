//! Mails/s to `smtp-sink` from PostgreSQL, compared with the pool of nodemailer and with Postfix's `smtp-source`, which
//! send the same mail again and again. All use the same number of connections.

use postrider_contract::Contract;

use super::program::Program;
use crate::lane::rate;
use crate::mail;
use crate::report::{Figure, Report, median};
use crate::servers::{BenchTable, variable};

const CONNECTIONS: usize = 8;
const NODEMAILER: Program = Program::JavaScript(concat!(
    include_str!("../../peers/protocol.js"),
    include_str!("../../peers/nodemailer.js")
));

/// Measures all with this many mails.
pub async fn run(report: Report, rounds: usize, mails: u64, table: &BenchTable, contract: &Contract) {
    let sink = variable("POSTRIDER_TEST_SMTP_SINK");
    let (mut source, mut nodemailer, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        Report::progress(&format!("mails: round {round} of {rounds}, {mails} mails each"));
        source.push(mail::smtp_source(&sink, mails, CONNECTIONS).await);
        nodemailer.push(pool_of_nodemailer(&sink, mails).await);
        table.fill(mails, &mail::body()).await;
        let store = table.store(contract).await;
        ours.push(mail::send(contract, store, mail::plain(), &sink, CONNECTIONS, mails).await);
    }
    let (source, nodemailer, ours) = (median(&mut source), median(&mut nodemailer), median(&mut ours));
    let figure = |case: &str, value| Figure::new("peers", case, value, "mails/s");
    report.print(&figure("mails: smtp-source, from memory", source));
    report.print(&figure("mails: nodemailer's pool, from memory", nodemailer));
    for (name, other) in [("nodemailer", nodemailer), ("smtp-source", source)] {
        report.print(&figure("mails: Postrider, from PostgreSQL", ours).compared_with(name, other));
    }
}

async fn pool_of_nodemailer(relay: &str, mails: u64) -> f64 {
    let environment = [
        ("RELAY", relay.to_owned()),
        ("MAILS", mails.to_string()),
        ("CONNECTIONS", CONNECTIONS.to_string()),
        ("BODY", mail::body()),
    ];
    let mut running = NODEMAILER.start(1, &environment).await.begin().await;
    running.wait_for(mails).await;
    rate(mails, running.started.elapsed())
}
