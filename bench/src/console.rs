//! The console's questions to the real binary with millions of rows in a lane on PostgreSQL: how long each page's calls take
//! the server, and what an open overview costs the database in a minute.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};
use tokio::time::Instant;

use crate::product;
use crate::report::{Figure, Report};
use crate::servers::variable;

/// Each call, so often; the slowest counts.
const TRIES: usize = 5;
/// What a call may take, and what a minute of an open overview may cost the database.
const MOST_MILLIS: f64 = 300.0;
const MOST_COST: f64 = 600.0;

pub async fn run(report: Report, rows: u64) {
    let site = Site::create().await;
    Report::say(&format!("filling {rows} rows"));
    site.fill(rows).await;
    let key = product::say(&site.config, &["key", "create", "bench", "--role", "operator"]).await;
    let mut server = product::start(&site.config);
    let caller =
        Caller { web: Client::builder(TokioExecutor::new()).build_http(), base: site.base.clone(), key };
    while caller.ask("GET", "/api/v1/lanes", "").await.is_none() {
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(server.try_wait().expect("asked").is_none(), "postrider ended early");
    }
    let mut slow = Vec::new();
    for (name, method, path, body) in calls(rows) {
        let mut worst: f64 = 0.0;
        for _ in 0..TRIES {
            let millis =
                caller.ask(method, &path, &body).await.unwrap_or_else(|| panic!("{name} is answered"));
            worst = worst.max(millis);
        }
        report.print(&Figure::new("console", name, worst, "ms, slowest of 5"));
        if worst > MOST_MILLIS {
            slow.push(name);
        }
    }
    let idle = site.minute(None).await;
    let open = site.minute(Some(&caller)).await;
    report.print(&Figure::new("console", "the database's minute, nobody looks", idle, "ms"));
    report.print(&Figure::new("console", "the database's minute, an open overview", open, "ms"));
    product::stop(&mut server).await;
    assert!(slow.is_empty(), "slower than {MOST_MILLIS} ms: {slow:?}");
    assert!(open - idle < MOST_COST, "an open overview costs {:.0} ms a minute", open - idle);
}

/// Name, method, path, body.
fn calls(rows: u64) -> Vec<(&'static str, &'static str, String, String)> {
    let lane = "/api/v1/lanes/mail";
    let middle = rows / 2;
    let page = hex(&middle.to_string());
    let get = |name, path: String| (name, "GET", path, String::new());
    let mut calls = vec![
        get("overview", "/api/v1/overview".to_owned()),
        get("lane", lane.to_owned()),
        get("rows, newest", format!("{lane}/rows")),
        get("rows, oldest", format!("{lane}/rows?order=oldest")),
        get("rows, a page in the middle", format!("{lane}/rows?cursor={page}")),
    ];
    for (name, query) in [
        ("queued, newest", "state=queued"),
        ("queued, oldest", "state=queued&order=oldest"),
        ("sent, newest", "state=sent"),
        ("sent, oldest", "state=sent&order=oldest"),
        ("failed, newest", "state=failed"),
        ("failed, oldest", "state=failed&order=oldest"),
        ("dispatching", "state=dispatching"),
        ("by key, exact", "by=key&text=key-77"),
        ("by key, prefix", "by=key&text=key-77&match=prefix"),
        ("by recipient", "by=recipient&text=someone7@"),
        ("by recipient, none", "by=recipient&text=nobody@"),
        ("by error", "by=error&text=550"),
        ("by error, none", "by=error&text=nothing"),
    ] {
        calls.push(get(name, format!("{lane}/rows?{query}")));
    }
    calls.push(get("by id", format!("{lane}/rows?by=id&text={middle}")));
    calls.push(get("row", format!("{lane}/rows/{middle}")));
    calls.push(get("row's mail", format!("{lane}/rows/{middle}/mail.html")));
    calls.push(get("row's .eml", format!("{lane}/rows/{middle}/mail.eml")));
    let preview = r#"{"state":"failed","preview":true}"#.to_owned();
    calls.push(("preview of a requeue", "POST", format!("{lane}/requeue"), preview));
    calls.push(get("check", "/api/v1/check".to_owned()));
    calls.push(get("events", "/api/v1/events".to_owned()));
    calls.push(get("jobs", "/api/v1/dispatch-jobs".to_owned()));
    calls.push(get("subscriptions", "/api/v1/subscriptions".to_owned()));
    calls.push(get("pools", "/api/v1/dispatch-pools".to_owned()));
    calls.push(get("accounts", "/api/v1/service-accounts".to_owned()));
    calls
}

fn hex(text: &str) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).expect("half a byte is a digit");
    text.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

struct Caller {
    web: Client<HttpConnector, Full<Bytes>>,
    base: String,
    key: String,
}

impl Caller {
    fn request(&self, method: &str, path: &str, body: &str) -> Request<Full<Bytes>> {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        let request = request.header("authorization", format!("Bearer {}", self.key));
        let request =
            if body.is_empty() { request } else { request.header("content-type", "application/json") };
        request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request of ours")
    }

    /// Milliseconds until the whole answer is there; `None` where it is a refusal.
    async fn ask(&self, method: &str, path: &str, body: &str) -> Option<f64> {
        let started = Instant::now();
        let answer = self.web.request(self.request(method, path, body)).await.ok()?;
        let fine = answer.status().is_success();
        answer.into_body().collect().await.ok()?;
        fine.then(|| started.elapsed().as_secs_f64() * 1000.0)
    }
}

struct Site {
    url: String,
    base: String,
    config: PathBuf,
    _folder: tempfile::TempDir,
}

impl Site {
    async fn create() -> Self {
        let server = variable("POSTRIDER_TEST_POSTGRES");
        let mut admin = PgConnection::connect(&server).await.expect("PostgreSQL answers");
        admin.execute("DROP DATABASE IF EXISTS bench_console WITH (FORCE)").await.expect("dropped");
        admin.execute("CREATE DATABASE bench_console").await.expect("created");
        let (address, _) = server.rsplit_once('/').expect("a URL has a path");
        let url = format!("{address}/bench_console");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = folder.path().join("postrider.toml");
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:{port}\"\napi = \"main\"\n\n[stores.main]\nurl = \"{url}\"\n\n\
             [transports.folder]\nurl = \"file:outbox\"\n\n[mail]\nfrom = \"shop@example.com\"\n\n\
             [lanes.mail]\ncontract = \"mail_outbox\"\ntransport = \"folder\"\n"
        );
        std::fs::write(&config, text).expect("written");
        product::migrate(&config).await;
        let site = Self { url, base: format!("http://127.0.0.1:{port}"), config, _folder: folder };
        site.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await;
        site
    }

    async fn execute(&self, statement: &str) {
        let mut connection = PgConnection::connect(&self.url).await.expect("connected");
        connection.execute(AssertSqlSafe(statement)).await.expect("the bench's own SQL is right");
    }

    /// Nine of ten are sent, one in a hundred failed, the newest wait for next century.
    async fn fill(&self, rows: u64) {
        let state = format!(
            "CASE WHEN i > {} THEN 'queued' WHEN i % 100 = 7 THEN 'failed' ELSE 'sent' END",
            rows / 10 * 9
        );
        let insert = format!(
            "INSERT INTO mail_outbox (status, retry_count, next_attempt_at, last_error, to_addresses, subject, body_text, \
             idempotency_key, created_at, sent_at) SELECT s, CASE s WHEN 'queued' THEN 0 ELSE 1 END, '2099-01-01', \
             CASE s WHEN 'failed' THEN '550 no such user' END, 'someone' || i || '@example.com', 'Order ' || i, \
             repeat('Thank you. ', 20), 'key-' || i, now() - interval '1 day', CASE s WHEN 'sent' THEN now() END \
             FROM (SELECT i, {state} AS s FROM generate_series(1, {rows}) AS i) AS made"
        );
        self.execute(&insert).await;
        self.execute("VACUUM ANALYZE mail_outbox").await;
        self.execute("CHECKPOINT").await;
    }

    /// Milliseconds that the database worked in a minute, with an overview open or not.
    async fn minute(&self, viewer: Option<&Caller>) -> f64 {
        self.execute("SELECT pg_stat_statements_reset()").await;
        let minute = tokio::time::sleep(Duration::from_mins(1));
        match viewer {
            None => minute.await,
            Some(caller) => {
                let request = caller.request("GET", "/api/v1/overview/stream", "");
                let mut stream = caller.web.request(request).await.expect("the stream opens").into_body();
                let reading = async { while stream.frame().await.is_some() {} };
                tokio::select! { () = minute => {}, () = reading => panic!("the stream ended") }
            }
        }
        let mut connection = PgConnection::connect(&self.url).await.expect("connected");
        let sum = "SELECT coalesce(sum(total_exec_time), 0)::float8 FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid \
                   WHERE d.datname = current_database() AND query NOT LIKE '%pg_stat_statements%'";
        connection.fetch_one(sum).await.expect("a sum").get(0)
    }
}
