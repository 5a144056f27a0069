use std::sync::Mutex;

use postrider_engine::{Health, LaneStatus};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::*;

struct Answer {
    code: u16,
    body: String,
}

async fn get(address: SocketAddr, path: &str) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let code = text.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    Answer { code, body: body.to_owned() }
}

fn status(lane: &str, health: Health) -> LaneStatus {
    LaneStatus {
        lane: lane.to_owned(),
        contract: "mail_outbox".to_owned(),
        stage: "dispatch".to_owned(),
        health,
        held: 0,
        claimed: 0,
        delivered: 0,
        retried: 0,
        failed: 0,
        lost: 0,
        reclaimed: 0,
        store_trouble: None,
        target_trouble: None,
        stuck_for: None,
    }
}

/// Starts a server whose lanes the test sets.
async fn served(
    lanes: Arc<Mutex<Vec<LaneStatus>>>,
) -> (SocketAddr, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = listener.address();
    let (stop, stopped) = oneshot::channel::<()>();
    let (recorder, _installed) = MetricsRecorder::separate();
    let source: Arc<dyn Lanes> = Arc::new(move || lanes.lock().unwrap().clone());
    let running = tokio::spawn(async move {
        let shutdown = async move {
            let _ = stopped.await;
        };
        listener.serve(source, recorder, None, MetricsAccess::Open, shutdown).await;
    });
    (address, stop, running)
}

#[tokio::test]
async fn ready_only_when_every_lane_is() {
    let lanes = Arc::new(Mutex::new(vec![status("mail", Health::Running), status("bulk", Health::Paused)]));
    let (address, _stop, _running) = served(lanes.clone()).await;
    let answer = get(address, "/readyz").await;
    assert_eq!(answer.code, 200, "running and paused lanes are as they should be: {}", answer.body);

    lanes.lock().unwrap()[1].health = Health::StoreUnavailable { reason: "connection refused".to_owned() };
    let answer = get(address, "/readyz").await;
    assert_eq!(answer.code, 503);
    let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(body["ready"], false);
    assert_eq!(body["lanes"][0]["ready"], true);
    assert_eq!(body["lanes"][1]["lane"], "bulk");
    assert_eq!(body["lanes"][1]["health"], "store_away");
    assert_eq!(body["lanes"][1]["reason"], "connection refused");

    lanes.lock().unwrap()[1].health = Health::Stalled { reason: "nothing moved for 5m".to_owned() };
    assert_eq!(get(address, "/readyz").await.code, 503);
    lanes.lock().unwrap()[1].stuck_for = Some(Duration::from_secs(299));
    assert_eq!(get(address, "/healthz").await.code, 200, "a short stall is no reason to restart the process");
    lanes.lock().unwrap()[1].stuck_for = Some(Duration::from_mins(5));
    let answer = get(address, "/healthz").await;
    assert_eq!((answer.code, answer.body.contains("lane bulk")), (503, true), "{}", answer.body);
}

#[tokio::test]
async fn no_lane_at_all_is_ready() {
    let (address, _stop, _running) = served(Arc::default()).await;
    assert_eq!(get(address, "/readyz").await.code, 200);
    assert_eq!(get(address, "/nowhere").await.code, 404);
}

#[test]
fn histograms_of_seconds_have_buckets() {
    let (metrics, recorder) = MetricsRecorder::separate();
    metrics::with_local_recorder(&recorder, || {
        metrics::counter!("postrider_delivered_total", "lane" => "mail").increment(3);
        metrics::histogram!("postrider_deliver_seconds", "lane" => "mail").record(0.004);
    });
    let text = metrics.render();
    assert!(text.contains("postrider_delivered_total{lane=\"mail\"} 3"), "{text}");
    assert!(text.contains("postrider_deliver_seconds_bucket{lane=\"mail\",le=\"0.0025\"} 0"), "{text}");
    assert!(text.contains("postrider_deliver_seconds_bucket{lane=\"mail\",le=\"0.005\"} 1"), "{text}");
}

#[tokio::test]
async fn a_port_in_use_is_reported_with_advice() {
    let first = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let error = Listener::bind(first.address()).await.unwrap_err();
    assert!(error.to_string().contains("--listen"), "{error}");
}

#[tokio::test]
async fn shutdown_ends_the_listener() {
    let (address, stop, running) = served(Arc::default()).await;
    assert_eq!(get(address, "/healthz").await.body, "ok\n");
    stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(5), running).await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "the port is free again");
}

#[tokio::test]
async fn unknown_paths_get_a_problem_response() {
    let (address, stop, running) = served(Arc::default()).await;
    for path in ["/nothing", "/api/v2/dispatch-jobs", "/metrics/more"] {
        let answer = get(address, path).await;
        let problem: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.code, &problem["title"]), (404, &"Not Found".into()), "{path}");
    }
    stop.send(()).unwrap();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_head_that_never_ends_closes_its_connection() {
    let (address, _stop, _running) = served(Arc::default()).await;
    let start = tokio::time::Instant::now();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: test\r\nX-Slow: ").await.unwrap();
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer).await;
    assert!(ended.is_err() || answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    let took = start.elapsed();
    assert!((29..=31).contains(&took.as_secs()), "closed after {took:?}");
}
