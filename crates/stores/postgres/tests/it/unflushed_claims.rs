//! A claim's commit does not wait for the disk, the mark's does: after a crash of the server every row that was marked
//! is still claimed.

use postrider_seams::row::ClaimedRow;
use postrider_seams::store::{LeaseResult, Store as _};
use postrider_services::{Durability, Postgres};
use postrider_store_postgres::PostgresStore;
use sqlx::postgres::PgPoolOptions;

use crate::server::Server;

const ROWS: i64 = 20;

/// Claims once the store has connections again.
async fn claim_again(store: &PostgresStore) -> Vec<ClaimedRow> {
    loop {
        if let Ok(rows) = store.claim(500).await {
            return rows;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g02_a_row_whose_mark_was_confirmed_stays_claimed_when_the_server_crashes() {
    let mut postgres =
        tokio::task::block_in_place(|| Postgres::start(Durability::ProcessCrash).expect("PostgreSQL starts"));
    let url = postgres.url();
    let sql = PgPoolOptions::new().max_connections(1).connect(&url).await.expect("connected");
    let server = Server { url, sql };
    let store = server.mail_store().await;
    for round in 0..3 {
        server.insert_mails(ROWS).await;
        let rows = claim_again(&store).await;
        assert_eq!(i64::try_from(rows.len()), Ok(ROWS));
        let leases: Vec<_> = rows.into_iter().map(|row| row.lease).collect();
        let held = store.begin(&leases, &[]).await.expect("marked");
        tokio::task::block_in_place(|| postgres.kill());
        assert!(held.iter().all(|held| *held == LeaseResult::Held));
        tokio::task::block_in_place(|| postgres.restart().expect("PostgreSQL starts again"));
        let claimed = "SELECT count(*) FROM mail_outbox WHERE status = 'dispatching'";
        while sqlx::query(claimed).execute(&server.sql).await.is_err() {}
        assert_eq!(server.number(claimed).await, ROWS, "round {round}");
        server.run("TRUNCATE mail_outbox").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_a_crash_of_the_server_lost_cannot_be_marked() {
    let mut postgres =
        tokio::task::block_in_place(|| Postgres::start(Durability::ProcessCrash).expect("PostgreSQL starts"));
    let url = postgres.url();
    let sql = PgPoolOptions::new().max_connections(1).connect(&url).await.expect("connected");
    let server = Server { url, sql };
    let store = server.mail_store().await;
    let mut lost = 0;
    for _ in 0..20 {
        server.insert_mails(1).await;
        let leases: Vec<_> = claim_again(&store).await.into_iter().map(|row| row.lease).collect();
        tokio::task::block_in_place(|| postgres.kill());
        tokio::task::block_in_place(|| postgres.restart().expect("PostgreSQL starts again"));
        let ready = "SELECT count(*) FROM mail_outbox WHERE status = 'queued'";
        while sqlx::query(ready).execute(&server.sql).await.is_err() {}
        let held = loop {
            if let Ok(held) = store.begin(&leases, &[]).await {
                break held;
            }
        };
        // The server's own writer may have flushed the claim before the crash.
        let is_ready = server.number(ready).await == 1;
        assert_eq!(held, [if is_ready { LeaseResult::Lost } else { LeaseResult::Held }]);
        server.run("TRUNCATE mail_outbox").await;
        lost += u32::from(is_ready);
        if lost > 0 {
            return;
        }
    }
    panic!("every claim was flushed");
}
