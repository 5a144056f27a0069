//! A worker that is stopped (SIGSTOP) longer than its leases, while another delivers its rows.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use rustix::process::Signal;

use crate::sandbox::Sandbox;
use crate::support::database::{Kind, fresh};
use crate::support::slow_relay::SlowRelay;
use crate::support::sql::Cell;
use crate::support::wait::wait_until;

const ROWS: u64 = 120;
const CONNECTIONS: usize = 2;
const TIMEOUT: Duration = Duration::from_mins(2);

/// Mails that the stopped worker's transport had not begun to send are not sent after the worker continues.
#[tokio::test(flavor = "multi_thread")]
async fn g02_a_stopped_worker_sends_nothing_that_another_worker_has_sent() {
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
