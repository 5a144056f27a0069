//! Measures the console's requests to the real binary with millions of rows in a lane on PostgreSQL: the time of each
//! page's calls, and the load of an open overview on the database per minute.

mod setup;

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::Instant;

use self::setup::ConsoleSetup;
use crate::binary;
use crate::report::{Figure, Report};

/// Repetitions of each call; the slowest counts.
const TRIES: usize = 5;
/// Time limit of a call, and limit of the database's work per minute of an open overview.
const MAX_MILLIS: f64 = 300.0;
const MAX_COST_MILLIS: f64 = 600.0;

/// Measures all calls with this many rows.
pub async fn run(report: Report, rows: u64) {
    let setup = ConsoleSetup::create().await;
    Report::progress(&format!("filling {rows} mails and as many jobs"));
    setup.fill(rows).await;
    let key = binary::output_of(setup.config(), &["key", "create", "bench", "--role", "operator"]).await;
    let mut server = binary::start(setup.config());
    let caller = ConsoleClient {
        web: Client::builder(TokioExecutor::new()).build_http(),
        base: setup.base.clone(),
        key,
    };
    while caller.request_millis("GET", "/api/v1/lanes", "").await.is_none() {
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(server.try_wait().expect("asked").is_none(), "postrider ended early");
    }
    let mut slow = Vec::new();
    for (name, method, path, body) in calls(rows) {
        let mut worst: f64 = 0.0;
        for _ in 0..TRIES {
            let millis = caller
                .request_millis(method, &path, &body)
                .await
                .unwrap_or_else(|| panic!("{name} is answered"));
            worst = worst.max(millis);
        }
        report.print(&Figure::new("console", name, worst, "ms, slowest of 5"));
        if worst > MAX_MILLIS {
            slow.push(name);
        }
    }
    let idle = setup.database_millis_per_minute(None).await;
    let open = setup.database_millis_per_minute(Some(&caller)).await;
    report.print(&Figure::new("console", "database time per minute, no open overview", idle, "ms"));
    report.print(&Figure::new("console", "database time per minute, an open overview", open, "ms"));
    binary::stop(&mut server).await;
    assert!(slow.is_empty(), "slower than {MAX_MILLIS} ms: {slow:?}");
    assert!(open - idle < MAX_COST_MILLIS, "an open overview costs {:.0} ms a minute", open - idle);
}

/// The calls: name, method, path, body.
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
    calls.extend(jobs(middle));
    calls.push(get("subscriptions", "/api/v1/subscriptions".to_owned()));
    calls.push(get("pools", "/api/v1/dispatch-pools".to_owned()));
    calls.push(get("accounts", "/api/v1/service-accounts".to_owned()));
    calls
}

/// The calls of the pages of webhook jobs, to their lane and to the API.
fn jobs(middle: u64) -> Vec<(&'static str, &'static str, String, String)> {
    let (lane, list) = ("/api/v1/lanes/jobs", "/api/v1/dispatch-jobs");
    let job = format!("{middle:013}");
    let get = |name, path: String| (name, "GET", path, String::new());
    let mut calls = vec![
        get("job", format!("{list}/{job}")),
        get("job as a row", format!("{lane}/rows/{job}")),
        get("lane of jobs", lane.to_owned()),
        get("rows of jobs, dead by error, none", format!("{lane}/rows?by=error&text=nothing")),
        get("rows of jobs, by group", format!("{lane}/rows?by=group&text=order-77")),
    ];
    for (name, query) in [
        ("jobs", ""),
        ("jobs in ERROR", "?status=ERROR"),
        ("jobs COMPLETED", "?status=COMPLETED"),
        ("jobs CANCELLED, none", "?status=CANCELLED"),
        ("jobs of a client", "?clientId=client-7"),
        ("jobs of a client in ERROR", "?clientId=client-7&status=ERROR"),
        ("jobs of a code", "?code=shop:orders:order:created7"),
        ("jobs by metadata", "?metadataKey=order&metadataValue=77"),
        ("jobs since a time", "?createdAfter=2020-01-01T00:00:00Z"),
        ("jobs retryable", "?retryable=true"),
    ] {
        calls.push(get(name, format!("{list}{query}")));
    }
    calls
}

fn hex(text: &str) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).expect("half a byte is a digit");
    text.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

struct ConsoleClient {
    web: Client<HttpConnector, Full<Bytes>>,
    base: String,
    key: String,
}

impl ConsoleClient {
    fn request(&self, method: &str, path: &str, body: &str) -> Request<Full<Bytes>> {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        let request = request.header("authorization", format!("Bearer {}", self.key));
        let request =
            if body.is_empty() { request } else { request.header("content-type", "application/json") };
        request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request of ours")
    }

    /// Milliseconds until the complete answer has arrived; `None` if it is an error.
    async fn request_millis(&self, method: &str, path: &str, body: &str) -> Option<f64> {
        let started = Instant::now();
        let answer = self.web.request(self.request(method, path, body)).await.ok()?;
        let fine = answer.status().is_success();
        answer.into_body().collect().await.ok()?;
        fine.then(|| started.elapsed().as_secs_f64() * 1000.0)
    }
}
