//! The settings of a lane of records, in variables and in the file (O4), and the commands on such a lane.

use super::broker::{Broker, Protocol, unique};
use super::setup::OutboxLane;
use crate::sandbox::{Sandbox, eventually};
use crate::support::database::Kind;

#[test]
fn an_unsuitable_transport_is_a_mistake_in_the_settings() {
    let broker =
        "[stores.main]\nurl = \"sqlite:app.db\"\n[transports.out]\nurl = \"kafka://127.0.0.1:9092\"\n";
    let sandbox = Sandbox::new(Some(&format!("{broker}[lanes.mail]\ncontract = \"mail_outbox\"\n")));
    let output = sandbox.run(&["check"]).code(2);
    assert!(
        output.stderr.contains("lanes.mail.transport") && output.stderr.contains("is a broker"),
        "{}",
        output.stderr
    );
    let relay = broker.replace("kafka://127.0.0.1:9092", "smtp://127.0.0.1:25");
    let sandbox = Sandbox::new(Some(&format!("{relay}[lanes.events]\ncontract = \"outbox\"\n")));
    let output = sandbox.run(&["check"]).code(2);
    assert!(
        output.stderr.contains("lanes.events.transport") && output.stderr.contains("sends mail"),
        "{}",
        output.stderr
    );
}

#[test]
fn without_settings_records_go_to_a_folder() {
    let sandbox = Sandbox::new(None);
    let running = sandbox.start();
    eventually("the lanes run", || (running.get("/readyz").0 == 200).then_some(()));
    let record = ["send", "record", "--topic", "deals", "--key", "k", "--payload", "{\"a\": 1}"];
    let mut arguments = record.to_vec();
    arguments.extend(["--idempotency-key", "e-1", "--traceparent", "00-1-2-01"]);
    let id = sandbox.run(&arguments).success().stdout;
    assert_eq!(sandbox.run(&arguments).success().stdout, id, "the same key twice is one record");
    let file = sandbox.path("outbox/deals@e-1.record");
    let text = eventually("the record is in the folder", || std::fs::read_to_string(&file).ok());
    let (line, payload) = text.split_once('\n').unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(payload, "{\"a\": 1}");
    assert_eq!((&line["topic"], &line["key"]), (&"deals".into(), &"k".into()));
    assert_eq!(line["headers"]["traceparent"], "00-1-2-01");
    assert_eq!(line["headers"]["idempotency-key"], "e-1");
    eventually("status shows it", || {
        let status = sandbox.run(&["status"]).success().stdout;
        status.lines().any(|line| line.contains("outbox") && line.contains("DELIVERED")).then_some(())
    });
    assert!(
        sandbox
            .run(&["check", "outbox"])
            .success()
            .stdout
            .contains("transport `records` can write its folder")
    );
    assert!(sandbox.run(&["show", "outbox", id.trim()]).success().stdout.contains("DELIVERED"));
}

#[tokio::test(flavor = "multi_thread")]
async fn send_record_reaches_a_broker() {
    let broker = Broker::shared(Protocol::Kafka);
    let topic = unique("deals");
    broker.make(&topic).await;
    let outbox = OutboxLane::open(Kind::Postgres, &broker, "").await;
    let _running = outbox.start();
    outbox.sandbox.run(&["send", "record", "--topic", &topic, "--payload", "by hand"]).success();
    let seen = &broker.read(&topic, 1).await[0];
    assert_eq!((seen.payload.as_slice(), seen.key.as_deref()), (b"by hand".as_slice(), None));
    let output = outbox
        .sandbox
        .run(&["send", "mail", "--to", "a@example.com", "--subject", "x", "--text", "x"])
        .code(2);
    assert!(output.stderr.contains("no lane sends mail"), "{}", output.stderr);
}
