//! Rows with an invalid time: they are reported, ended with a reason if they would wait forever, and never stay
//! claimed.

use postrider_contract::Transition;
use postrider_seams::inspect::{Inspect as _, Level};
use postrider_seams::store::{Reclaimed, Settlement, Store as _, SweepKind};

use crate::file::{File, claim, contract, settlement};

const MAIL: &str = "INSERT INTO mail_outbox (id, to_addresses, subject, status, next_attempt_at, created_at) VALUES \
    (1, 'a@example.org', 's', 'queued', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'), \
    (2, 'b@example.org', 's', 'queued', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')";
const OUTBOX: &str = "INSERT INTO outbox (id, topic, partition_key, payload, created_at) VALUES \
    (1, 't', 'k', '{}', '2026-01-01T00:00:00Z'), (2, 't', 'l', '{}', '2026-01-01T00:00:00Z')";
const JOBS: &str = "INSERT INTO dispatch_jobs (id, code, target_url, status) VALUES \
    ('1', 'c', 'http://localhost', 'QUEUED'), ('2', 'c', 'http://localhost', 'QUEUED')";
const NOTIFICATIONS: &str = "INSERT INTO open_event_notifications (notification_id, open_event_id, subscription_id, \
    dedupe_key, fanout_attempts) VALUES (1, 1, 1, 'a', 1), (2, 1, 2, 'b', 1)";
const EMAILS: &str = "INSERT INTO emails (id, status) VALUES ('1', 'READY'), ('2', 'READY')";

/// A contract, its rows, one of their time columns, and the final state of the row with an invalid time there.
struct Case {
    contract: &'static str,
    stage: &'static str,
    rows: &'static str,
    id: &'static str,
    time: &'static str,
    /// `state|error` of row 2 after it has ended.
    ends: &'static str,
    shown: &'static str,
}

const SHOWN_JOB: &str = "SELECT status || '|' || last_error FROM dispatch_jobs WHERE id = '2'";
const SHOWN_NOTE: &str = "SELECT fanout_status || '|' || json_extract(error, '$.message') FROM \
    open_event_notifications WHERE notification_id = 2";

const WAITING: [Case; 6] = [
    Case {
        contract: "mail_outbox",
        stage: "dispatch",
        rows: MAIL,
        id: "id",
        time: "next_attempt_at",
        ends: "failed|next_attempt_at holds a time that can't be read",
        shown: "SELECT status || '|' || last_error FROM mail_outbox WHERE id = 2",
    },
    Case {
        contract: "outbox",
        stage: "publish",
        rows: OUTBOX,
        id: "id",
        time: "created_at",
        ends: "FAILED|created_at holds a time that can't be read",
        shown: "SELECT status || '|' || last_error FROM outbox WHERE id = 2",
    },
    Case {
        contract: "dispatch_jobs",
        stage: "deliver",
        rows: JOBS,
        id: "id",
        time: "expires_at",
        ends: "ERROR|expires_at holds a time that can't be read",
        shown: SHOWN_JOB,
    },
    Case {
        contract: "dispatch_jobs",
        stage: "deliver",
        rows: JOBS,
        id: "id",
        time: "scheduled_for",
        ends: "ERROR|scheduled_for holds a time that can't be read",
        shown: SHOWN_JOB,
    },
    Case {
        contract: "open_event_notifications",
        stage: "notify",
        rows: NOTIFICATIONS,
        id: "notification_id",
        time: "last_attempt_at",
        ends: "failed|last_attempt_at holds a time that can't be read",
        shown: SHOWN_NOTE,
    },
    Case {
        contract: "open_event_notifications",
        stage: "notify",
        rows: NOTIFICATIONS,
        id: "notification_id",
        time: "created_at",
        ends: "failed|created_at holds a time that can't be read",
        shown: SHOWN_NOTE,
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn g05_a_row_that_would_wait_for_ever_is_reported_and_ended() {
    for case in WAITING {
        let Case { contract, stage, rows, id, time, ends, shown } = case;
        let file = File::new();
        let store = file.open(contract, stage).await;
        file.run(rows).await;
        file.run(&format!("UPDATE {contract} SET {time} = 'tomorrow-ish' WHERE {id} = 2")).await;
        let reported = store.unknown_states().await.expect("unknown states");
        let about =
            format!("1 of the newest 10000 rows of {contract} hold a time in {time} that can't be read");
        let reported = reported.iter().find(|text| text.starts_with(&about));
        assert!(reported.is_some_and(|text| text.contains("tomorrow-ish")), "{contract}: {reported:?}");
        let findings = store.verify().await.expect("verify");
        let warned = findings.iter().any(|one| one.level == Level::Warning && one.text.starts_with(&about));
        assert!(warned, "{contract}: {findings:?}");
        assert_eq!(claim(&store, 10).await.len(), 1, "{contract}: only the other row goes");
        assert_eq!(store.sweep(SweepKind::Exhausted, 10).await.expect("sweep"), 1, "{contract} {time}");
        assert_eq!(file.text(shown).await.as_deref(), Some(ends));
        assert_eq!(store.sweep(SweepKind::Exhausted, 10).await.expect("sweep"), 0, "{contract} {time}");
    }
}

/// The reason replaces that of an earlier failure, which did not end the row.
#[tokio::test(flavor = "multi_thread")]
async fn g05_the_reason_replaces_an_earlier_error() {
    let file = File::new();
    let store = file.mail_store().await;
    file.run(MAIL).await;
    file.run("UPDATE mail_outbox SET last_error = 'greylisted', next_attempt_at = '18.11.2026' WHERE id = 2")
        .await;
    store.sweep(SweepKind::Exhausted, 10).await.expect("sweep");
    let error = file.text("SELECT last_error FROM mail_outbox WHERE id = 2").await;
    assert_eq!(error.as_deref(), Some("next_attempt_at holds a time that can't be read"));
}

/// If NULL means "at once", so does an invalid time; `check` reports it.
#[tokio::test(flavor = "multi_thread")]
async fn g05_a_due_time_that_may_be_null_keeps_no_row_waiting() {
    for (contract, stage, rows) in
        [("outbox", "publish", OUTBOX), ("dispatch_jobs", "deliver", JOBS), ("emails", "send", EMAILS)]
    {
        let file = File::new();
        let store = file.open(contract, stage).await;
        file.run(rows).await;
        file.run(&format!("UPDATE {contract} SET next_attempt_at = 'soon' WHERE id = 2")).await;
        let reported = store.unknown_states().await.expect("unknown states");
        let about = |text: &String| {
            text.contains("next_attempt_at that can't be read") && text.contains("are claimed first")
        };
        assert!(reported.iter().any(about), "{contract}: {reported:?}");
        assert_eq!(claim(&store, 10).await.len(), 2, "{contract}");
    }
}

/// A claimed row with an invalid claim time or lease is reclaimed one lease after it was first seen.
#[tokio::test(flavor = "multi_thread")]
async fn g05_a_claim_time_that_cannot_be_read_holds_no_row_for_ever() {
    let claimed = [
        ("mail_outbox", "dispatch", MAIL, "last_attempt_at = 'x', lease_until = 'y'", "last_attempt_at"),
        ("mail_outbox", "dispatch", MAIL, "last_attempt_at = '2026-01-01', lease_until = 'y'", ""),
        ("outbox", "publish", OUTBOX, "claimed_at = 'x'", "claimed_at"),
        ("dispatch_jobs", "deliver", JOBS, "last_attempt_at = 'x', lease_until = 'y'", "last_attempt_at"),
        ("open_event_notifications", "notify", NOTIFICATIONS, "locked_at = 'x'", "locked_at"),
        ("emails", "send", EMAILS, "updated_at = 'x'", "updated_at"),
    ];
    for (contract, stage, rows, broken, stamped) in claimed {
        let file = File::new();
        let store = file.open(contract, stage).await;
        file.run(rows).await;
        assert_eq!(claim(&store, 10).await.len(), 2, "{contract}");
        file.run(&format!("UPDATE {contract} SET {broken}")).await;
        let reported = store.unknown_states().await.expect("unknown states");
        assert!(reported.iter().any(|text| text.contains("their lease starts when")), "{reported:?}");
        if !stamped.is_empty() {
            assert_eq!(store.reclaim(10).await.expect("reclaim"), Reclaimed::default(), "{contract}");
            assert!(
                store
                    .unknown_states()
                    .await
                    .expect("unknown states")
                    .iter()
                    .all(|text| !text.contains(stamped))
            );
            file.run(&format!("UPDATE {contract} SET {stamped} = '2026-01-01T00:00:00.000Z'")).await;
        }
        let free = store.reclaim(10).await.expect("reclaim");
        assert_eq!(free, Reclaimed { free: 2, ..Reclaimed::default() }, "{contract} {broken}");
        assert_eq!(claim(&store, 10).await.len(), 2, "{contract}");
    }
}

/// The specification's own tables, without the columns that `migrate` adds.
const BARE_EMAILS: &str = "CREATE TABLE emails (id CHAR(36) PRIMARY KEY, status VARCHAR(50) NOT NULL, \
    eml_file_path VARCHAR(500), payload_file_path VARCHAR(500), reason TEXT, version INT NOT NULL DEFAULT 1, \
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP); \
    CREATE TABLE email_statuses (id INTEGER PRIMARY KEY AUTOINCREMENT, email_id CHAR(36) NOT NULL, \
    status VARCHAR(50) NOT NULL, reason TEXT, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)";

/// There a row is due at its last change and its backoff. One that was neither tried nor put off waits for no time.
#[tokio::test(flavor = "multi_thread")]
async fn g05_on_the_specifications_own_table_no_email_waits_for_ever() {
    let file = File::new();
    let database = file.database();
    file.run(BARE_EMAILS).await;
    let store = database.open(contract("emails"), "send", "test").await.expect("open");
    file.run(
        "INSERT INTO emails (id, status) VALUES ('held', 'READY'), ('put off', 'READY'), ('tried', 'READY')",
    )
    .await;
    let settles = claim(&store, 10).await.into_iter().filter_map(|row| {
        let transition = match row.lease.id.to_string().as_str() {
            "tried" => Transition::Retry,
            "put off" => Transition::Deferred,
            _ => return None,
        };
        Some(Settlement { reason: Some("450 busy".to_owned()), ..settlement(&row.lease, transition) })
    });
    let settles: Vec<Settlement> = settles.collect();
    assert_eq!(settles.len(), 2);
    store.settle(&settles).await.expect("settle");
    file.run("INSERT INTO emails (id, status) VALUES ('new', 'READY'); UPDATE emails SET updated_at = 'x'")
        .await;
    let reported = store.unknown_states().await.expect("unknown states");
    let mentions =
        |words: [&str; 2]| reported.iter().any(|text| words.iter().all(|word| text.contains(word)));
    assert!(mentions(["2 of the newest", "ends them with that reason"]), "{reported:?}");
    assert!(mentions(["1 of the newest", "their lease starts when"]), "{reported:?}");

    let goes: Vec<String> = claim(&store, 10).await.iter().map(|row| row.lease.id.to_string()).collect();
    assert_eq!(goes, ["new"]);
    assert_eq!(store.sweep(SweepKind::Exhausted, 10).await.expect("sweep"), 2);
    let ended = "updated_at holds a time that can't be read";
    for table in ["emails", "email_statuses"] {
        let rows = format!(
            "SELECT count(*) FROM {table} WHERE status = 'FAILED' AND reason = '{}'",
            ended.replace('\'', "''")
        );
        assert_eq!(file.text(&rows).await.as_deref(), Some("2"), "{table}");
    }
    assert_eq!(store.reclaim(10).await.expect("reclaim"), Reclaimed::default(), "seen for the first time");
    file.run("UPDATE emails SET updated_at = '2026-01-01 00:00:00' WHERE id = 'held'").await;
    let free = store.reclaim(10).await.expect("reclaim");
    assert_eq!(free, Reclaimed { free: 1, ..Reclaimed::default() });
    let back: Vec<String> = claim(&store, 10).await.iter().map(|row| row.lease.id.to_string()).collect();
    assert_eq!(back, ["held"]);
}
