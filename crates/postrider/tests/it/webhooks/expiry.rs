//! J7: expired jobs are not sent, on each database, by the real binary.

use crate::support::database::{Kind, fresh};
use crate::support::installation::Installation;
use crate::support::sql::{Cell, Sql};
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::{Reply, WebhookReceiver};

fn time(sql: &Sql, seconds: i64) -> Cell {
    Cell::Sql(match sql {
        Sql::Postgres(_) => format!("now() + interval '{seconds} seconds'"),
        Sql::MariaDb(_) => format!("UTC_TIMESTAMP(6) + INTERVAL {seconds} SECOND"),
        Sql::Sqlite(_) => format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '{seconds} seconds')"),
    })
}

async fn insert_job(sql: &Sql, id: &str, url: &str, more: Vec<(&str, Cell)>) {
    let mut cells: Vec<(&str, Cell)> = vec![
        ("id", id.into()),
        ("code", "shop:orders:order:created".into()),
        ("target_url", url.into()),
        ("payload", "{}".into()),
    ];
    cells.extend(more);
    sql.insert("dispatch_jobs", &cells).await;
}

async fn wait_for(sql: &Sql, id: &str, condition: &str) {
    wait_until(&format!("{id}: {condition}"), TIMEOUT, || async {
        (sql.count(&format!("dispatch_jobs WHERE id = '{id}' AND {condition}")).await == Some(1))
            .then_some(())
    })
    .await;
}

/// The lane claims every 50 ms and sweeps every ten minutes: only the claim can hold back an expired job.
async fn expired_jobs_are_not_sent(kind: Kind) {
    let receiver = WebhookReceiver::start(|_, _| Reply::status(200)).await;
    let mut installation = Installation::new();
    let (url, sql) = fresh(kind, "expiry", &installation.sandbox).await;
    let settings = |every: &str| {
        format!(
            "[stores.main]\nurl = \"{url}\"\n[transports.hooks]\nurl = \"webhook://\"\nallow = \"127.0.0.0/8\"\n\
             [lanes.jobs]\ncontract = \"dispatch_jobs\"\npoll = \"50ms\"\n[lanes.jobs.sweep.expire]\nevery = \"{every}\"\n"
        )
    };
    installation.write_settings(&settings("10m"));
    installation.sandbox.run(&["migrate"]).success();
    let worker = installation.start_worker();
    wait_until("the lane runs", TIMEOUT, || async { (worker.health().1 == "running").then_some(()) }).await;
    let hook = receiver.url("hook");
    let past = || vec![("expires_at", time(&sql, -1))];
    // Insert them one by one, each before a job that is sent, so that a single sweep cannot find them all.
    for n in 1..=5 {
        insert_job(&sql, &format!("EXPIRED{n:06}"), &hook, past()).await;
        let later = format!("LATER{n:08}");
        insert_job(&sql, &later, &hook, vec![("expires_at", time(&sql, 3600))]).await;
        wait_for(&sql, &later, "status = 'COMPLETED'").await;
    }
    let group = |sequence: &str| -> Vec<(&str, Cell)> {
        vec![
            ("message_group", "g".into()),
            ("mode", "BLOCK_ON_ERROR".into()),
            ("sequence", Cell::Sql(sequence.to_owned())),
        ]
    };
    insert_job(&sql, "EXPIREDHEAD01", &hook, [group("1"), past()].concat()).await;
    insert_job(&sql, "BEHINDIT00001", &hook, group("2")).await;
    installation.kill(worker);
    installation.write_settings(&settings("1s"));
    let worker = installation.start_worker();
    let over = "status = 'ERROR' AND next_attempt_at IS NULL AND attempt_count = 0 AND last_error = 'expired before delivery'";
    for n in 1..=5 {
        wait_for(&sql, &format!("EXPIRED{n:06}"), over).await;
    }
    wait_for(&sql, "EXPIREDHEAD01", over).await;
    wait_for(&sql, "BEHINDIT00001", "status = 'COMPLETED'").await;
    // Scheduled: it has no place in its group before its time.
    let later = vec![("status", "PENDING".into()), ("scheduled_for", time(&sql, 3600))];
    insert_job(&sql, "PENDINGHEAD01", &hook, [group("3"), later].concat()).await;
    insert_job(&sql, "BEHINDIT00002", &hook, group("4")).await;
    wait_for(&sql, "BEHINDIT00002", "status = 'COMPLETED'").await;
    wait_for(&sql, "PENDINGHEAD01", "status = 'PENDING' AND attempt_count = 0").await;
    // Scheduled, and expired before its time; and waiting for its next attempt.
    let pending = vec![
        ("status", "PENDING".into()),
        ("scheduled_for", time(&sql, 3600)),
        ("expires_at", time(&sql, -1)),
    ];
    insert_job(&sql, "EXPIRED000012", &hook, pending).await;
    let retrying = vec![
        ("status", "ERROR".into()),
        ("attempt_count", Cell::Sql("1".to_owned())),
        ("next_attempt_at", time(&sql, 3600)),
        ("expires_at", time(&sql, -1)),
    ];
    insert_job(&sql, "EXPIRED000013", &hook, retrying).await;
    wait_for(&sql, "EXPIRED000012", over).await;
    wait_for(&sql, "EXPIRED000013", &over.replace("attempt_count = 0", "attempt_count = 1")).await;
    assert_eq!(receiver.journal().len(), 7, "those that had not expired, and nothing else");
    assert_eq!(sql.count("dispatch_attempts").await, Some(7));
    installation.stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn j07_expired_jobs_are_not_sent_on_postgres() {
    expired_jobs_are_not_sent(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn j07_expired_jobs_are_not_sent_on_mariadb() {
    expired_jobs_are_not_sent(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn j07_expired_jobs_are_not_sent_on_sqlite() {
    expired_jobs_are_not_sent(Kind::Sqlite).await;
}
