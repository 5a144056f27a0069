//! The table of a run: on MariaDB, queried with the test's own SQL, or on DynamoDB, queried with boto3.

use std::collections::BTreeMap;

use postrider_services::{Ministack, boto3};

use super::audit::{History, STEPS, Step};
use crate::support::database::{Kind, on_server, variable};
use crate::support::sql::Sql;

pub enum EmailTable {
    MariaDb { url: String, sql: Sql },
    DynamoDb(Ministack),
}

const PRELUDE: &str = "
import sys, json, time, boto3
given = json.load(sys.stdin)
session = dict(endpoint_url=given['endpoint'], region_name='us-east-1', aws_access_key_id='t', aws_secret_access_key='t')
table = boto3.resource('dynamodb', **session).Table('emails')
def items():
    found, more = [], {}
    while True:
        page = table.scan(ConsistentRead=True, **more)
        found += [item for item in page['Items'] if not item['Id'].startswith('_')]
        if 'LastEvaluatedKey' not in page: return found
        more = dict(ExclusiveStartKey=page['LastEvaluatedKey'])
";

impl EmailTable {
    pub async fn mariadb() -> Self {
        let name = format!("emails_{}_{:08x}", std::process::id(), rand::random::<u32>());
        let (url, sql) = on_server(Kind::MariaDb, &variable("POSTRIDER_TEST_MYSQL"), &name, "").await;
        Self::MariaDb { url, sql }
    }

    pub fn dynamodb() -> Self {
        Self::DynamoDb(tokio::task::block_in_place(|| Ministack::start().expect("the emulator starts")))
    }

    pub fn url(&self) -> String {
        match self {
            Self::MariaDb { url, .. } => url.clone(),
            Self::DynamoDb(emulator) => emulator.dynamodb_url(),
        }
    }

    async fn boto3(emulator: &Ministack, program: &str, rows: &serde_json::Value) -> serde_json::Value {
        let input = serde_json::json!({ "endpoint": emulator.endpoint(), "rows": rows }).to_string();
        let program = format!("{PRELUDE}{program}");
        let ran = tokio::task::spawn_blocking(move || boto3::run(&program, &input)).await;
        let output = ran.expect("it is waited for").expect("Python starts");
        let output = output.unwrap_or_else(|complaint| panic!("{complaint}"));
        serde_json::from_str(&output).unwrap_or_default()
    }

    /// Inserts the rows as an application does: id and payload file.
    pub async fn accept(&self, payloads: &[(String, String)]) {
        match self {
            Self::MariaDb { sql, .. } => {
                for some in payloads.chunks(100) {
                    let rows: Vec<String> =
                        some.iter().map(|(id, path)| format!("('{id}', 'ACCEPTED', '{path}')")).collect();
                    let insert = "INSERT INTO emails (id, status, payload_file_path) VALUES";
                    sql.must(&format!("{insert} {}", rows.join(", "))).await;
                }
            }
            Self::DynamoDb(emulator) => {
                let program = "
now = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
for id, path in given['rows']:
    for status in ('_META', 'ACCEPTED'):
        attributes = dict(Latest='ACCEPTED', UpdatedAt=now, PayloadFilePath=path)
        table.put_item(Item=dict(Id=id, Status=status, Attributes=attributes))
";
                Self::boto3(emulator, program, &serde_json::json!(payloads)).await;
            }
        }
    }

    /// The number of mails that are not in a final state; `None` if the database does not answer.
    pub async fn open(&self) -> Option<u64> {
        match self {
            Self::MariaDb { sql, .. } => {
                let open = "emails WHERE status NOT IN ('SENT-ACKNOWLEDGED', 'FAILED-ACKNOWLEDGED')";
                sql.count(open).await
            }
            Self::DynamoDb(emulator) => {
                let program = "
metas = [item for item in items() if item['Status'] == '_META']
print(len([meta for meta in metas if not meta['Attributes']['Latest'].endswith('-ACKNOWLEDGED')]))
";
                Self::boto3(emulator, program, &serde_json::Value::Null).await.as_u64()
            }
        }
    }

    /// The steps of every mail, in order.
    pub async fn histories(&self) -> BTreeMap<String, History> {
        match self {
            Self::MariaDb { sql, .. } => in_sql(sql).await,
            Self::DynamoDb(emulator) => in_records(emulator).await,
        }
    }
}

async fn in_sql(sql: &Sql) -> BTreeMap<String, History> {
    let mut found = BTreeMap::new();
    for row in sql.rows("SELECT id, CAST(status AS CHAR) FROM emails").await.expect("the rows") {
        let [Some(id), Some(latest)] = row.as_slice() else { panic!("both are NOT NULL") };
        let steps = vec![Step { state: "ACCEPTED".to_owned(), second: None }];
        found.insert(id.clone(), History { latest: latest.clone(), steps, every_move: true });
    }
    let query =
        "SELECT email_id, status, CAST(UNIX_TIMESTAMP(created_at) AS CHAR) FROM email_statuses ORDER BY id";
    for row in sql.rows(query).await.expect("the history") {
        let [Some(id), Some(state), Some(second)] = row.as_slice() else { panic!("all are NOT NULL") };
        let second = second.parse().ok();
        let history = found.get_mut(id).expect("a foreign key");
        history.steps.push(Step { state: state.clone(), second });
    }
    found
}

/// Reads one record for each state reached; a step back removes its own. They are in the order of the states, and none
/// may be older than the one before it, which [`super::audit`] checks by the seconds.
async fn in_records(emulator: &Ministack) -> BTreeMap<String, History> {
    let program = "
from datetime import datetime
def seconds(text): return int(datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp() * 1000000)
print(json.dumps([[item['Id'], item['Status'], item['Attributes'].get('Latest', ''),
                   seconds(item['Attributes']['UpdatedAt'])] for item in items()]))
";
    let output = EmailTable::boto3(emulator, program, &serde_json::Value::Null).await;
    let records: Vec<(String, String, String, i64)> = serde_json::from_value(output).expect("records");
    let mut found: BTreeMap<String, History> = BTreeMap::new();
    for (id, status, latest, micros) in records {
        let history = found.entry(id).or_default();
        if status == "_META" {
            history.latest = latest;
        } else {
            history.steps.push(Step { state: status, second: Some(micros) });
        }
    }
    for history in found.values_mut() {
        let place = |step: &Step| STEPS.iter().position(|known| *known == step.state);
        history.steps.sort_by_key(place);
    }
    found
}
