//! A DynamoDB table for each trial; the harness has its own client and its own copy of the layout.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use aws_sdk_dynamodb::types::AttributeValue;
use libtest_mimic::Failed;
use postrider_conformance::{
    Cell, ColumnKind, Row, Subject, TableColumn, TestPoolLimits, TestTable, TestedStore,
};
use postrider_seams::{Backend, Migrate as _, Value, migrate};
use postrider_store_dynamodb::{Database, Settings};

use super::{fresh_name, server};

/// Contract column, attribute in the specification's layout, type.
const NAMES: [(&str, &str, ColumnKind); 9] = [
    ("status", "Latest", ColumnKind::Text),
    ("updated_at", "UpdatedAt", ColumnKind::Time),
    ("reason", "Reason", ColumnKind::Text),
    ("created_at", "CreatedAt", ColumnKind::Time),
    ("attempts", "Attempts", ColumnKind::Int),
    ("next_attempt_at", "NextAttemptAt", ColumnKind::Time),
    ("claimed_by", "ClaimedBy", ColumnKind::Text),
    ("payload_file_path", "PayloadFilePath", ColumnKind::Text),
    ("eml_file_path", "EmlFilePath", ColumnKind::Text),
];

pub struct DynamoDbTable {
    subject: Subject,
    settings: Settings,
    client: Client,
    columns: Vec<TableColumn>,
}

impl DynamoDbTable {
    pub async fn new(subject: &Subject) -> Result<Self, Failed> {
        let settings = Settings::from_url(&server("POSTRIDER_TEST_DYNAMODB")?)?;
        let mut subject = subject.clone();
        subject.contract.table.name = fresh_name();
        let database = Database::connect(&settings);
        database.migration(subject.contract.clone()).apply(migrate::MigrateOptions::default()).await?;
        let column = |name: &str, kind, required| TableColumn {
            name: name.to_owned(),
            kind,
            required,
            generated: false,
            length: None,
        };
        let mut columns = vec![column("id", ColumnKind::Text, true)];
        columns.extend(NAMES.map(|(name, _, kind)| column(name, kind, name.ends_with("path"))));
        Ok(Self { subject, client: client(&settings), settings, columns })
    }

    fn table(&self) -> &str {
        &self.subject.contract.table.name
    }

    /// Writes both records of an e-mail, as a producer does.
    async fn put(&self, row: &Row) {
        let cells = row.iter().filter(|(column, cell)| *column != "id" && !cell.is_null());
        let attributes: HashMap<String, AttributeValue> =
            cells.map(|(column, cell)| (attribute(column).to_owned(), value(cell))).collect();
        let (id, state) = (value(&row["id"]), attributes["Latest"].clone());
        for status in [AttributeValue::S("_META".to_owned()), state] {
            let asked = self.client.put_item().table_name(self.table());
            let asked = asked.item("Id", id.clone()).item("Status", status);
            let asked = asked.item("Attributes", AttributeValue::M(attributes.clone()));
            asked.send().await.expect("a record is written");
        }
    }

    async fn metas(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut last = None;
        loop {
            let asked = self.client.scan().table_name(self.table()).consistent_read(true);
            let page = asked.set_exclusive_start_key(last).send().await.expect("a page");
            rows.extend(page.items().iter().filter_map(row));
            last = page.last_evaluated_key;
            if last.is_none() {
                return rows;
            }
        }
    }
}

fn client(settings: &Settings) -> Client {
    let keys = aws_sdk_dynamodb::config::Credentials::new("law", "law", None, None, "law");
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version_latest()
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(aws_sdk_dynamodb::config::Region::new("us-east-1"))
        .endpoint_url(settings.endpoint.clone().expect("an emulator has an endpoint"))
        .credentials_provider(keys);
    Client::from_conf(config.build())
}

fn attribute(column: &str) -> &str {
    NAMES.iter().find(|(name, _, _)| *name == column).map_or(column, |(_, attribute, _)| attribute)
}

fn value(cell: &Cell) -> AttributeValue {
    match cell {
        Cell::Null => AttributeValue::Null(true),
        Cell::Int(int) => AttributeValue::N(int.to_string()),
        Cell::Text(text) => AttributeValue::S(text.clone()),
        Cell::Time(micros) => {
            let nanos = u32::try_from(micros.rem_euclid(1_000_000) * 1000).expect("less than a second");
            let time = DateTime::from_secs_and_nanos(micros.div_euclid(1_000_000), nanos);
            AttributeValue::S(time.fmt(DateTimeFormat::DateTime).expect("a time of our days"))
        }
        Cell::Bytes(_) => panic!("no column takes bytes"),
    }
}

/// The store's own attribute with the time at which a state was reached; no column of the contract maps it.
const OWN: &str = "ReachedAt";

/// Converts a `_META` record to the contract's row; `None` for other records.
fn row(item: &HashMap<String, AttributeValue>) -> Option<Row> {
    if item["Status"].as_s().ok()? != "_META" {
        return None;
    }
    let mut row = Row::from([("id".to_owned(), Cell::text(item["Id"].as_s().ok()?))]);
    let attributes = item["Attributes"].as_m().expect("a map").iter();
    for (name, value) in attributes.filter(|(name, _)| *name != OWN) {
        let known = NAMES.iter().find(|(_, attribute, _)| attribute == name);
        let (column, kind) =
            known.map_or((name.as_str(), ColumnKind::Text), |(column, _, kind)| (column, *kind));
        let cell = match (value, kind) {
            (AttributeValue::S(text), ColumnKind::Time) => {
                let time = DateTime::from_str(text, DateTimeFormat::DateTimeWithOffset).expect("RFC 3339");
                Cell::Time(time.secs() * 1_000_000 + i64::from(time.subsec_nanos() / 1000))
            }
            // The attribute is always there; an empty text stands for no reason.
            (AttributeValue::S(text), _) if name == "Reason" && text.is_empty() => Cell::Null,
            (AttributeValue::S(text), _) => Cell::text(text),
            (AttributeValue::N(number), _) => Cell::Int(number.parse().expect("a whole number")),
            _ => Cell::Null,
        };
        row.insert(column.to_owned(), cell);
    }
    for (column, _, _) in NAMES {
        row.entry(column.to_owned()).or_insert(Cell::Null);
    }
    Some(row)
}

#[async_trait]
impl TestTable for DynamoDbTable {
    fn kind(&self) -> TestedStore {
        TestedStore::DynamoDb
    }

    async fn open(&self, worker: &str) -> Arc<dyn Backend> {
        let settings = Settings { instance: worker.to_owned(), ..self.settings.clone() };
        let database = Database::connect(&settings);
        let stage = &self.subject.stage().name;
        database.open(self.subject.contract.clone(), stage, "law").await.expect("the table is there")
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    async fn now(&self) -> i64 {
        // The emulator runs on this machine and uses the same clock.
        let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970");
        i64::try_from(now.as_micros()).expect("before the year 294000")
    }

    async fn insert(&self, _table: &str, rows: &[Row]) {
        // In parallel, because each row takes two requests.
        for rows in rows.chunks(16) {
            futures::future::join_all(rows.iter().map(|row| self.put(row))).await;
        }
    }

    async fn select(&self, _table: &str, key: Option<(&str, &Cell)>) -> Vec<Row> {
        let Some((_, Cell::Text(id))) = key else { return self.metas().await };
        let asked = self.client.get_item().table_name(self.table()).consistent_read(true);
        let asked = asked.key("Id", AttributeValue::S(id.clone()));
        let got = asked.key("Status", AttributeValue::S("_META".to_owned())).send().await.expect("an answer");
        got.item.iter().filter_map(row).collect()
    }

    async fn update(&self, id: &Cell, changes: &Row) {
        let mut asked = self.client.update_item().table_name(self.table()).key("Id", value(id));
        asked = asked.key("Status", AttributeValue::S("_META".to_owned()));
        let mut sets = Vec::new();
        for (n, (column, cell)) in changes.iter().enumerate() {
            sets.push(format!("Attributes.#n{n} = :v{n}"));
            asked = asked.expression_attribute_names(format!("#n{n}"), attribute(column));
            asked = asked.expression_attribute_values(format!(":v{n}"), value(cell));
        }
        let asked = asked.update_expression(format!("SET {}", sets.join(", ")));
        asked.send().await.expect("an update");
    }

    async fn fence(&self, id: &Cell, column: &str) -> Value {
        let asked = self.client.get_item().table_name(self.table()).consistent_read(true);
        let asked = asked.key("Id", value(id)).key("Status", AttributeValue::S("_META".to_owned()));
        let item = asked.send().await.expect("an answer").item.expect("the row is there");
        let attributes = item["Attributes"].as_m().expect("a record of an e-mail");
        Value::Text(attributes[attribute(column)].as_s().expect("a text").clone())
    }

    async fn set_pool(&self, _: &str, _: TestPoolLimits) {
        panic!("no contract with pools has a layout here");
    }

    async fn close(&self) {
        let _ = self.client.delete_table().table_name(self.table()).send().await;
    }
}
