//! Times are those of the database, in UTC, whatever the time zone of the session.

use std::time::{Duration, SystemTime};

use postrider_outbox::{Mail, Record, Table, TimeColumnType};
use sqlx::Executor as _;

use crate::base::{Base, mysql, on_every_database, postgres};

on_every_database!(a_new_row_has_the_current_time, delays_and_times_are_stored);

async fn seconds<B: Base>(base: &B, age: &str, rest: &str) -> f64 {
    let text = base.text(&format!("SELECT {age} FROM {rest}")).await.expect("a time");
    text.parse().expect("a number")
}

async fn assert_fresh<B: Base>(base: &B, column: &str, table: &str) {
    let age = seconds(base, &B::age(column), table).await;
    assert!((-0.1..10.0).contains(&age), "{column} of {table} is {age} s old");
}

async fn a_new_row_has_the_current_time<B: Base>(base: &B) {
    base.create("outbox").await;
    base.create("mail_outbox").await;
    let mut transaction = base.begin().await;
    Record::topic("t").payload("").enqueue(&mut *transaction).await.expect("enqueue");
    Mail::to("ann@example.org").text("x").enqueue(&mut *transaction).await.expect("enqueue");
    transaction.commit().await.expect("commit");
    assert_fresh(base, "created_at", "outbox").await;
    assert_fresh(base, "created_at", "mail_outbox").await;
    assert_fresh(base, "next_attempt_at", "mail_outbox").await;
}

async fn delays_and_times_are_stored<B: Base>(base: &B) {
    base.create("outbox").await;
    base.create("mail_outbox").await;
    // 2033-05-18T03:33:20.25Z.
    let moment = SystemTime::UNIX_EPOCH + Duration::from_millis(2_000_000_000_250);
    let hour = Duration::from_hours(1);
    let mut transaction = base.begin().await;
    Record::topic("t").payload("").delay(hour).enqueue(&mut *transaction).await.expect("enqueue");
    Record::topic("t").payload("").not_before(moment).enqueue(&mut *transaction).await.expect("enqueue");
    let mail = Mail::to("ann@example.org").text("x");
    mail.clone().delay(hour).enqueue(&mut *transaction).await.expect("enqueue");
    mail.not_before(moment).enqueue(&mut *transaction).await.expect("enqueue");
    transaction.commit().await.expect("commit");
    for table in ["outbox", "mail_outbox"] {
        let ahead = -seconds(base, &B::age("next_attempt_at"), &format!("{table} WHERE id = 1")).await;
        assert!((3590.0..3600.1).contains(&ahead), "{table}: {ahead}");
        let at =
            base.text(&format!("SELECT next_attempt_at FROM {table} WHERE id = 2")).await.expect("a time");
        let at = at.replace('T', " ");
        assert!(at.starts_with("2033-05-18 03:33:20.25"), "{table}: {at}");
    }
    assert!(base.claim("mail_outbox", "dispatch").await.is_empty(), "none is due");
}

/// A table whose time columns have the other type than those of the reference table.
fn other_times(times: TimeColumnType) -> Table {
    Table::outbox().named("other_times").expect("a name").times(times)
}

async fn fill<B: Base>(base: &B, times: TimeColumnType, zone: &str)
where
    for<'c> &'c mut <B::Db as sqlx::Database>::Connection: sqlx::Executor<'c, Database = B::Db>,
{
    base.create("outbox").await;
    let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000);
    let mut connection = base.pool().acquire().await.expect("a connection");
    (&mut *connection).execute(sqlx::AssertSqlSafe(zone)).await.expect("another zone");
    let record = Record::topic("t").payload("").not_before(moment);
    record.enqueue(&mut *connection).await.expect("enqueue");
    record.enqueue_into(&other_times(times), &mut *connection).await.expect("enqueue");
    // The connection must not return to the pool: the queries of the test expect UTC.
    drop(connection.detach());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mysql_session_in_another_zone_writes_utc() {
    mysql(|base| async move {
        let server = base.text("SELECT @@GLOBAL.time_zone").await;
        assert_eq!(server.as_deref(), Some("+05:45"), "the test server is not in UTC");
        base.run(
            "CREATE TABLE other_times (id bigint AUTO_INCREMENT PRIMARY KEY, topic text, payload text, status text, \
             retry_count int, version int, created_at timestamp(6) NULL, next_attempt_at timestamp(6) NULL)",
        )
        .await;
        fill(&base, TimeColumnType::Zoned, "SET time_zone = '+05:45'").await;
        for table in ["outbox", "other_times"] {
            assert_fresh(&base, "created_at", table).await;
            let at = base.text(&format!("SELECT next_attempt_at FROM {table}")).await.expect("a time");
            assert!(at.starts_with("2033-05-18 03:33:20"), "{table}: {at}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_session_in_another_zone_writes_utc() {
    postgres(|base| async move {
        base.run(
            "CREATE TABLE other_times (id serial PRIMARY KEY, topic text, payload text, status text, \
             retry_count int, version int, created_at timestamp, next_attempt_at timestamp)",
        )
        .await;
        fill(&base, TimeColumnType::Utc, "SET TIME ZONE 'Asia/Kathmandu'").await;
        assert_fresh(&base, "created_at", "outbox").await;
        assert_fresh(&base, "created_at AT TIME ZONE 'UTC'", "other_times").await;
        for at in ["next_attempt_at AT TIME ZONE 'UTC' FROM outbox", "next_attempt_at FROM other_times"] {
            let found = base.text(&format!("SELECT {at}")).await;
            assert_eq!(found.as_deref(), Some("2033-05-18 03:33:20"), "{at}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jsonb_and_uuid_columns_are_cast_on_postgres() {
    postgres(|base| async move {
        base.run(
            "CREATE TABLE typed (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), topic text, payload jsonb, \
             idempotency_key text UNIQUE, status text, retry_count int, version int, created_at timestamptz)",
        )
        .await;
        let plain = Table::outbox().named("typed").expect("a name");
        let cast = plain.clone().cast("payload", "jsonb").expect("a type");
        let record = Record::topic("t").payload(r#"{"a": [1]}"#).idempotency_key("k");
        let mut connection = base.pool().acquire().await.expect("a connection");
        let refused = record.enqueue_into(&plain, &mut *connection).await.expect_err("text is not jsonb");
        assert!(refused.to_string().contains("Table::cast"), "{refused}");
        let first = record.enqueue_into(&cast, &mut *connection).await.expect("enqueue");
        let second = record.enqueue_into(&cast, &mut *connection).await.expect("enqueue");
        assert!(first.inserted && !second.inserted && first.id.len() == 36 && first.id == second.id);
        assert_eq!(base.text("SELECT payload -> 'a' -> 0 FROM typed").await.as_deref(), Some("1"));
    })
    .await;
}
