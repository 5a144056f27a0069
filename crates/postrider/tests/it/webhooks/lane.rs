//! Jobs of accounts and subscriptions, from each database to a receiver, with the real binary.

use std::time::Duration;

use postrider_services::{Library, Signed, verify};

use crate::rig::database::{Kind, fresh};
use crate::rig::home::Home;
use crate::rig::hooks::{Arrival, Receiver, Reply};
use crate::rig::sql::{Cell, Sql};
use crate::rig::wait::{PATIENCE, until};

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

struct Site {
    home: Home,
    sql: Sql,
    receiver: Receiver,
}

impl Site {
    async fn open(kind: Kind) -> Self {
        let receiver = Receiver::start(|arrival, _| match arrival.path.as_str() {
            "/gone" => Reply::status(410).saying("no longer here"),
            "/later" => Reply::status(200).saying(r#"{"ack": false, "delaySeconds": 3600}"#),
            "/broken" => Reply::status(500).saying("oh"),
            _ => Reply::status(200).saying(&"ü".repeat(4000)),
        })
        .await;
        let home = Home::new();
        let (url, sql) = fresh(kind, "hooks", &home.shop).await;
        home.settle_in(&format!(
            "[stores.main]\nurl = \"{url}\"\n[transports.hooks]\nurl = \"webhook://\"\nallow = \"127.0.0.0/8\"\n\
             [lanes.jobs]\ncontract = \"dispatch_jobs\"\npoll = \"50ms\"\n"
        ));
        home.shop.run(&["migrate"]).fine();
        for (name, secret) in [("old", OLD), ("new", NEW), ("token", "t0ken\n")] {
            std::fs::write(home.shop.path(name), secret).unwrap();
        }
        Self { home, sql, receiver }
    }

    /// Creates an account; returns its id.
    fn account(&self, arguments: &[&str]) -> String {
        let said = self.home.shop.run(&[&["account"], arguments].concat()).fine();
        said.json()[0]["id"].as_str().unwrap().to_owned()
    }

    /// Inserts a job as an application does.
    async fn job(&self, id: &str, url: &str, more: &[(&str, &str)]) {
        let mut cells: Vec<(&str, Cell)> = vec![
            ("id", id.into()),
            ("code", "shop:orders:order:created".into()),
            ("target_url", url.into()),
            ("payload", r#"{"orderId": "12345", "name": "Müller"}"#.into()),
        ];
        cells.extend(more.iter().map(|(column, value)| (*column, Cell::from(*value))));
        self.sql.insert("dispatch_jobs", &cells).await;
    }

    async fn subscription(&self, id: &str) {
        let text = [
            ("id", id),
            ("code", id),
            ("name", "orders"),
            ("event_code", "shop:orders:order:created"),
            ("filters", "[]"),
            ("target_url", "https://example.com/"),
            ("headers", "{}"),
            ("mode", "IMMEDIATE"),
            ("retry_strategy", "exponential"),
        ];
        let mut cells: Vec<(&str, Cell)> =
            text.iter().map(|(column, value)| (*column, Cell::from(*value))).collect();
        for (column, value) in [("sequence", "99"), ("timeout_seconds", "30"), ("max_retries", "3")] {
            cells.push((column, Cell::Sql(value.to_owned())));
        }
        let (yes, no) = if matches!(self.sql, Sql::Sqlite(_)) { ("1", "0") } else { ("TRUE", "FALSE") };
        for (column, value) in [("data_only", yes), ("honours_ack", yes), ("active", yes), ("paused", no)] {
            cells.push((column, Cell::Sql(value.to_owned())));
        }
        for column in ["created_at", "updated_at"] {
            cells.push((column, Cell::Sql(self.sql.now().to_owned())));
        }
        self.sql.insert("dispatch_subscriptions", &cells).await;
    }

    /// Waits for the delivery of a job and returns it.
    async fn delivery(&self, id: &str) -> Arrival {
        until(&format!("{id} arrives"), PATIENCE, || async { self.receiver.of(id).pop() }).await
    }

    /// Waits until `holds` returns true for these columns of a row, and returns them.
    async fn row(&self, from: &str, columns: &[&str], holds: impl Fn(&[String]) -> bool) -> Vec<String> {
        let columns: Vec<String> = columns.iter().map(|column| self.sql.text(column)).collect();
        let query = format!("SELECT {} FROM {from}", columns.join(", "));
        until(from, PATIENCE, || async {
            let row = self.sql.rows(&query).await.ok()?.pop()?;
            let row: Vec<String> = row.into_iter().map(|cell| cell.unwrap_or("NULL".into())).collect();
            holds(&row).then_some(row)
        })
        .await
    }

    async fn attempt(&self, job: &str) -> Vec<String> {
        let columns = ["attempt_number", "status", "response_code", "error_type", "duration_millis"];
        self.row(&format!("dispatch_attempts WHERE job_id = '{job}'"), &columns, |_| true).await
    }

    async fn job_row(&self, id: &str, holds: impl Fn(&[String]) -> bool) -> Vec<String> {
        let columns = ["status", "attempt_count", "last_error"];
        self.row(&format!("dispatch_jobs WHERE id = '{id}'"), &columns, holds).await
    }
}

/// Whether the public libraries accept its signature.
pub async fn is_genuine(arrival: &Arrival, secret: &str) -> bool {
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let headers: serde_json::Map<String, serde_json::Value> =
        names.into_iter().map(|name| (name.to_owned(), arrival.header(name).into())).collect();
    let json = serde_json::json!({ "secret": secret, "body": arrival.body, "headers": headers }).to_string();
    let mut genuine = Vec::new();
    for library in [Library::Python, Library::JavaScript] {
        let signed = Signed { json: json.clone() };
        let verdict = tokio::task::spawn_blocking(move || verify(library, &signed)).await.unwrap();
        genuine.push(verdict.expect("the library can be had").is_ok());
    }
    assert_eq!(genuine[0], genuine[1], "the libraries agree");
    genuine[0]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j10_jobs_on_postgres_are_signed_deferred_and_recorded() {
    story(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j10_jobs_on_mariadb_are_signed_deferred_and_recorded() {
    story(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j10_jobs_on_sqlite_are_signed_deferred_and_recorded() {
    story(Kind::Sqlite).await;
}

async fn story(kind: Kind) {
    let mut site = Site::open(kind).await;
    let worker = site.home.start_worker();
    let second = site.home.start_worker();
    signed_also_during_rotation(&site).await;
    site.home.stop(second).await;
    never_without_its_secret(&site).await;
    never_to_another_host(&site).await;
    subscriptions(&site).await;
    failures(&site).await;
    site.home.stop(worker).await;
    for secret in [OLD, NEW, "t0ken"] {
        assert!(!site.home.logs().contains(secret), "a secret is in the log");
    }
}

async fn signed_also_during_rotation(site: &Site) {
    let url = site.receiver.url("ok");
    let shop = site.account(&[
        "create",
        "shop",
        "--host",
        "*",
        "--signing",
        "file://old",
        "--bearer",
        "file://token",
    ]);
    site.job("SIGNED", &url, &[("service_account_id", &shop)]).await;
    let arrival = site.delivery("SIGNED").await;
    assert!(is_genuine(&arrival, OLD).await && !is_genuine(&arrival, NEW).await, "{arrival:?}");
    assert_eq!(arrival.header("authorization"), "Bearer t0ken");
    let attempt = site.attempt("SIGNED").await;
    assert_eq!(attempt[..4], ["1", "SUCCESS", "200", "NULL"], "{attempt:?}");
    let bytes = if matches!(site.sql, Sql::Sqlite(_)) {
        "length(CAST(response_body AS BLOB))"
    } else {
        "octet_length(response_body)"
    };
    let cut = site.row("dispatch_attempts WHERE job_id = 'SIGNED'", &[bytes], |_| true).await;
    assert_eq!(cut, ["4096"], "of 8,000 bytes");

    // Make both processes use the account.
    for n in 0..8 {
        site.job(&format!("BEFORE{n}"), &url, &[("service_account_id", &shop)]).await;
    }
    site.delivery("BEFORE7").await;
    assert_eq!(site.account(&["regenerate", &shop, "--signing", "file://new"]), shop);
    for n in 0..8 {
        site.job(&format!("BOTH{n}"), &url, &[("service_account_id", &shop)]).await;
    }
    for n in 0..8 {
        let arrival = site.delivery(&format!("BOTH{n}")).await;
        let signatures = arrival.header("webhook-signature").matches("v1,").count();
        assert_eq!(signatures, 2, "from the first delivery on, in every process: {arrival:?}");
    }
    let arrival = site.delivery("BOTH0").await;
    assert!(is_genuine(&arrival, OLD).await && is_genuine(&arrival, NEW).await, "{arrival:?}");
    // Move the previous secret past its day of validity.
    let then = match site.sql {
        Sql::Postgres(_) => "now() - interval '1 second'",
        Sql::MariaDb(_) => "UTC_TIMESTAMP(6) - INTERVAL 1 SECOND",
        Sql::Sqlite(_) => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 seconds')",
    };
    site.sql.must(&format!("UPDATE service_accounts SET previous_until = {then}")).await;
    site.job("ONE", &url, &[("service_account_id", &shop)]).await;
    let arrival = site.delivery("ONE").await;
    assert_eq!(arrival.header("webhook-signature").matches("v1,").count(), 1, "{arrival:?}");
    assert!(is_genuine(&arrival, NEW).await && !is_genuine(&arrival, OLD).await, "{arrival:?}");
}

async fn never_without_its_secret(site: &Site) {
    let url = site.receiver.url("ok");
    let late = site.account(&["create", "late", "--host", "*", "--signing", "file://late"]);
    site.job("LATE", &url, &[("service_account_id", &late)]).await;
    site.job("NOBODY", &url, &[("service_account_id", "0HZXEQ5Y8JY99")]).await;
    let waits = |row: &[String]| row[2] != "NULL";
    let row = site.job_row("LATE", waits).await;
    assert_eq!((row[0].as_str(), row[1].as_str()), ("QUEUED", "0"), "it keeps its state: {row:?}");
    assert!(row[2].contains("signing secret"), "{row:?}");
    let row = site.job_row("NOBODY", waits).await;
    assert_eq!((row[0].as_str(), row[1].as_str()), ("QUEUED", "0"), "{row:?}");
    assert_eq!(site.sql.count("dispatch_attempts WHERE job_id IN ('LATE', 'NOBODY')").await, Some(0));
    assert!(site.receiver.of("LATE").is_empty() && site.receiver.of("NOBODY").is_empty());
    std::fs::write(site.home.shop.path("late"), NEW).unwrap();
    until("the secret is found", PATIENCE, || async {
        // Make the job due now, instead of in half a minute.
        let hurry = "UPDATE dispatch_jobs SET next_attempt_at = NULL WHERE id = 'LATE' AND status = 'QUEUED'";
        site.sql.must(hurry).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        (!site.receiver.of("LATE").is_empty()).then_some(())
    })
    .await;
    assert!(is_genuine(&site.delivery("LATE").await, NEW).await);
    let row = site.job_row("LATE", |row| row[0] == "COMPLETED").await;
    assert_eq!(row[1..], ["1", "NULL"], "waiting cost nothing");
}

/// Inserts the job directly, as the API would refuse it.
async fn never_to_another_host(site: &Site) {
    let url = site.receiver.url("ok");
    let elsewhere =
        site.account(&["create", "elsewhere", "--host", "*.example.com", "--signing", "file://old"]);
    site.job("ELSEWHERE", &url, &[("service_account_id", &elsewhere)]).await;
    let row = site.job_row("ELSEWHERE", |row| row[2] != "NULL").await;
    assert_eq!(row[..2], ["QUEUED", "0"], "{row:?}");
    assert!(row[2].contains("not for the host 127.0.0.1"), "{row:?}");
    assert!(site.receiver.of("ELSEWHERE").is_empty());
}

async fn subscriptions(site: &Site) {
    site.subscription("0HZXEQ5Y8JY44").await;
    site.subscription("0HZXEQ5Y8JY55").await;
    site.job("LATER", &site.receiver.url("later"), &[("subscription_id", "0HZXEQ5Y8JY55")]).await;
    let row = site.job_row("LATER", |row| row[2].contains("asks to come back in 3600 s")).await;
    assert_eq!(row[..2], ["QUEUED", "0"], "it comes again, and no attempt is spent: {row:?}");
    assert_eq!(site.sql.count("dispatch_attempts WHERE job_id = 'LATER'").await, Some(0));
    let hour = match site.sql {
        Sql::Postgres(_) => "now() + interval '50 minutes'",
        Sql::MariaDb(_) => "UTC_TIMESTAMP(6) + INTERVAL 50 MINUTE",
        Sql::Sqlite(_) => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+50 minutes')",
    };
    let waits = format!("dispatch_jobs WHERE id = 'LATER' AND next_attempt_at > {hour}");
    assert_eq!(site.sql.count(&waits).await, Some(1), "as the receiver asked");

    site.job("GONE", &site.receiver.url("gone"), &[("subscription_id", "0HZXEQ5Y8JY44")]).await;
    assert_eq!(site.attempt("GONE").await[1..4], ["CLIENT_ERROR", "410", "PERMANENT"]);
    let paused = "dispatch_subscriptions WHERE id = '0HZXEQ5Y8JY44'";
    let row = site.row(paused, &["paused_reason"], |row| row[0] != "NULL").await;
    assert!(row[0].contains("410"), "{row:?}");
    site.job("WAITS", &site.receiver.url("ok"), &[("subscription_id", "0HZXEQ5Y8JY44")]).await;
    let row = site.job_row("WAITS", |row| row[0] == "COMPLETED" || row[2] != "NULL").await;
    assert!(row[0] == "QUEUED" && row[2].contains("paused"), "{row:?}");
    held_back(site).await;
}

/// Only the jobs in flight fail when a receiver answers that it is gone; its other jobs are held back.
async fn held_back(site: &Site) {
    const JOBS: usize = 300;
    site.subscription("0HZXEQ5Y8JY66").await;
    let gone = Receiver::start(|_, _| Reply::status(410)).await;
    let rows: Vec<String> = (0..JOBS)
        .map(|n| format!("('MANY{n}', 'a:b:c:d', '{}', '{{}}', '0HZXEQ5Y8JY66')", gone.url("gone")))
        .collect();
    let columns = "id, code, target_url, payload, subscription_id";
    site.sql.must(&format!("INSERT INTO dispatch_jobs ({columns}) VALUES {}", rows.join(", "))).await;
    until("all were looked at", PATIENCE, || async {
        let seen =
            "dispatch_jobs WHERE id LIKE 'MANY%' AND last_error IS NOT NULL AND status <> 'IN_PROGRESS'";
        (site.sql.count(seen).await == Some(JOBS as u64)).then_some(())
    })
    .await;
    let dead = site.sql.count("dispatch_jobs WHERE id LIKE 'MANY%' AND status = 'ERROR'").await.unwrap();
    assert!((1..=8).contains(&dead), "{dead} of {JOBS} ended for good");
    assert_eq!(gone.journal().len() as u64, dead, "the others were not sent");
    let free = "dispatch_jobs WHERE id LIKE 'MANY%' AND status = 'QUEUED' AND attempt_count = 0";
    assert_eq!(site.sql.count(free).await, Some(JOBS as u64 - dead));
}

async fn failures(site: &Site) {
    let busy = Receiver::start(|_, _| Reply::status(429).with("retry-after: 3600")).await;
    site.job("BUSY1", &busy.url("x"), &[]).await;
    assert_eq!(site.attempt("BUSY1").await[..4], ["1", "CLIENT_ERROR", "429", "TRANSIENT"]);
    site.job("BUSY2", &busy.url("y"), &[]).await;
    let row = site.job_row("BUSY2", |row| row[2] != "NULL").await;
    assert_eq!((row[0].as_str(), row[1].as_str()), ("QUEUED", "0"), "the whole host is held: {row:?}");
    assert_eq!(busy.journal().len(), 1);

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    site.job("CLOSED", &format!("http://{closed}/"), &[]).await;
    assert_eq!(site.attempt("CLOSED").await[..4], ["1", "CONNECTION_ERROR", "NULL", "TRANSIENT"]);
    let chain = site
        .row("dispatch_attempts WHERE job_id = 'CLOSED'", &["error_message", "error_stack_trace"], |_| true)
        .await;
    assert!(chain[0] != "NULL" && chain[1].to_lowercase().contains("refused"), "{chain:?}");
    site.job("PRIVATE", "http://10.255.255.1/", &[]).await;
    assert_eq!(site.attempt("PRIVATE").await[..4], ["1", "CONNECTION_ERROR", "NULL", "PERMANENT"]);
    site.job("BROKEN", &site.receiver.url("broken"), &[("retry_strategy", "[0]")]).await;
    let row = site.job_row("BROKEN", |row| row[1] == "3").await;
    assert_eq!(row[0], "ERROR", "{row:?}");
    assert_eq!(
        site.sql.count("dispatch_attempts WHERE job_id = 'BROKEN' AND response_code = 500").await,
        Some(3)
    );
    let dead = site.sql.count("dispatch_jobs WHERE id = 'BROKEN' AND next_attempt_at IS NULL").await;
    assert_eq!(dead, Some(1), "its attempts are spent");
}
