//! Jobs of accounts and subscriptions, from each database to a receiver, with the real binary.

use std::time::Duration;

use postrider_services::{Library, Signed, verify};

use crate::support::database::{Kind, fresh};
use crate::support::installation::Installation;
use crate::support::sql::{Cell, Sql};
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::{ReceivedRequest, Reply, WebhookReceiver};

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

struct WebhookLane {
    installation: Installation,
    sql: Sql,
    receiver: WebhookReceiver,
}

impl WebhookLane {
    async fn open(kind: Kind) -> Self {
        let receiver = WebhookReceiver::start(|request, _| match request.path.as_str() {
            "/gone" => Reply::status(410).with_body("no longer here"),
            "/later" => Reply::status(200).with_body(r#"{"ack": false, "delaySeconds": 3600}"#),
            "/broken" => Reply::status(500).with_body("oh"),
            _ => Reply::status(200).with_body(&"ü".repeat(4000)),
        })
        .await;
        let installation = Installation::new();
        let (url, sql) = fresh(kind, "hooks", &installation.sandbox).await;
        installation.write_settings(&format!(
            "[stores.main]\nurl = \"{url}\"\n[transports.hooks]\nurl = \"webhook://\"\nallow = \"127.0.0.0/8\"\n\
             [lanes.jobs]\ncontract = \"dispatch_jobs\"\npoll = \"50ms\"\n"
        ));
        installation.sandbox.run(&["migrate"]).success();
        for (name, secret) in [("old", OLD), ("new", NEW), ("token", "t0ken\n")] {
            std::fs::write(installation.sandbox.path(name), secret).unwrap();
        }
        Self { installation, sql, receiver }
    }

    /// Creates an account; returns its id.
    fn account(&self, arguments: &[&str]) -> String {
        let output = self.installation.sandbox.run(&[&["account"], arguments].concat()).success();
        output.json()[0]["id"].as_str().unwrap().to_owned()
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
    async fn delivery(&self, id: &str) -> ReceivedRequest {
        wait_until(&format!("{id} arrives"), TIMEOUT, || async { self.receiver.requests_of(id).pop() }).await
    }

    /// Waits until `holds` returns true for these columns of a row, and returns them.
    async fn row(&self, from: &str, columns: &[&str], holds: impl Fn(&[String]) -> bool) -> Vec<String> {
        let columns: Vec<String> = columns.iter().map(|column| self.sql.text(column)).collect();
        let query = format!("SELECT {} FROM {from}", columns.join(", "));
        wait_until(from, TIMEOUT, || async {
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
pub async fn is_genuine(request: &ReceivedRequest, secret: &str) -> bool {
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let headers: serde_json::Map<String, serde_json::Value> =
        names.into_iter().map(|name| (name.to_owned(), request.header(name).into())).collect();
    let json = serde_json::json!({ "secret": secret, "body": request.body, "headers": headers }).to_string();
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
    run_scenario(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j10_jobs_on_mariadb_are_signed_deferred_and_recorded() {
    run_scenario(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j10_jobs_on_sqlite_are_signed_deferred_and_recorded() {
    run_scenario(Kind::Sqlite).await;
}

async fn run_scenario(kind: Kind) {
    let mut webhook_lane = WebhookLane::open(kind).await;
    let worker = webhook_lane.installation.start_worker();
    let second = webhook_lane.installation.start_worker();
    signed_also_during_rotation(&webhook_lane).await;
    webhook_lane.installation.stop(second).await;
    never_without_its_secret(&webhook_lane).await;
    never_to_another_host(&webhook_lane).await;
    subscriptions(&webhook_lane).await;
    failures(&webhook_lane).await;
    webhook_lane.installation.stop(worker).await;
    for secret in [OLD, NEW, "t0ken"] {
        assert!(!webhook_lane.installation.logs().contains(secret), "a secret is in the log");
    }
}

async fn signed_also_during_rotation(webhook_lane: &WebhookLane) {
    let url = webhook_lane.receiver.url("ok");
    let sandbox = webhook_lane.account(&[
        "create",
        "shop",
        "--host",
        "*",
        "--signing",
        "file://old",
        "--bearer",
        "file://token",
    ]);
    webhook_lane.job("SIGNED", &url, &[("service_account_id", &sandbox)]).await;
    let request = webhook_lane.delivery("SIGNED").await;
    assert!(is_genuine(&request, OLD).await && !is_genuine(&request, NEW).await, "{request:?}");
    assert_eq!(request.header("authorization"), "Bearer t0ken");
    let attempt = webhook_lane.attempt("SIGNED").await;
    assert_eq!(attempt[..4], ["1", "SUCCESS", "200", "NULL"], "{attempt:?}");
    let bytes = if matches!(webhook_lane.sql, Sql::Sqlite(_)) {
        "length(CAST(response_body AS BLOB))"
    } else {
        "octet_length(response_body)"
    };
    let cut = webhook_lane.row("dispatch_attempts WHERE job_id = 'SIGNED'", &[bytes], |_| true).await;
    assert_eq!(cut, ["4096"], "of 8,000 bytes");

    // Make both processes use the account.
    for n in 0..8 {
        webhook_lane.job(&format!("BEFORE{n}"), &url, &[("service_account_id", &sandbox)]).await;
    }
    webhook_lane.delivery("BEFORE7").await;
    assert_eq!(webhook_lane.account(&["regenerate", &sandbox, "--signing", "file://new"]), sandbox);
    for n in 0..8 {
        webhook_lane.job(&format!("BOTH{n}"), &url, &[("service_account_id", &sandbox)]).await;
    }
    for n in 0..8 {
        let request = webhook_lane.delivery(&format!("BOTH{n}")).await;
        let signatures = request.header("webhook-signature").matches("v1,").count();
        assert_eq!(signatures, 2, "from the first delivery on, in every process: {request:?}");
    }
    let request = webhook_lane.delivery("BOTH0").await;
    assert!(is_genuine(&request, OLD).await && is_genuine(&request, NEW).await, "{request:?}");
    // Move the previous secret past its day of validity.
    let then = match webhook_lane.sql {
        Sql::Postgres(_) => "now() - interval '1 second'",
        Sql::MariaDb(_) => "UTC_TIMESTAMP(6) - INTERVAL 1 SECOND",
        Sql::Sqlite(_) => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 seconds')",
    };
    webhook_lane.sql.must(&format!("UPDATE service_accounts SET previous_until = {then}")).await;
    webhook_lane.job("ONE", &url, &[("service_account_id", &sandbox)]).await;
    let request = webhook_lane.delivery("ONE").await;
    assert_eq!(request.header("webhook-signature").matches("v1,").count(), 1, "{request:?}");
    assert!(is_genuine(&request, NEW).await && !is_genuine(&request, OLD).await, "{request:?}");
}

async fn never_without_its_secret(webhook_lane: &WebhookLane) {
    let url = webhook_lane.receiver.url("ok");
    let late = webhook_lane.account(&["create", "late", "--host", "*", "--signing", "file://late"]);
    webhook_lane.job("LATE", &url, &[("service_account_id", &late)]).await;
    webhook_lane.job("NOBODY", &url, &[("service_account_id", "0HZXEQ5Y8JY99")]).await;
    let waits = |row: &[String]| row[2] != "NULL";
    let row = webhook_lane.job_row("LATE", waits).await;
    assert_eq!((row[0].as_str(), row[1].as_str()), ("QUEUED", "0"), "it keeps its state: {row:?}");
    assert!(row[2].contains("signing secret"), "{row:?}");
    let row = webhook_lane.job_row("NOBODY", waits).await;
    assert_eq!((row[0].as_str(), row[1].as_str()), ("QUEUED", "0"), "{row:?}");
    assert_eq!(webhook_lane.sql.count("dispatch_attempts WHERE job_id IN ('LATE', 'NOBODY')").await, Some(0));
    assert!(
        webhook_lane.receiver.requests_of("LATE").is_empty()
            && webhook_lane.receiver.requests_of("NOBODY").is_empty()
    );
    std::fs::write(webhook_lane.installation.sandbox.path("late"), NEW).unwrap();
    wait_until("the secret is found", TIMEOUT, || async {
        // Make the job due now, instead of in half a minute.
        let hurry = "UPDATE dispatch_jobs SET next_attempt_at = NULL WHERE id = 'LATE' AND status = 'QUEUED'";
        webhook_lane.sql.must(hurry).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        (!webhook_lane.receiver.requests_of("LATE").is_empty()).then_some(())
    })
    .await;
    assert!(is_genuine(&webhook_lane.delivery("LATE").await, NEW).await);
    let row = webhook_lane.job_row("LATE", |row| row[0] == "COMPLETED").await;
    assert_eq!(row[1..], ["1", "NULL"], "waiting cost nothing");
}

/// Inserts the job directly, as the API would refuse it.
async fn never_to_another_host(webhook_lane: &WebhookLane) {
    let url = webhook_lane.receiver.url("ok");
    let elsewhere =
        webhook_lane.account(&["create", "elsewhere", "--host", "*.example.com", "--signing", "file://old"]);
    webhook_lane.job("ELSEWHERE", &url, &[("service_account_id", &elsewhere)]).await;
    let row = webhook_lane.job_row("ELSEWHERE", |row| row[2] != "NULL").await;
    assert_eq!(row[..2], ["QUEUED", "0"], "{row:?}");
    assert!(row[2].contains("not for the host 127.0.0.1"), "{row:?}");
    assert!(webhook_lane.receiver.requests_of("ELSEWHERE").is_empty());
}

async fn subscriptions(webhook_lane: &WebhookLane) {
    webhook_lane.subscription("0HZXEQ5Y8JY44").await;
    webhook_lane.subscription("0HZXEQ5Y8JY55").await;
    webhook_lane
        .job("LATER", &webhook_lane.receiver.url("later"), &[("subscription_id", "0HZXEQ5Y8JY55")])
        .await;
    let row = webhook_lane.job_row("LATER", |row| row[2].contains("asks to come back in 3600 s")).await;
    assert_eq!(row[..2], ["QUEUED", "0"], "it comes again, and no attempt is spent: {row:?}");
    assert_eq!(webhook_lane.sql.count("dispatch_attempts WHERE job_id = 'LATER'").await, Some(0));
    let hour = match webhook_lane.sql {
        Sql::Postgres(_) => "now() + interval '50 minutes'",
        Sql::MariaDb(_) => "UTC_TIMESTAMP(6) + INTERVAL 50 MINUTE",
        Sql::Sqlite(_) => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+50 minutes')",
    };
    let waits = format!("dispatch_jobs WHERE id = 'LATER' AND next_attempt_at > {hour}");
    assert_eq!(webhook_lane.sql.count(&waits).await, Some(1), "as the receiver asked");

    webhook_lane
        .job("GONE", &webhook_lane.receiver.url("gone"), &[("subscription_id", "0HZXEQ5Y8JY44")])
        .await;
    assert_eq!(webhook_lane.attempt("GONE").await[1..4], ["CLIENT_ERROR", "410", "PERMANENT"]);
    let paused = "dispatch_subscriptions WHERE id = '0HZXEQ5Y8JY44'";
    let row = webhook_lane.row(paused, &["paused_reason"], |row| row[0] != "NULL").await;
    assert!(row[0].contains("410"), "{row:?}");
    webhook_lane
        .job("WAITS", &webhook_lane.receiver.url("ok"), &[("subscription_id", "0HZXEQ5Y8JY44")])
        .await;
    let row = webhook_lane.job_row("WAITS", |row| row[0] == "COMPLETED" || row[2] != "NULL").await;
    assert!(row[0] == "QUEUED" && row[2].contains("paused"), "{row:?}");
    held_back(webhook_lane).await;
}

/// Only the jobs in flight fail when a receiver answers that it is gone; its other jobs are held back.
async fn held_back(webhook_lane: &WebhookLane) {
    const JOBS: usize = 300;
    webhook_lane.subscription("0HZXEQ5Y8JY66").await;
    let gone = WebhookReceiver::start(|_, _| Reply::status(410)).await;
    let rows: Vec<String> = (0..JOBS)
        .map(|n| format!("('MANY{n}', 'a:b:c:d', '{}', '{{}}', '0HZXEQ5Y8JY66')", gone.url("gone")))
        .collect();
    let columns = "id, code, target_url, payload, subscription_id";
    webhook_lane.sql.must(&format!("INSERT INTO dispatch_jobs ({columns}) VALUES {}", rows.join(", "))).await;
    wait_until("all were looked at", TIMEOUT, || async {
        let seen =
            "dispatch_jobs WHERE id LIKE 'MANY%' AND last_error IS NOT NULL AND status <> 'IN_PROGRESS'";
        (webhook_lane.sql.count(seen).await == Some(JOBS as u64)).then_some(())
    })
    .await;
    let dead =
        webhook_lane.sql.count("dispatch_jobs WHERE id LIKE 'MANY%' AND status = 'ERROR'").await.unwrap();
    assert!((1..=8).contains(&dead), "{dead} of {JOBS} ended for good");
    assert_eq!(gone.journal().len() as u64, dead, "the others were not sent");
    let free = "dispatch_jobs WHERE id LIKE 'MANY%' AND status = 'QUEUED' AND attempt_count = 0";
    assert_eq!(webhook_lane.sql.count(free).await, Some(JOBS as u64 - dead));
}

async fn failures(webhook_lane: &WebhookLane) {
    let busy = WebhookReceiver::start(|_, _| Reply::status(429).with("retry-after: 3600")).await;
    webhook_lane.job("BUSY1", &busy.url("x"), &[]).await;
    assert_eq!(webhook_lane.attempt("BUSY1").await[..4], ["1", "CLIENT_ERROR", "429", "TRANSIENT"]);
    webhook_lane.job("BUSY2", &busy.url("y"), &[]).await;
    let row = webhook_lane.job_row("BUSY2", |row| row[2] != "NULL").await;
    assert_eq!((row[0].as_str(), row[1].as_str()), ("QUEUED", "0"), "the whole host is held: {row:?}");
    assert_eq!(busy.journal().len(), 1);

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    webhook_lane.job("CLOSED", &format!("http://{closed}/"), &[]).await;
    assert_eq!(webhook_lane.attempt("CLOSED").await[..4], ["1", "CONNECTION_ERROR", "NULL", "TRANSIENT"]);
    let chain = webhook_lane
        .row("dispatch_attempts WHERE job_id = 'CLOSED'", &["error_message", "error_stack_trace"], |_| true)
        .await;
    assert!(chain[0] != "NULL" && chain[1].to_lowercase().contains("refused"), "{chain:?}");
    webhook_lane.job("PRIVATE", "http://10.255.255.1/", &[]).await;
    assert_eq!(webhook_lane.attempt("PRIVATE").await[..4], ["1", "CONNECTION_ERROR", "NULL", "PERMANENT"]);
    webhook_lane.job("BROKEN", &webhook_lane.receiver.url("broken"), &[("retry_strategy", "[0]")]).await;
    let row = webhook_lane.job_row("BROKEN", |row| row[1] == "3").await;
    assert_eq!(row[0], "ERROR", "{row:?}");
    assert_eq!(
        webhook_lane.sql.count("dispatch_attempts WHERE job_id = 'BROKEN' AND response_code = 500").await,
        Some(3)
    );
    let dead = webhook_lane.sql.count("dispatch_jobs WHERE id = 'BROKEN' AND next_attempt_at IS NULL").await;
    assert_eq!(dead, Some(1), "its attempts are spent");
}
