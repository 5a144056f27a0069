//! Tests another program on the same table, with the specification's own statements.

use postrider_contract::Transition;
use postrider_seams::row::Detail;
use postrider_seams::store::{LeaseResult, Settlement};
use postrider_seams::{Inspect as _, Produce as _, Store as _, Value};

use crate::fixtures::{Fixture, claim, ids};

fn delivered(claimed: &postrider_seams::ClaimedRow, path: &str) -> Settlement {
    Settlement {
        transition: Transition::Delivered,
        outcome: Detail::from([("eml_path".to_owned(), Value::Text(path.to_owned()))]),
        ..Settlement::released(claimed.lease.clone())
    }
}

#[tokio::test]
async fn e04_e05_we_and_another_pipeline_read_each_others_records() {
    let fixture = Fixture::new().await;
    let later = 4_102_444_800_i64;
    fixture.boto3(&format!("put('e-1', 'ACCEPTED', legacy={later})")).await;
    let intake = fixture.open("intake").await;
    let claimed = claim(&intake, 25).await;
    assert_eq!(ids(&claimed), ["e-1"]);
    let fields = claimed[0].fields.as_ref().unwrap();
    assert_eq!(fields.get("payload_path").as_text(), Some("/in/e-1.json"));
    assert_eq!(intake.settle(&[delivered(&claimed[0], "/eml/e-1.eml")]).await.unwrap(), [LeaseResult::Held]);

    let seen = fixture.boto3("answer(all('e-1'))").await;
    let meta = &seen["_META"];
    assert_eq!(meta["Attributes"]["Latest"], "READY");
    assert_eq!(meta["Attributes"]["EmlFilePath"], "/eml/e-1.eml");
    assert_eq!(meta["TTL"], later, "the old place's TTL has moved to the root");
    assert!(meta["Attributes"].get("TTL").is_none(), "and is gone from the old one: {meta}");
    assert_eq!(seen["ACCEPTED"]["TTL"], later, "so that it does not outlive the others: {seen}");
    for state in ["INTAKING", "READY"] {
        assert_eq!(seen[state]["TTL"], later, "both records are in step: {}", seen[state]);
        assert!(seen[state]["Attributes"]["UpdatedAt"].as_str().unwrap().ends_with('Z'));
    }

    // The specification's own query and transaction.
    let program = r#"
query = f'SELECT Id, Status, Attributes, TTL FROM "{name}"."StatusIndex" WHERE Status=? AND Attributes.Latest =?'
items = client.execute_statement(Statement=query, Parameters=[{'S': '_META'}, {'S': 'READY'}])['Items']
update = f'UPDATE "{name}" SET Attributes.Latest=?, Attributes.UpdatedAt=?, Attributes.Reason=?, TTL=? WHERE Id=? AND Status=?'
insert = f"INSERT INTO \"{name}\" VALUE {{'Id': ?, 'Status': ?, 'Attributes': ?, 'TTL': ?}}"
S = lambda text: {'S': text}
now = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
for item in items:
    client.execute_transaction(TransactStatements=[
        {'Statement': update, 'Parameters': [S('PROCESSING'), S(now), S(''), item['TTL'], item['Id'], S('_META')]},
        {'Statement': insert, 'Parameters': [item['Id'], S('PROCESSING'), item['Attributes'], item['TTL']]}])
answer([item['Id']['S'] for item in items])
"#;
    assert_eq!(fixture.boto3(program).await, serde_json::json!(["e-1"]));
    let send = fixture.open("send").await;
    assert!(claim(&send, 25).await.is_empty(), "what another worker holds is left to it");
    assert_eq!(send.reclaim(100).await.unwrap().retried, 0, "and its lease runs");
}

#[tokio::test]
async fn e04_other_spellings_and_unknown_records_stop_no_claim() {
    let fixture = Fixture::new().await;
    let program = r"
put('e-1', 'READY', EMLFilePath='/eml/old.eml')
put('e-2', 'TELEPORTED')
table.put_item(Item=dict(Id='e-3', Status='READY', Attributes=dict(EmlFilePath='x')))
table.put_item(Item=dict(Id='e-4', Status='_META'))
table.put_item(Item=dict(Id='e-5', Status='_META', Attributes=dict(Latest='READY', UpdatedAt='not a time')))
";
    fixture.boto3(program).await;
    let send = fixture.open("send").await;
    let claimed = claim(&send, 25).await;
    assert_eq!(ids(&claimed), ["e-1", "e-5"]);
    let old = claimed.iter().find(|row| row.lease.id.to_string() == "e-1").unwrap();
    assert_eq!(old.fields.as_ref().unwrap().get("eml_path").as_text(), Some("/eml/old.eml"));
    let findings = send.verify().await.unwrap();
    let texts: Vec<&str> = findings.iter().map(|finding| finding.text.as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("TELEPORTED")), "{texts:?}");
    let orphans = texts.iter().find(|text| text.contains("_META")).expect("orphans are reported");
    assert!(orphans.starts_with("2 e-mails") && orphans.contains("such as e-3"), "{orphans}");
    fixture
        .boto3("table.put_item(Item=dict(Id='e-0', Status='READY', TTL=1000, Attributes=dict(Reason='x')))")
        .await;
    let findings = send.unknown_states().await.unwrap();
    assert!(!findings.iter().any(|text| text.contains("e-0")), "DynamoDB will expire it: {findings:?}");
}

#[tokio::test]
async fn e06_a_produced_email_is_complete_and_a_second_of_the_same_id_is_refused() {
    let fixture = Fixture::new().await;
    let intake = fixture.open("intake").await;
    let text = |text: &str| Value::Text(text.to_owned());
    let fields = Detail::from([
        (postrider_seams::produce::KEY.to_owned(), text("e-1")),
        ("payload_path".to_owned(), text("/in/e-1.json")),
    ]);
    assert_eq!(intake.produce(&fields).await.unwrap(), "e-1");
    let seen = fixture.boto3("answer(all('e-1'))").await;
    assert_eq!(seen["_META"]["Attributes"]["Latest"], "ACCEPTED");
    assert_eq!(seen["ACCEPTED"]["Attributes"]["PayloadFilePath"], "/in/e-1.json");
    assert!(intake.produce(&fields).await.is_err());
    assert_eq!(ids(&claim(&intake, 25).await), ["e-1"]);
}

#[tokio::test]
async fn e06_an_email_looks_as_on_sql_but_its_version_is_0_and_it_has_a_time_to_live() {
    let fixture = Fixture::new().await;
    fixture.boto3("put('e-1', 'ACCEPTED', ttl=4_102_444_800)").await;
    let intake = fixture.open("intake").await;
    for _ in 0..2 {
        let row = intake.show("e-1").await.unwrap().unwrap();
        let cell = |name: &str| row.columns.iter().find(|(column, _)| column == name).unwrap().1.as_deref();
        assert_eq!(
            (cell("id"), cell("payload_file_path"), cell("version"), cell("TTL")),
            (Some("e-1"), Some("/in/e-1.json"), Some("0"), Some("4102444800"))
        );
        let updated = cell("updated_at").unwrap();
        assert!(updated.as_bytes()[10] == b'T' && updated.ends_with('Z'), "RFC 3339: {updated}");
        // Repeat the checks after a move.
        claim(&intake, 1).await;
    }
    let seen = fixture.boto3("answer(all('e-1'))").await;
    assert!(!seen.to_string().to_lowercase().contains("version"), "nor is one written: {seen}");
}
