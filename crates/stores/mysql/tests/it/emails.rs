//! The tables of the e-mail pipeline compared with the specification's, and the specification's statements next to
//! ours.

use postrider_contract::Transition;
use postrider_seams::RowId;
use postrider_seams::store::{LeaseResult, Store as _};
use postrider_sql::bind::Ids;
use postrider_sql::driver::Driver as _;
use sqlx::Row as _;

use crate::server::{Server, claim, settlement, with_database};

/// The DDL of the specification, unchanged except for the table names.
const SPECIFIED: &str = "
CREATE TABLE spec_emails (
    id CHAR(36) PRIMARY KEY,
    status ENUM(
        'ACCEPTED','INTAKING','READY','PROCESSING',
        'SENT','FAILED','INVALID',
        'CALLING-SENT-CALLBACK','CALLING-FAILED-CALLBACK',
        'SENT-ACKNOWLEDGED','FAILED-ACKNOWLEDGED'
    ) NOT NULL,
    eml_file_path VARCHAR(500),
    payload_file_path VARCHAR(500),
    reason TEXT,
    version INT NOT NULL DEFAULT 1,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,

    INDEX idx_status (status),
    INDEX idx_status_updated (status, updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE spec_email_statuses (
    id BIGINT AUTO_INCREMENT PRIMARY KEY,
    email_id CHAR(36) NOT NULL,
    status VARCHAR(50) NOT NULL,
    reason TEXT,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,

    INDEX idx_email_id (email_id),
    FOREIGN KEY (email_id) REFERENCES spec_emails(id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;";

/// Returns the rows of a query, each as one text.
async fn lines(server: &Server, query: &str) -> Vec<String> {
    let rows = sqlx::query(sqlx::AssertSqlSafe(query)).fetch_all(&server.sql).await.expect(query);
    rows.iter().map(|row| row.get_unchecked(0)).collect()
}

/// Returns columns, indexes and foreign keys of a table, one per line.
async fn described(server: &Server, table: &str) -> Vec<String> {
    let columns = format!(
        "SELECT CONCAT_WS('|', COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COALESCE(COLUMN_DEFAULT, '-'), EXTRA, \
         COALESCE(CHARACTER_SET_NAME, '-')) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND \
         TABLE_NAME = '{table}' ORDER BY ORDINAL_POSITION"
    );
    let indexes = format!(
        "SELECT CONCAT_WS('|', INDEX_NAME, NON_UNIQUE, SEQ_IN_INDEX, COLUMN_NAME) FROM information_schema.STATISTICS \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{table}' ORDER BY 1"
    );
    let keys = format!(
        "SELECT CONCAT_WS('|', DELETE_RULE, UPDATE_RULE, REPLACE(REFERENCED_TABLE_NAME, 'spec_', '')) FROM \
         information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME = '{table}'"
    );
    let mut found = lines(server, &columns).await;
    found.extend(lines(server, &indexes).await);
    found.extend(lines(server, &keys).await);
    found
}

async fn accept(server: &Server, id: &str, seconds_ago: u32) {
    server
        .run(&format!(
            "INSERT INTO emails (id, status, payload_file_path, updated_at) VALUES ('{id}', 'ACCEPTED', '/in/{id}.json', \
             CURRENT_TIMESTAMP - INTERVAL {seconds_ago} SECOND)"
        ))
        .await;
}

fn ids(claimed: &[postrider_seams::ClaimedRow]) -> Vec<String> {
    claimed.iter().map(|row| row.lease.id.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn e02_the_tables_are_the_specifications_and_three_columns_more() {
    with_database(|server| async move {
        server.run(SPECIFIED).await;
        server.open("emails", "intake").await;
        for table in ["emails", "email_statuses"] {
            let ours = described(&server, table).await;
            for line in described(&server, &format!("spec_{table}")).await {
                assert!(ours.contains(&line), "{table} lacks {line}: {ours:#?}");
            }
        }
        let more = "SELECT GROUP_CONCAT(COLUMN_NAME ORDER BY COLUMN_NAME) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA \
                    = DATABASE() AND TABLE_NAME = 'emails' AND COLUMN_NAME NOT IN (SELECT COLUMN_NAME FROM \
                    information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'spec_emails')";
        assert_eq!(server.text(more).await.as_deref(), Some("attempts,claimed_by,next_attempt_at"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e02_a_move_is_the_row_and_its_line_or_nothing() {
    with_database(|server| async move {
        let store = server.open("emails", "intake").await;
        accept(&server, "e-1", 0).await;
        server.run("RENAME TABLE email_statuses TO away").await;
        assert!(store.claim(1).await.is_err(), "there is nowhere to write it down");
        let row = "SELECT CONCAT(status, ' ', version) FROM emails";
        assert_eq!(server.text(row).await.as_deref(), Some("ACCEPTED 1"));
        server.run("RENAME TABLE away TO email_statuses").await;
        assert_eq!(claim(&store, 1).await.len(), 1);
        assert_eq!(server.text(row).await.as_deref(), Some("INTAKING 2"));
        let line = "SELECT GROUP_CONCAT(CONCAT(email_id, ' ', status)) FROM email_statuses";
        assert_eq!(server.text(line).await.as_deref(), Some("e-1 INTAKING"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e02_the_expected_status_and_version_are_compared_by_both_sides() {
    with_database(|server| async move {
        let store = server.open("emails", "intake").await;
        for id in ["by-version", "by-status"] {
            accept(&server, id, 0).await;
        }
        let claimed = claim(&store, 2).await;
        // The specification's update, which expects a status: another worker comes too late.
        let theirs = "UPDATE emails SET status = 'INTAKING', reason = NULL, version = version + 1 WHERE id = 'by-status' AND \
                      status = 'ACCEPTED'";
        let made = sqlx::query(theirs).execute(&server.sql).await.expect(theirs);
        assert_eq!(made.rows_affected(), 0, "its lock is not acquired");
        // Now our write comes too late, by the version alone and by the status.
        server.run("UPDATE emails SET version = version + 1 WHERE id = 'by-version'").await;
        server.run("UPDATE emails SET status = 'INVALID' WHERE id = 'by-status'").await;
        let moves: Vec<_> =
            claimed.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
        assert_eq!(store.settle(&moves).await.expect("settle"), [LeaseResult::Lost, LeaseResult::Lost]);
        let lines = "SELECT COUNT(*) FROM email_statuses WHERE status = 'READY'";
        assert_eq!(server.text(lines).await.as_deref(), Some("0"), "nothing was written");
        let states = "SELECT GROUP_CONCAT(CONCAT(status, ' ', version) ORDER BY status) FROM emails";
        assert_eq!(server.text(states).await.as_deref(), Some("INTAKING 3,INVALID 2"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e03_the_oldest_come_first_and_what_another_has_locked_is_passed_over() {
    with_database(|server| async move {
        let store = server.open("emails", "intake").await;
        for (id, seconds_ago) in [("c", 10), ("a", 30), ("d", 5), ("b", 20)] {
            accept(&server, id, seconds_ago).await;
        }
        let mut theirs = server.sql.acquire().await.expect("a connection");
        // At REPEATABLE READ its gap locks would block all other sessions, including ours.
        sqlx::raw_sql("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN")
            .execute(&mut *theirs)
            .await
            .expect("a transaction");
        // The query of the specification.
        let query = "SELECT id, status, eml_file_path, payload_file_path, reason, version, updated_at FROM emails WHERE \
                     status = ? ORDER BY updated_at ASC LIMIT ? FOR UPDATE SKIP LOCKED";
        let locked =
            sqlx::query(query).bind("ACCEPTED").bind(1).fetch_all(&mut *theirs).await.expect("their read");
        assert_eq!(locked[0].get::<String, _>(0), "a");
        assert_eq!(ids(&claim(&store, 2).await), ["b", "c"], "in order, without waiting for them");
        let update =
            "UPDATE emails SET status = ?, reason = ?, version = version + 1 WHERE id = ? AND status = ?";
        let made = sqlx::query(update).bind("INTAKING").bind("").bind("a").bind("ACCEPTED");
        assert_eq!(made.execute(&mut *theirs).await.expect("their move").rows_affected(), 1);
        sqlx::raw_sql("COMMIT").execute(&mut *theirs).await.expect("commit");
        assert_eq!(ids(&claim(&store, 9).await), ["d"], "what they hold is theirs");
        let ours = sqlx::query(query).bind("ACCEPTED").bind(9).fetch_all(&mut *theirs).await.expect("a read");
        assert!(ours.is_empty(), "and what we hold is ours: its move is in the transaction of the claim");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e10_a_claim_is_dated_by_the_clock_whatever_the_row_had() {
    with_database(|server| async move {
        let store = server.open("emails", "intake").await;
        server.run("INSERT INTO emails (id, status, updated_at) VALUES ('e-1', 'ACCEPTED', '2037-01-01 00:00:00')").await;
        // A zero date, as in old tables.
        server.run("SET SESSION sql_mode = ''; INSERT INTO emails (id, status, updated_at) VALUES ('e-0', 'ACCEPTED', 0)").await;
        let claimed = claim(&store, 1).await.remove(0);
        assert_eq!(claimed.lease.id.to_string(), "e-0");
        assert_eq!(claim(&store, 1).await.len(), 1);
        let ahead = "SELECT COUNT(*) FROM emails WHERE updated_at > UTC_TIMESTAMP() + INTERVAL 1 MINUTE OR updated_at = 0";
        assert_eq!(server.text(ahead).await.as_deref(), Some("0"), "its worker may die, and the lease is ten minutes");
        assert_eq!(store.extend(std::slice::from_ref(&claimed.lease)).await.expect("extend").len(), 1);
        assert_eq!(server.text(ahead).await.as_deref(), Some("0"));
    })
    .await;
}

/// A reclaim reads without a lock, then locks the rows it found: rows that have changed in between are left alone.
#[tokio::test(flavor = "multi_thread")]
async fn e10_what_moved_between_the_look_and_the_lock_is_left_alone() {
    with_database(|server| async move {
        let database = server.database();
        let store = server.open("emails", "intake").await;
        let long_ago = "UTC_TIMESTAMP() - INTERVAL 1 DAY";
        for (id, status, updated) in [
            ("again", "INTAKING", "UTC_TIMESTAMP()"),
            ("settled", "READY", long_ago),
            ("stuck", "INTAKING", long_ago),
        ] {
            server
                .run(&format!(
                    "INSERT INTO emails (id, status, updated_at) VALUES ('{id}', '{status}', {updated})"
                ))
                .await;
        }
        let free = store.opened().statements.reclaim.clone().expect("a reclaim").free;
        // The read found all three rows stuck.
        let ids = ["again", "settled", "stuck"].map(|id| RowId::Text(id.into()));
        let moved = database.fetch("reclaim", &free, Ids(&ids)).await.expect("reclaim");
        assert_eq!(moved.len(), 1);
        let states = "SELECT GROUP_CONCAT(CONCAT(id, ' ', status, ' ', version) ORDER BY id) FROM emails";
        assert_eq!(
            server.text(states).await.as_deref(),
            Some("again INTAKING 1,settled READY 1,stuck ACCEPTED 2")
        );
        assert_eq!(
            server.text("SELECT GROUP_CONCAT(email_id) FROM email_statuses").await.as_deref(),
            Some("stuck")
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e02_a_version_that_can_grow_no_more_holds_up_nobody() {
    with_database(|server| async move {
        let store = server.open("emails", "intake").await;
        for (id, version) in [("last", i32::MAX), ("first", i32::MIN), ("usual", 1)] {
            accept(&server, id, 0).await;
            server.run(&format!("UPDATE emails SET version = {version} WHERE id = '{id}'")).await;
        }
        let claimed = claim(&store, 9).await;
        assert_eq!(claimed.len(), 3);
        let moves: Vec<_> = claimed.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
        assert_eq!(store.settle(&moves).await.expect("settle"), [LeaseResult::Held; 3]);
        let versions = "SELECT GROUP_CONCAT(CONCAT(id, ' ', status, ' ', version) ORDER BY id) FROM emails";
        let expected = "first READY -2147483646,last READY 2,usual READY 3";
        assert_eq!(server.text(versions).await.as_deref(), Some(expected));
    })
    .await;
}
