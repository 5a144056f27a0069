//! Invalid records of another program among valid ones on DynamoDB, processed by the real binary.

use std::time::Duration;

use postrider_services::{Ministack, boto3};

use super::settings;
use crate::sandbox::{Sandbox, eventually};
use crate::support::callback_receiver::CallbackReceiver;
use crate::support::wait::{TIMEOUT, wait_until};

const PRELUDE: &str = "
import sys, json, boto3
given = json.load(sys.stdin)
session = dict(endpoint_url=given['endpoint'], region_name='us-east-1', aws_access_key_id='t', aws_secret_access_key='t')
table = boto3.resource('dynamodb', **session).Table('emails')
";

pub async fn python(emulator: &Ministack, program: &str, rows: serde_json::Value) -> serde_json::Value {
    let input = serde_json::json!({ "endpoint": emulator.endpoint(), "rows": rows }).to_string();
    let program = format!("{PRELUDE}{program}");
    let ran = tokio::task::spawn_blocking(move || boto3::run(&program, &input)).await;
    let output = ran.expect("it is waited for").expect("Python starts");
    serde_json::from_str(&output.unwrap_or_else(|complaint| panic!("{complaint}"))).unwrap_or_default()
}

/// State and reason of an e-mail.
async fn latest(emulator: &Ministack, id: &str) -> (String, String) {
    let program = "
item = table.get_item(Key=dict(Id=given['rows'], Status='_META'), ConsistentRead=True).get('Item', {})
attributes = item.get('Attributes', {})
print(json.dumps([attributes.get('Latest', ''), attributes.get('Reason') or '']))
";
    serde_json::from_value(python(emulator, program, id.into()).await).expect("two texts")
}

pub async fn wait_for_state(emulator: &Ministack, id: &str, wanted: &str) -> String {
    wait_until(&format!("{id} is {wanted}"), TIMEOUT, || async {
        let (state, reason) = latest(emulator, id).await;
        (state == wanted).then_some(reason)
    })
    .await
}

/// Writes id, state and path as the specification's producer does; one record without its `_META`.
async fn write_records(emulator: &Ministack, base: &std::path::Path) {
    let payload = |attachment: &str| {
        format!(
            r#"{{"from": "a@example.org", "to": "b@example.org", "subject": "x", "body_text": "x", "attachments": [{attachment}]}}"#
        )
    };
    std::fs::write(base.join("good.json"), payload("")).unwrap();
    std::fs::write(base.join("broken.json"), &payload("")[..40]).unwrap();
    std::fs::write(base.join("outside.json"), payload("\"/etc/hostname\"")).unwrap();
    std::fs::write(base.join("huge.json"), payload("\"huge.bin\"")).unwrap();
    std::fs::File::create(base.join("huge.bin")).unwrap().set_len(100 << 20).unwrap();
    let program = "
import time
now = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
for id, state, path in given['rows']:
    attributes = dict(Latest=state, UpdatedAt=now, Reason='', PayloadFilePath=path, EmlFilePath=path)
    for status in ('_META', state):
        if id == 'headless' and status == '_META': continue
        table.put_item(Item=dict(Id=id, Status=status, Attributes=attributes))
";
    let path = |name: &str| base.join(name).display().to_string();
    let rows = serde_json::json!([
        ["missing", "ACCEPTED", path("missing.json")],
        ["broken", "ACCEPTED", path("broken.json")],
        ["outside", "ACCEPTED", path("outside.json")],
        ["huge", "ACCEPTED", path("huge.json")],
        ["lost", "READY", path("gone.eml")],
        ["odd", "TELEPORTED", path("good.json")],
        ["headless", "ACCEPTED", path("good.json")],
        ["good", "ACCEPTED", path("good.json")],
    ]);
    python(emulator, program, rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e04_e07_bad_records_are_invalid_or_reported_and_stop_no_lane() {
    let emulator = tokio::task::block_in_place(|| Ministack::start().expect("the emulator starts"));
    let sandbox = Sandbox::new(None);
    let receiver = CallbackReceiver::start(0, Duration::ZERO);
    let base = sandbox.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    let text = settings(&emulator.dynamodb_url(), base.to_str().unwrap(), &receiver.url);
    std::fs::write(sandbox.path("postrider.toml"), text).unwrap();
    sandbox.run(&["migrate"]).success();
    write_records(&emulator, &base).await;

    let running = sandbox.start();
    for (id, why) in [
        ("missing", "is not there"),
        ("broken", "invalid JSON"),
        ("outside", "not below the base folder"),
        ("huge", "at most"),
    ] {
        let reason = wait_for_state(&emulator, id, "INVALID").await;
        assert!(reason.contains(why), "{id}: {reason}");
    }
    wait_for_state(&emulator, "good", "SENT-ACKNOWLEDGED").await;
    wait_for_state(&emulator, "lost", "FAILED-ACKNOWLEDGED").await;
    let callbacks = receiver.bodies();
    let lost = callbacks.iter().find(|body| body["id"] == "lost").expect("the application got its callback");
    assert!(lost["reason"].as_str().unwrap().contains("is not there"), "{lost}");
    eventually("the log reports records that no lane claims", || {
        let log = running.log();
        let warned = |word: &str| log.lines().any(|line| line.contains("WARN") && line.contains(word));
        (warned("TELEPORTED") && warned("headless")).then_some(())
    });
    assert_eq!(latest(&emulator, "odd").await.0, "TELEPORTED", "it is not changed");
    let output = sandbox.run(&["check", "intake"]);
    assert!(output.stdout.contains("`TELEPORTED`"), "{}{}", output.stdout, output.stderr);
    assert!(
        output.stdout.contains("headless") && output.stdout.contains("_META"),
        "{}{}",
        output.stdout,
        output.stderr
    );
}
