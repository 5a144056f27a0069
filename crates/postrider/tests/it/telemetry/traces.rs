//! One trace from the producer's row to the receiver's header, sent to a collector; and a lane that works without one.

use serde_json::Value;

use crate::sandbox::{RunningBinary, Sandbox, eventually};
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::{Reply, WebhookReceiver};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn parent() -> String {
    format!("00-{TRACE}-{SPAN}-01")
}

/// The spans of our trace, from all requests that the collector received.
fn spans(collector: &WebhookReceiver) -> Vec<Value> {
    let mut found = Vec::new();
    for request in collector.journal() {
        assert_eq!(
            (request.path.as_str(), request.header("content-type")),
            ("/v1/traces", "application/json")
        );
        let body: Value = serde_json::from_str(&request.body).expect("OTLP in JSON");
        for resource in body["resourceSpans"].as_array().unwrap() {
            let service = &resource["resource"]["attributes"][0];
            assert_eq!(
                (&service["key"], &service["value"]["stringValue"]),
                (&"service.name".into(), &"shop".into())
            );
            for scope in resource["scopeSpans"].as_array().unwrap() {
                found.extend(
                    scope["spans"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .filter(|span| span["traceId"] == TRACE)
                        .cloned(),
                );
            }
        }
    }
    found
}

fn named<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("no span {name} in {spans:?}"))
}

fn attribute<'a>(span: &'a Value, name: &str) -> &'a Value {
    let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == name);
    let value = &found.unwrap_or_else(|| panic!("no {name} in {span}"))["value"];
    value.get("stringValue").or_else(|| value.get("intValue")).unwrap()
}

/// Checks that the five spans of one attempt have the right parents; returns the id of the delivery's span.
fn check(spans: &[Value], lane: &str, transition: &str) -> String {
    let whole = named(spans, &format!("postrider {lane}"));
    assert_eq!(whole["parentSpanId"], SPAN, "the producer's span is the parent");
    assert_eq!(attribute(whole, "postrider.lane"), lane);
    assert_eq!(attribute(whole, "postrider.attempt"), "1");
    assert_eq!(attribute(whole, "postrider.transition"), transition);
    assert!(attribute(whole, "postrider.row").as_str().is_some_and(|row| !row.is_empty()));
    let nanos = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
    for name in ["claim", "compose", "deliver", "settle"] {
        let span = named(spans, name);
        assert_eq!(span["parentSpanId"], whole["spanId"], "{name}");
        assert!(nanos(span, "startTimeUnixNano") >= nanos(whole, "startTimeUnixNano"), "{name}");
        assert!(nanos(span, "startTimeUnixNano") <= nanos(span, "endTimeUnixNano"), "{name}");
        assert!(nanos(span, "endTimeUnixNano") <= nanos(whole, "endTimeUnixNano"), "{name}");
    }
    // From 2026 to 2100: the collector gets wall clock time.
    assert!((1_767_225_600..4_102_444_800).contains(&(nanos(whole, "startTimeUnixNano") / 1_000_000_000)));
    named(spans, "deliver")["spanId"].as_str().unwrap().to_owned()
}

async fn received_spans(collector: &WebhookReceiver, wanted: usize) -> Vec<Value> {
    wait_until("the collector has the spans", TIMEOUT, || async {
        Some(spans(collector)).filter(|spans| spans.len() >= wanted)
    })
    .await
}

fn records(sandbox: &Sandbox) -> Vec<Value> {
    let files =
        std::fs::read_dir(sandbox.path("outbox")).into_iter().flatten().map(|file| file.unwrap().path());
    let records = files.filter(|path| path.extension().is_some_and(|end| end == "record"));
    let head =
        |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap().lines().next().unwrap().to_owned();
    records.map(|path| serde_json::from_str(&head(path)).unwrap()).collect()
}

fn outbox(telemetry: &str) -> Sandbox {
    let sandbox = Sandbox::new(Some(&format!(
        "[stores.main]\nurl = \"sqlite:app.db\"\n[transports.out]\nurl = \"file:outbox\"\n{telemetry}\n\
         [lanes.events]\ncontract = \"outbox\"\npoll = \"50ms\"\n"
    )));
    sandbox.run(&["migrate"]).success();
    sandbox
}

fn send_record(sandbox: &Sandbox) {
    let words = ["send", "record", "--lane", "events", "--topic", "deals", "--payload", "{}"];
    sandbox.run(&[&words[..], &["--traceparent", &parent()]].concat()).success();
}

#[tokio::test(flavor = "multi_thread")]
async fn o09_a_record_carries_its_producers_trace_to_the_consumer_and_to_the_collector() {
    let collector = WebhookReceiver::start(|_, _| Reply::status(200).with_body("{}")).await;
    let url = collector.url("");
    let sandbox = outbox(&format!("[telemetry]\notlp = \"{url}\"\nservice = \"shop\""));
    send_record(&sandbox);
    let running = sandbox.start();
    let spans = received_spans(&collector, 5).await;
    let deliver = check(&spans, "events", "delivered");
    assert_eq!(attribute(named(&spans, "deliver"), "messaging.destination.name"), "deals");
    let records = records(&sandbox);
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["headers"]["traceparent"], format!("00-{TRACE}-{deliver}-01"), "{}", records[0]);
    drop(running);
}

/// POSTs a job; returns the status code.
fn post(running: &RunningBinary, key: &str, headers: &str, body: &str) -> u16 {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(running.address()).unwrap();
    write!(
        stream,
        "POST /api/v1/dispatch-jobs HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn j12_a_job_carries_its_callers_trace_to_the_receiver_and_to_the_collector() {
    let collector = WebhookReceiver::start(|_, _| Reply::status(200)).await;
    let receiver = WebhookReceiver::start(|_, _| Reply::status(200)).await;
    let sandbox = Sandbox::new(Some(
        "[stores.main]\nurl = \"sqlite:app.db\"\n[transports.hooks]\n\
         url = \"webhook://?allow=127.0.0.0/8&plain_http=allowed\"\n\
         [lanes.jobs]\ncontract = \"dispatch_jobs\"\npoll = \"50ms\"\n",
    ));
    sandbox.run(&["migrate"]).success();
    let base = collector.url("");
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", base.as_str()), ("OTEL_SERVICE_NAME", "shop")];
    let running = sandbox.start_with("run.log", &variables);
    let key = running.first_key();
    let target = receiver.url("orders");
    let body = format!(
        r#"{{"code": "shop:orders:order:created", "targetUrl": "{target}", "payload": "{{}}", "idempotencyKey": "o-1"}}"#
    );
    let header = format!("traceparent: {}\r\n", parent());
    let code = eventually("the API is open", || {
        Some(post(&running, &key, &header, &body)).filter(|code| *code != 503)
    });
    assert_eq!(code, 201);
    assert_eq!(post(&running, &key, "", &body), 200, "without its trace it is the same request");
    let spans = received_spans(&collector, 5).await;
    let deliver = check(&spans, "jobs", "delivered");
    let arrived = receiver.journal();
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0].header("traceparent"), format!("00-{TRACE}-{deliver}-01"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_collector_the_producers_trace_context_is_passed_on_unchanged() {
    let sandbox = outbox("");
    send_record(&sandbox);
    let running = sandbox.start();
    let records =
        eventually("the record is there", || Some(records(&sandbox)).filter(|records| !records.is_empty()));
    assert_eq!(records[0]["headers"]["traceparent"], parent());
    assert!(!running.get("/metrics").1.contains("postrider_spans"), "no span is counted without a collector");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unavailable_collector_costs_spans_and_one_warning_but_no_row() {
    let away = WebhookReceiver::start(|_, _| Reply::status(503)).await;
    let sandbox = outbox(&format!("[telemetry]\notlp = \"{}\"", away.url("")));
    for _ in 0..3 {
        send_record(&sandbox);
    }
    let running = sandbox.start();
    eventually("the records are there all the same", || (records(&sandbox).len() == 3).then_some(()));
    let dropped = |running: &RunningBinary| {
        let figures = running.get("/metrics").1;
        let name = "postrider_spans_dropped_total{reason=\"collector\"} ";
        figures.lines().find_map(|line| line.strip_prefix(name)?.parse::<f64>().ok()).unwrap_or_default()
    };
    wait_until("the spans are counted as dropped", TIMEOUT, || async {
        (dropped(&running) >= 15.0).then_some(())
    })
    .await;
    let before = dropped(&running);
    send_record(&sandbox);
    wait_until("and those that come after", TIMEOUT, || async { (dropped(&running) > before).then_some(()) })
        .await;
    let log = running.log();
    let warned = log.lines().filter(|line| line.contains("WARN") && line.contains("collector")).count();
    assert_eq!(warned, 1, "{log}");
}

#[test]
fn an_invalid_collector_url_is_a_mistake_in_the_settings() {
    let sandbox = Sandbox::new(Some(
        "[telemetry]\notlp = \"localhost:4318\"\nsample = 2\n[stores.main]\nurl = \"sqlite:app.db\"\n\
         [transports.out]\nurl = \"file:outbox\"\n[lanes.events]\ncontract = \"outbox\"\n",
    ));
    let output = sandbox.run(&["run"]).code(2);
    assert!(
        output.stderr.contains("telemetry.otlp") && output.stderr.contains("telemetry.sample"),
        "{}",
        output.stderr
    );
}
