//! Calls the API without a socket.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use postrider_contract::Contract;
use postrider_engine::{Health, LaneStatus};
use postrider_seams::inspect::{Finding, Level};
use postrider_seams::transport::TargetHold;
use postrider_seams::{Backend, Content, Envelope, Inspect, Webhook, store};
use postrider_server::api::{EmailIntake, EmailKind, IntakeLane, Limits, Refusal};
use postrider_server::{Api, LaneControl, LaneDefinition};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::fixture::Fixture;

/// Fake lanes that only record calls.
#[derive(Default)]
pub struct Lanes {
    pub paused: Mutex<Vec<(String, bool)>>,
    /// The hold that the transport reports.
    pub held: Mutex<Option<TargetHold>>,
    /// The table of the one lane.
    pub table: Option<Arc<dyn Backend>>,
}

#[async_trait]
impl LaneControl for Lanes {
    fn lanes(&self) -> Vec<LaneStatus> {
        vec![LaneStatus {
            lane: "dispatch_jobs".to_owned(),
            contract: "dispatch_jobs".to_owned(),
            stage: "deliver".to_owned(),
            health: Health::Running,
            held: 1,
            claimed: 2,
            delivered: 3,
            retried: 4,
            failed: 5,
            lost: 6,
            reclaimed: 7,
            store_trouble: None,
            target_trouble: None,
            stuck_for: None,
        }]
    }

    fn definition(&self, lane: &str) -> Option<LaneDefinition> {
        let text = Contract::builtin("dispatch_jobs").expect("a contract of ours");
        let contract = Arc::new(Contract::parse("dispatch_jobs.toml", text).expect("it parses"));
        let settings = vec![("concurrency".to_owned(), "8".to_owned())];
        let (store, transport) = ("main".to_owned(), "hooks".to_owned());
        (lane == "dispatch_jobs").then_some(LaneDefinition { contract, stage: 0, store, transport, settings })
    }

    async fn table(&self, lane: &str) -> Result<Option<Arc<dyn Inspect>>, store::Error> {
        let table = self.table.clone().filter(|_| lane == "dispatch_jobs");
        Ok(table.map(|table| table as Arc<dyn Inspect>))
    }

    async fn compose(&self, lane: &str, id: &str) -> Result<Option<Result<Envelope, String>>, store::Error> {
        let Some(table) = self.table(lane).await? else { return Ok(None) };
        let Some(row) = table.show(id).await? else { return Ok(None) };
        let webhook = Webhook {
            url: row.column("target_url").unwrap_or_default().to_owned(),
            headers: Vec::new(),
            content_type: "application/json".to_owned(),
            body: row.column("payload").unwrap_or_default().to_owned().into(),
            timeout: None,
            authorization: None,
            signing: Vec::new(),
            may_postpone: false,
            follows_retry_after: true,
            subscription: None,
            client: None,
            clock_offset: 0,
            allowed_hosts: None,
            recheck: None,
        };
        let content = Content::Webhook(Box::new(webhook));
        let envelope = Envelope {
            row: row.id.clone(),
            dedupe: row.id,
            attempt: 1,
            lease: postrider_seams::LeaseCheck::default(),
            content,
            detail: BTreeMap::new(),
        };
        Ok(Some(Ok(envelope)))
    }

    fn hold(&self, _: &str, _: &Envelope) -> Option<TargetHold> {
        self.held.lock().unwrap().clone()
    }

    async fn check(&self, _: &str) -> Vec<Finding> {
        let fix = Some("CREATE INDEX".to_owned());
        vec![Finding { level: Level::Warning, text: "an index is missing".to_owned(), fix }]
    }

    async fn set_paused(&self, lane: &str, paused: bool) -> Result<bool, store::Error> {
        self.paused.lock().unwrap().push((lane.to_owned(), paused));
        Ok(lane == "dispatch_jobs")
    }

    async fn publish_ready_rows(&self, _: &str) {}
}

/// A fake e-mail intake that only records the traces of accepted e-mails.
#[derive(Default)]
pub struct FakeIntake(pub Mutex<Vec<Option<String>>>);

#[async_trait]
impl EmailIntake for FakeIntake {
    fn lane_for(&self, _: Option<&str>, _: EmailKind) -> Result<IntakeLane, Refusal> {
        Ok(IntakeLane { lane: "intake".to_owned(), status: "ACCEPTED".to_owned(), limit: 1000 })
    }

    async fn accept(
        &self,
        _: &IntakeLane,
        _: EmailKind,
        id: Option<String>,
        _: Bytes,
        trace: Option<String>,
    ) -> Result<String, Refusal> {
        self.0.lock().unwrap().push(trace);
        Ok(id.unwrap_or_else(|| "e-1".to_owned()))
    }
}

/// The API under test.
pub struct TestApi {
    routes: Router,
    pub lanes: Arc<Lanes>,
    pub intake: Arc<FakeIntake>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or(Value::Null)
    }

    /// Asserts the status and returns the body.
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.bytes));
        self.json()
    }

    /// Asserts that the response is an error that names this field.
    pub fn problem(self, status: u16, field: &str) {
        let json = self.json();
        assert_eq!(self.status.as_u16(), status, "{json}");
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/problem+json");
        assert_eq!(json["status"], status);
        assert_eq!(json["errors"][0]["field"], field, "{json}");
    }
}

impl TestApi {
    pub fn new(fixture: &Fixture) -> Self {
        let lanes = Arc::new(Lanes { table: fixture.lane.clone(), ..Lanes::default() });
        let intake = Arc::new(FakeIntake::default());
        let api = Api::new(lanes.clone(), Limits::default()).with_email_intake(Some(intake.clone()));
        api.open(Arc::clone(&fixture.hub));
        Self { routes: api.into_routes(), lanes, intake }
    }

    /// Creates the API before its database is open.
    pub fn closed() -> Self {
        let lanes = Arc::new(Lanes::default());
        let routes = Api::new(lanes.clone(), Limits::default()).into_routes();
        Self { routes, lanes, intake: Arc::default() }
    }

    /// Returns the response itself, whose body may be endless.
    pub async fn answer(&self, request: Request<Body>) -> axum::response::Response {
        self.routes.clone().oneshot(request).await.expect("routes never fail")
    }

    pub async fn ask(&self, request: Request<Body>) -> Answer {
        let answer = self.answer(request).await;
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes().to_vec();
        Answer { status: parts.status, headers: parts.headers, bytes }
    }

    pub async fn get(&self, key: &str, path: &str) -> Answer {
        let request = Request::get(format!("/api/v1{path}")).header("authorization", format!("Bearer {key}"));
        self.ask(request.body(Body::empty()).expect("a request")).await
    }

    pub async fn post(&self, key: &str, path: &str, body: &Value) -> Answer {
        self.send("POST", key, path, body).await
    }

    /// Sends a POST request with an `Idempotency-Key`.
    pub async fn post_once(&self, key: &str, path: &str, once: &str, body: &Value) -> Answer {
        let request =
            Request::post(format!("/api/v1{path}")).header("authorization", format!("Bearer {key}"));
        let request = request.header("content-type", "application/json").header("idempotency-key", once);
        self.ask(request.body(Body::from(body.to_string())).expect("a request")).await
    }

    pub async fn send(&self, method: &str, key: &str, path: &str, body: &Value) -> Answer {
        let request = Request::builder().method(method).uri(format!("/api/v1{path}"));
        let request = request.header("authorization", format!("Bearer {key}"));
        let request = request.header("content-type", "application/json");
        self.ask(request.body(Body::from(body.to_string())).expect("a request")).await
    }

    /// Sends a POST request without a body.
    pub async fn act(&self, key: &str, path: &str) -> Answer {
        let request =
            Request::post(format!("/api/v1{path}")).header("authorization", format!("Bearer {key}"));
        self.ask(request.body(Body::empty()).expect("a request")).await
    }
}
