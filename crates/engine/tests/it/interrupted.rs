//! Rules G1 and M9: a mail that the end of a call interrupts between two recipients costs no attempt, if the store
//! records who has it.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::row::Detail;
use postrider_seams::{Failure, Outcome, Receipt, Value};
use postrider_store_memory::MemoryTable;

use crate::fixtures::{Scripted, count, fill, int, start, text, until};

const MINUTE: Duration = Duration::from_mins(1);
const RESULTS: &str = "recipient_results";
const FIRST: &str = r#"[{"address":"a@x","result":"accepted"},{"address":"b@x","result":"deferred"}]"#;
const SERVED: &str = r#"[{"address":"a@x","result":"accepted"}]"#;

fn failure(recipients: &str, accepted_now: bool) -> Failure {
    let detail = Detail::from([("recipients".to_owned(), Value::Text(recipients.to_owned()))]);
    let after = Some(Duration::from_secs(1));
    Failure {
        partly_accepted: true,
        accepted_now,
        after,
        detail,
        ..Failure::new("no time left in this call")
    }
}

/// The recorded results at each try of row 1, and the attempts in the end. It is interrupted after a recipient, then not
/// tried at all, then delivered.
async fn tries(table: &Arc<MemoryTable>) -> (Vec<Option<String>>, Option<i64>) {
    fill(table, 1);
    let recorded: Arc<Mutex<Vec<_>>> = Arc::default();
    let (at, seen, calls) = (Arc::clone(table), Arc::clone(&recorded), AtomicUsize::new(0));
    let transport = Arc::new(Scripted::new(move |_| {
        seen.lock().expect("no panic").push(text(&at, 1, RESULTS));
        match calls.fetch_add(1, SeqCst) {
            0 => Outcome::Deferred(failure(FIRST, true)),
            1 => Outcome::Deferred(failure(SERVED, false)),
            _ => Outcome::Delivered(Receipt::default()),
        }
    }));
    let _engine = start(table, &transport);
    until("sent", MINUTE * 10, || count(table, "sent") == 1).await;
    let recorded = recorded.lock().expect("no panic").clone();
    (recorded, int(table, 1, "retry_count"))
}

#[tokio::test(start_paused = true)]
async fn g01_m09_an_interrupted_mail_costs_nothing_and_its_results_are_recorded() {
    let (recorded, attempts) = tries(&crate::fixtures::table()).await;
    let first = Some(FIRST.to_owned());
    assert_eq!(recorded, [None, first.clone(), first], "a deferral of an untried row changes no results");
    assert_eq!(attempts, Some(0));
}

/// A contract that writes the results only on failures.
#[tokio::test(start_paused = true)]
async fn m09_without_results_on_a_deferral_an_interrupted_mail_counts_as_an_attempt() {
    let text = Contract::builtin("mail_outbox").expect("a built-in");
    let lines = text.lines().filter(|line| !line.starts_with("deferred.\"recipient_results?\""));
    let text = lines.collect::<Vec<_>>().join("\n");
    let contract = Contract::parse("own.toml", &text).expect("a valid contract");
    let (recorded, attempts) = tries(&MemoryTable::new(contract)).await;
    assert_eq!(recorded[..2], [None, Some(FIRST.to_owned())]);
    assert_eq!(attempts, Some(1));
}
