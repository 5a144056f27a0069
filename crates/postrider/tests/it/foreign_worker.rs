//! M1: another worker that runs the specification's SQL shares the table with ours, and no mail is sent twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::database::{Kind, fresh};
use crate::support::installation::Installation;
use crate::support::relay::Relay;
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};

/// The claim of the specification, which does not know our columns.
const CLAIM: &str = "
WITH candidates AS (
  SELECT id
  FROM mail_outbox
  WHERE status = 'queued'
    AND next_attempt_at <= NOW()
    AND retry_count < 5
  ORDER BY next_attempt_at ASC, id ASC
  LIMIT 20
  FOR UPDATE SKIP LOCKED
)
UPDATE mail_outbox
SET status = 'dispatching',
    last_attempt_at = NOW()
FROM candidates
WHERE mail_outbox.id = candidates.id
RETURNING mail_outbox.id::text, mail_outbox.subject";

const ROWS: u32 = 900;

#[tokio::test(flavor = "multi_thread")]
async fn m01_a_foreign_worker_with_the_specifications_sql_is_safe_with_three_of_ours() {
    let mut installation = Installation::new();
    let (url, sql) = fresh(Kind::Postgres, "foreign", &installation.sandbox).await;
    let relay = Relay::shared();
    // Reclaim often and retry soon, so that the other worker also claims rows that ours handed back.
    installation.write_settings(&format!(
        "[stores.main]\nurl = \"{url}\"\n\
         [transports.relay]\nurl = \"smtp://{}\"\nconnections = 2\n\
         [lanes.mail_outbox]\ncontract = \"mail_outbox\"\nbatch = 20\nheld = 40\npoll = \"100ms\"\nsweep = \"200ms\"\n\
         lease.for = \"5s\"\nretry.base = \"1s\"\nretry.cap = \"1s\"\nretry.jitter = 0.0\n",
        relay.address
    ));
    installation.sandbox.run(&["migrate"]).success();
    let mark = format!("foreign-{:08x}", rand::random::<u32>());
    write(&sql, &mark).await;

    let done = Arc::new(AtomicBool::new(false));
    let sent = Arc::new(Mutex::new(BTreeMap::new()));
    let foreign = tokio::spawn(foreign_worker(sql.clone(), Arc::clone(&sent), Arc::clone(&done)));
    let workers: Vec<_> = (0..3).map(|_| installation.start_worker()).collect();
    wait_until("every row is sent", TIMEOUT, || async {
        (sql.count("mail_outbox WHERE status <> 'sent'").await? == 0).then_some(())
    })
    .await;
    done.store(true, Ordering::Relaxed);
    foreign.await.expect("the foreign worker has no trouble");
    for worker in workers {
        installation.stop(worker).await;
    }

    let mut deliveries = sent.lock().expect("no panic holds it").clone();
    let theirs = deliveries.len();
    for entry in relay.accepted(&mark) {
        *deliveries.entry(entry.subject).or_insert(0) += 1;
    }
    assert_eq!(deliveries.len(), ROWS as usize, "every row was delivered");
    let twice: Vec<_> = deliveries.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "delivered more than once: {twice:?}");
    assert!(theirs > 0 && theirs < ROWS as usize, "both took part: {theirs} of {ROWS} were theirs");
}

/// Inserts rows of which half fail at their first attempt by our worker.
async fn write(sql: &Sql, mark: &str) {
    let rows: Vec<String> = (0..ROWS)
        .map(|number| {
            let script = if number % 2 == 0 { "once-450-" } else { "slow-0.02-" };
            format!(
                "('app@example.org', '{script}{mark}-{number}@example.net', '{mark} {number:04}', 'Hello.')"
            )
        })
        .collect();
    let rows = rows.join(", ");
    sql.must(&format!(
        "INSERT INTO mail_outbox (from_address, to_addresses, subject, body_text) VALUES {rows}"
    ))
    .await;
}

/// Claims, delivers slowly, and marks rows as sent by key, exactly as the specification requires.
async fn foreign_worker(sql: Sql, sent: Arc<Mutex<BTreeMap<String, u32>>>, done: Arc<AtomicBool>) {
    while !done.load(Ordering::Relaxed) {
        let rows = sql.rows(CLAIM).await.expect("the specification's claim");
        tokio::time::sleep(Duration::from_millis(400)).await;
        let mut ids = Vec::new();
        let claimed = rows.len() as u64;
        for row in rows {
            let [Some(id), Some(subject)] = row.as_slice() else { panic!("id and subject are never NULL") };
            *sent.lock().expect("no panic holds it").entry(subject.clone()).or_insert(0) += 1;
            ids.push(id.clone());
        }
        if !ids.is_empty() {
            let ids = ids.join(", ");
            let moved = sql
                .must(&format!(
                    "UPDATE mail_outbox SET status = 'sent', last_error = NULL \
                     WHERE status = 'dispatching' AND id IN ({ids})"
                ))
                .await;
            assert_eq!(moved, claimed, "no worker claimed a row of the foreign worker");
        }
    }
}
