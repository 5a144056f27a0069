//! Idempotency keys: two inserts with the same key give one row, in any order and concurrently.

use std::sync::Arc;

use postrider_outbox::{Enqueued, Error, Mail, Record};
use tokio::sync::Barrier;

use crate::base::{Base, OnMysql, OnPostgres, OnSqlite, mysql, on_every_database, postgres, sqlite};

on_every_database!(
    a_second_enqueue_returns_the_first_row,
    other_unique_columns_are_not_mistaken_for_the_key,
    waiting_inserts_succeed_after_a_rollback,
);

fn record(payload: &str) -> Record {
    Record::topic("orders").payload(payload).idempotency_key("order-42")
}

async fn a_second_enqueue_returns_the_first_row<B: Base>(base: &B) {
    base.create("outbox").await;
    base.create("mail_outbox").await;
    let mail = Mail::to("ann@example.org").text("x").idempotency_key("order-42");
    let mut transaction = base.begin().await;
    let first = record("1").enqueue(&mut *transaction).await.expect("enqueue");
    let same = record("2").enqueue(&mut *transaction).await.expect("in the same transaction");
    let first_mail = mail.enqueue(&mut *transaction).await.expect("another table has keys of its own");
    transaction.commit().await.expect("commit");
    let mut transaction = base.begin().await;
    let later = record("3").enqueue(&mut *transaction).await.expect("in a later one");
    let later_mail = mail.enqueue(&mut *transaction).await.expect("enqueue");
    let other = Record::topic("orders").payload("4").enqueue(&mut *transaction).await.expect("it goes on");
    transaction.commit().await.expect("commit");
    assert!(first.inserted && !same.inserted && !later.inserted && other.inserted);
    assert_eq!((&same.id, &later.id), (&first.id, &first.id));
    assert!(first_mail.inserted && !later_mail.inserted && first_mail.id == later_mail.id);
    assert_eq!(base.count("outbox").await, "2");
    assert_eq!(base.count("mail_outbox").await, "1");
    assert_eq!(base.text("SELECT min(payload) FROM outbox").await.as_deref(), Some("1"), "the first stays");
}

async fn other_unique_columns_are_not_mistaken_for_the_key<B: Base>(base: &B) {
    base.create("outbox").await;
    base.run("CREATE UNIQUE INDEX one_deal ON outbox (deal_id)").await;
    let mut transaction = base.begin().await;
    record("1").deal_id("d").enqueue(&mut *transaction).await.expect("enqueue");
    transaction.commit().await.expect("commit");
    let mut transaction = base.begin().await;
    let second = Record::topic("orders").payload("2").deal_id("d").idempotency_key("order-43");
    let refused = second.enqueue(&mut *transaction).await.expect_err("the deal is there already");
    assert!(
        matches!(&refused, Error::Database { source, .. } if source.as_database_error()
        .is_some_and(sqlx::error::DatabaseError::is_unique_violation)),
        "{refused}"
    );
    drop(transaction);
    assert_eq!(base.count("outbox").await, "1");
}

/// Enqueues and commits; repeats the transaction after a transient error, as an application does.
async fn enqueue_and_commit<B: Base>(base: &B) -> Enqueued {
    for _ in 0..20 {
        let mut transaction = base.begin().await;
        match record("later").enqueue(&mut *transaction).await {
            Ok(enqueued) => {
                transaction.commit().await.expect("commit");
                return enqueued;
            }
            Err(refused) => assert!(refused.is_transient(), "{refused}"),
        }
    }
    panic!("refused twenty times");
}

async fn waiting_inserts_succeed_after_a_rollback<B: Base>(base: &B) {
    base.create("outbox").await;
    let mut first = base.begin().await;
    record("first").enqueue(&mut *first).await.expect("enqueue");
    let give_up = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        first.rollback().await.expect("rollback");
    };
    let (one, two, three, ()) =
        tokio::join!(enqueue_and_commit(base), enqueue_and_commit(base), enqueue_and_commit(base), give_up);
    let inserted = [&one, &two, &three].iter().filter(|enqueued| enqueued.inserted).count();
    assert!(inserted == 1 && one.id == two.id && two.id == three.id, "{one:?} {two:?} {three:?}");
    assert_eq!(base.text("SELECT min(payload) FROM outbox").await.as_deref(), Some("later"));
    assert_eq!(base.count("outbox").await, "1");
}

/// Eight concurrent tasks with the same key. Every other one reads first, so that its snapshot may be older than the
/// row.
macro_rules! crowd {
    ($test:ident, $database:ident, $on:ty, $snapshot:expr) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $test() {
            $database(|base: $on| async move {
                base.create("outbox").await;
                let (base, barrier) = (Arc::new(base), Arc::new(Barrier::new(8)));
                let tasks: Vec<_> = (0..8)
                    .map(|n| {
                        let (base, barrier) = (base.clone(), barrier.clone());
                        tokio::spawn(async move {
                            barrier.wait().await;
                            let mut transaction = base.begin().await;
                            if n % 2 == 0 {
                                sqlx::query($snapshot).fetch_all(&mut *transaction).await.expect("a read");
                            }
                            let enqueued =
                                record(&n.to_string()).enqueue(&mut *transaction).await.expect("enqueue");
                            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
                            transaction.commit().await.expect("commit");
                            enqueued
                        })
                    })
                    .collect();
                let mut inserted = 0;
                let mut ids = std::collections::BTreeSet::new();
                for task in tasks {
                    let enqueued = task.await.expect("the task ends well");
                    inserted += u32::from(enqueued.inserted);
                    ids.insert(enqueued.id);
                }
                assert_eq!((inserted, ids.len()), (1, 1), "{ids:?}");
                assert_eq!(base.count("outbox").await, "1");
                assert_eq!(base.text("SELECT id FROM outbox").await, ids.pop_first());
            })
            .await;
        }
    };
}

crowd!(eight_at_once_make_one_row_on_postgres, postgres, OnPostgres, "SELECT count(*) FROM outbox");
crowd!(eight_at_once_make_one_row_on_mysql, mysql, OnMysql, "SELECT count(*) FROM outbox");
crowd!(eight_at_once_make_one_row_on_sqlite, sqlite, OnSqlite, "SELECT count(*) FROM outbox");

#[tokio::test(flavor = "multi_thread")]
async fn keys_equal_only_by_collation_are_refused_on_mysql() {
    mysql(|base| async move {
        base.create("outbox").await;
        let mut transaction = base.begin().await;
        record("1").enqueue(&mut *transaction).await.expect("enqueue");
        let upper = record("2").idempotency_key("ORDER-42");
        let refused = upper.enqueue(&mut *transaction).await.expect_err("another key, and yet a conflict");
        assert!(matches!(refused, Error::KeyDiffersByCollation { .. }), "{refused}");
        transaction.commit().await.expect("commit");
        assert_eq!(base.count("outbox").await, "1");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_without_a_unique_index_is_reported() {
    async fn refusal<B: Base>(base: &B) -> String {
        base.run(
            "CREATE TABLE outbox (id integer, topic text, payload text, idempotency_key text, status text, \
             retry_count integer, version integer, created_at timestamptz)",
        )
        .await;
        let mut transaction = base.begin().await;
        record("1").enqueue(&mut *transaction).await.expect_err("no index").to_string()
    }
    sqlite(|base| async move {
        assert!(refusal(&base).await.contains("needs a unique index over its column alone"));
    })
    .await;
    postgres(|base| async move {
        assert!(refusal(&base).await.contains("needs a unique index over its column alone"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_snapshot_is_a_transient_error_on_postgres() {
    postgres(|base| async move {
        base.create("outbox").await;
        let mut old = base.pool().begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ").await.expect("begin");
        sqlx::query("SELECT count(*) FROM outbox").fetch_all(&mut *old).await.expect("a snapshot");
        let mut other = base.begin().await;
        record("1").enqueue(&mut *other).await.expect("enqueue");
        other.commit().await.expect("commit");
        let refused = record("2").enqueue(&mut *old).await.expect_err("it can't see the row");
        assert!(refused.is_transient(), "{refused}");
    })
    .await;
}
