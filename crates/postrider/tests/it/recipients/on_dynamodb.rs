//! E8 on DynamoDB: the reason, the records of each state and the callback name those who did not get a mail.

use std::time::Duration;

use postrider_services::Ministack;

use super::{ThreeRecipients, pipeline, write_eml};
use crate::emails::on_dynamodb::{python, wait_for_state};
use crate::support::callback_receiver::CallbackReceiver;
use crate::support::installation::Installation;
use crate::support::relay::Relay;

/// READY e-mails, as the specification's own producer writes them: id and path.
async fn write_records(emulator: &Ministack, rows: serde_json::Value) {
    let program = "
import time
now = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
for id, path in given['rows']:
    attributes = dict(Latest='READY', UpdatedAt=now, Reason='', EmlFilePath=path)
    for status in ('_META', 'READY'):
        table.put_item(Item=dict(Id=id, Status=status, Attributes=attributes))
";
    python(emulator, program, rows).await;
}

/// The reason in the record of this state.
async fn recorded_reason(emulator: &Ministack, id: &str, state: &str) -> String {
    let program = "
id, state = given['rows']
item = table.get_item(Key=dict(Id=id, Status=state), ConsistentRead=True)['Item']
print(json.dumps(item['Attributes'].get('Reason') or ''))
";
    let output = python(emulator, program, serde_json::json!([id, state])).await;
    output.as_str().expect("a text").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn e08_no_recipient_is_lost_on_dynamodb() {
    let emulator = tokio::task::block_in_place(|| Ministack::start().expect("the emulator starts"));
    let mut installation = Installation::new();
    let (relay, receiver) = (Relay::shared(), CallbackReceiver::start(0, Duration::ZERO));
    let base = installation.sandbox.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    installation.write_settings(&pipeline(
        &emulator.dynamodb_url(),
        &relay.address,
        base.to_str().unwrap(),
        &receiver.url,
    ));
    installation.sandbox.run(&["migrate"]).success();
    let three = ThreeRecipients::new("vanish");
    let rows = three.mails().map(|(id, second)| [id.to_owned(), write_eml(&base, &three, id, second)]);
    write_records(&emulator, serde_json::json!(rows)).await;

    let worker = installation.start_worker();
    assert_eq!(wait_for_state(&emulator, "once", "SENT-ACKNOWLEDGED").await, "");
    let never = wait_for_state(&emulator, "never", "SENT-ACKNOWLEDGED").await;
    assert!(never.contains(&three.never) && never.contains("550 5.1.1"), "{never}");
    let later = wait_for_state(&emulator, "later", "FAILED-ACKNOWLEDGED").await;
    assert!(later.contains(&three.later) && later.contains("accepted by 1 of 2 recipients"), "{later}");
    installation.stop(worker).await;

    three.check_journal(&relay);
    assert!(recorded_reason(&emulator, "once", "READY").await.contains(&three.once), "why it stepped back");
    assert_eq!(recorded_reason(&emulator, "never", "SENT").await, never, "the state's record has it");
    assert_eq!(recorded_reason(&emulator, "later", "FAILED").await, later);
    let bodies = receiver.bodies();
    let about = |id: &str| bodies.iter().find(|body| body["id"] == id).unwrap()["reason"].clone();
    assert_eq!(about("never"), never.as_str(), "the callback has it");
    assert_eq!(about("later"), later.as_str());
    assert_eq!(about("once"), serde_json::Value::Null);
    let logs = installation.logs();
    let warned = |line: &str| line.contains("not to all recipients") && line.contains(&three.never);
    assert!(logs.lines().any(warned), "{logs}");
}
