//! Tests `migrate` with tables that do not exist, and with tables of other programs.

use postrider_seams::inspect::Level;
use postrider_seams::store::Class;
use postrider_seams::{Inspect as _, Migrate as _, migrate};

use crate::fixtures::{Fixture, claim, ids};

const KEYS: &str = "
AttributeDefinitions=[dict(AttributeName='Id', AttributeType='S'), dict(AttributeName='Status', AttributeType='S')]
KeySchema=[dict(AttributeName='Id', KeyType='HASH'), dict(AttributeName='Status', KeyType='RANGE')]
";

#[tokio::test]
async fn e04_migrate_makes_the_table_once() {
    let fixture = Fixture::bare().await;
    let missing = fixture.database().open(fixture.contract.clone(), "intake", "test").await.err().unwrap();
    assert_eq!(missing.class, Class::Misconfigured);
    assert!(missing.message.contains("postrider migrate"), "{missing}");
    let migration = fixture.database().migration(fixture.contract.clone());
    let options = migrate::MigrateOptions::default();
    let planned = migration.plan(options).await.unwrap();
    assert_eq!(planned.len(), 2, "{planned:?}");
    assert!(planned[0].contains("PAY_PER_REQUEST") && planned[0].contains("StatusIndex"), "{planned:?}");
    assert_eq!(migration.apply(options).await.unwrap(), planned);
    assert!(migration.plan(options).await.unwrap().is_empty(), "all is there");
    let findings = fixture.open("intake").await.verify().await.unwrap();
    assert!(findings.iter().all(|finding| finding.level == Level::Ok), "{findings:?}");
}

#[tokio::test]
async fn e04_a_table_of_others_gets_the_index_and_one_with_another_key_is_refused() {
    let fixture = Fixture::bare().await;
    fixture
        .boto3(&format!("{KEYS}
client.create_table(TableName=name, BillingMode='PAY_PER_REQUEST', AttributeDefinitions=AttributeDefinitions, KeySchema=KeySchema)
"))
        .await;
    let migration = fixture.database().migration(fixture.contract.clone());
    assert_eq!(
        migration.apply(migrate::MigrateOptions::default()).await.unwrap().len(),
        2,
        "index and time to live"
    );
    fixture.open("intake").await;

    let other = Fixture::bare().await;
    let program = "
client.create_table(TableName=name, BillingMode='PAY_PER_REQUEST',
    AttributeDefinitions=[dict(AttributeName='Id', AttributeType='S')], KeySchema=[dict(AttributeName='Id', KeyType='HASH')])
";
    other.boto3(program).await;
    let migration = other.database().migration(other.contract.clone());
    let refused = migration.apply(migrate::MigrateOptions::default()).await.unwrap_err();
    assert!(refused.message.contains("key"), "{refused}");
}

#[tokio::test]
async fn e04_an_index_without_the_time_to_live_is_made_up_for() {
    let fixture = Fixture::bare().await;
    let program = format!(
        "{KEYS}
index = dict(IndexName='StatusIndex', KeySchema=[dict(AttributeName='Status', KeyType='HASH')],
             Projection=dict(ProjectionType='INCLUDE', NonKeyAttributes=['Attributes']))
client.create_table(TableName=name, BillingMode='PAY_PER_REQUEST', AttributeDefinitions=AttributeDefinitions,
                    KeySchema=KeySchema, GlobalSecondaryIndexes=[index])
put('gone', 'ACCEPTED', ttl=1_000_000_000)
put('kept', 'ACCEPTED', ttl=4_102_444_800)
"
    );
    fixture.boto3(&program).await;
    let intake = fixture.open("intake").await;
    assert_eq!(ids(&claim(&intake, 25).await), ["kept"]);
    let seen = fixture.boto3("answer(all('kept'))").await;
    assert_eq!(seen["INTAKING"]["TTL"], 4_102_444_800_i64);
}
