//! Extensions that the database commits but whose answer is lost: the rows stay ours, and nothing is sent twice.

use std::sync::Arc;

use postrider_contract::Transition;
use postrider_seams::row::Lease;
use postrider_seams::store::{Class, LeaseResult, Store as _};
use postrider_services::{LostAnswer, Proxy};
use postrider_store_postgres::{Database, PostgresStore, Settings};

use crate::network::proxied;
use crate::server::{Server, claim, contract, settlement, with_database};

/// The first key: as a number of eight bytes it reads "lost-001".
const FIRST: i64 = 0x6c6f_7374_2d30_3031;

/// The answer that is lost: the one with the new fences.
const ANSWER: LostAnswer = LostAnswer::With(b"lost-00");

/// A table of a contract, without some of the columns that `migrate` adds.
#[derive(Clone, Copy)]
struct Table {
    contract: &'static str,
    stage: &'static str,
    without: &'static [&'static str],
}

const VERSION_AND_OWNER: Table = Table { contract: "outbox", stage: "publish", without: &[] };
const VERSION: Table = Table { without: &["claimed_by"], ..VERSION_AND_OWNER };
const TIME_AND_OWNER: Table = Table { contract: "mail_outbox", stage: "dispatch", without: &["lease_until"] };
const TIME: Table = Table { without: &["lease_until", "claimed_by"], ..TIME_AND_OWNER };

impl Table {
    /// Creates the table with four rows that are due.
    async fn create(self, server: &Server) {
        server.open(self.contract, self.stage).await;
        for column in self.without {
            server.run(&format!("ALTER TABLE {} DROP COLUMN {column}", self.contract)).await;
        }
        let columns = match self.contract {
            "outbox" => {
                "topic, partition_key, payload, status, created_at) VALUES ('t', 'k-ID', '{}', 'PENDING'"
            }
            _ => {
                "to_addresses, subject, body_text, status, next_attempt_at) VALUES ('[\"a@b.org\"]', 's', 't', 'queued'"
            }
        };
        for id in FIRST..FIRST + 4 {
            let (names, values) = columns.split_once(") VALUES (").expect("two lists");
            let (table, values) = (self.contract, values.replace("ID", &id.to_string()));
            server
                .run(&format!("INSERT INTO {table} (id, {names}) VALUES ({id}, {values}, '2020-01-01')"))
                .await;
        }
    }

    async fn open(self, url: &str) -> Arc<PostgresStore> {
        let database = Database::connect(&Settings::new(url)).expect("settings");
        database.open(contract(self.contract), self.stage, "test").await.expect("open")
    }
}

/// A worker whose extension was committed and got no answer.
struct Worker {
    store: Arc<PostgresStore>,
    /// The leases with their old fences.
    leases: Vec<Lease>,
    _proxy: Proxy,
}

impl Worker {
    async fn start(server: &Server, table: Table) -> Self {
        table.create(server).await;
        let (proxy, url) = proxied(server);
        let store = table.open(&url).await;
        let leases: Vec<Lease> = claim(&store, 10).await.into_iter().map(|row| row.lease).collect();
        assert_eq!(leases.len(), 4);
        proxy.lose_answers(ANSWER, 1);
        let error = store.extend(&leases).await.expect_err("the answer is lost");
        assert_eq!(error.class, Class::Transient, "{error}");
        assert_eq!(proxy.answers_to_lose(), 0);
        Self { store, leases, _proxy: proxy }
    }

    async fn settle(&self, lease: &Lease, transition: Transition) -> LeaseResult {
        self.store.settle(&[settlement(lease, transition)]).await.expect("settle")[0]
    }
}

async fn keeps_its_rows(server: Server, table: Table) {
    let worker = Worker::start(&server, table).await;
    let other = table.open(&server.url).await;
    let leases = &worker.leases;
    assert_eq!(worker.store.begin(&leases[..2], &[]).await.expect("begin"), [LeaseResult::Held; 2]);
    assert_eq!(worker.settle(&leases[0], Transition::Delivered).await, LeaseResult::Held, "it was sent once");
    assert_eq!(
        worker.settle(&leases[0], Transition::Delivered).await,
        LeaseResult::Lost,
        "and is settled once"
    );
    let extended = worker.store.extend(&leases[1..]).await.expect("extend");
    let extended: Vec<Lease> = extended.into_iter().flatten().collect();
    assert_eq!(extended.len(), 3, "the others are extended once more");
    assert_eq!(
        worker.settle(&leases[1], Transition::Delivered).await,
        LeaseResult::Lost,
        "the old fence is over"
    );
    for lease in &extended {
        assert_eq!(worker.settle(lease, Transition::Delivered).await, LeaseResult::Held);
    }
    assert!(claim(&other, 10).await.is_empty(), "no row is left to be sent again");
}

#[tokio::test(flavor = "multi_thread")]
async fn g02_a_lost_answer_to_an_extension_loses_no_lease() {
    with_database(|server| keeps_its_rows(server, VERSION_AND_OWNER)).await;
    with_database(|server| keeps_its_rows(server, VERSION)).await;
    with_database(|server| keeps_its_rows(server, TIME_AND_OWNER)).await;
}

/// A row that another worker, or this one, has claimed since then belongs to that claim alone.
async fn leaves_what_was_claimed_since(server: Server, table: Table) {
    let worker = Worker::start(&server, table).await;
    let other = table.open(&server.url).await;
    server.run("UPDATE outbox SET claimed_at = '2020-01-01'").await;
    assert_eq!(other.reclaim(10).await.expect("reclaim").rows(), 4);
    let taken = claim(&other, 2).await;
    let again = claim(&worker.store, 2).await;
    assert_eq!((taken.len(), again.len()), (2, 2));
    for lease in &worker.leases {
        assert_eq!(worker.settle(lease, Transition::Delivered).await, LeaseResult::Lost, "{lease:?}");
        assert_eq!(worker.store.extend(std::slice::from_ref(lease)).await.expect("extend"), [None]);
    }
    for row in &again {
        assert_eq!(worker.settle(&row.lease, Transition::Delivered).await, LeaseResult::Held);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g02_a_lost_extension_takes_no_row_from_a_later_claim() {
    with_database(|server| leaves_what_was_claimed_since(server, VERSION_AND_OWNER)).await;
    with_database(|server| leaves_what_was_claimed_since(server, VERSION)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_cannot_tell_whose_extension_it_was_waits_for_the_lease() {
    with_database(|server| async move {
        let worker = Worker::start(&server, TIME).await;
        assert_eq!(worker.settle(&worker.leases[0], Transition::Delivered).await, LeaseResult::Lost);
        let status = server.text(&format!("SELECT status FROM mail_outbox WHERE id = {FIRST}")).await;
        assert_eq!(status.as_deref(), Some("dispatching"), "nobody else can take it before the lease ends");
    })
    .await;
}
