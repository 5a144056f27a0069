//! Compares the table with what the contract requires.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::{
    GlobalSecondaryIndexDescription, KeyType, ProjectionType, TableDescription, TimeToLiveStatus,
};
use postrider_contract::Contract;
use postrider_rows::state_of;
use postrider_seams::inspect::{Finding, Level};
use postrider_seams::store::Error;

use crate::connect::Database;
use crate::error::classify;
use crate::layout::{ATTRIBUTES, ID, META, STATUS};
use crate::locks::INTERNAL_ID;
use crate::record::{self, Record};
use crate::requests::{Item, RETRY_TIME, retry_throttled};
use crate::statement::TableTarget;
use crate::store::DynamoStore;

/// The number of records in the index above which `check` warns, because every poll reads much of it.
const LARGE_INDEX: i64 = 100_000;
/// Maximum of records of the index, and of the table, that are checked.
const MAX_CHECKED: usize = 10_000;
/// Maximum of e-mails without `_META` that are read once more; further ones are only counted.
const MAX_ORPHANS_READ: usize = 50;

/// A table as DynamoDB describes it.
#[derive(Debug)]
pub(crate) struct TableShape {
    keys: Vec<(String, KeyType)>,
    /// The index's key, and whether `Attributes` is projected; `None` if the index does not exist.
    index: Option<(Vec<(String, KeyType)>, bool)>,
    pub projects_ttl: bool,
    pub ready: bool,
    records: i64,
    pub ttl: Option<String>,
}

impl TableShape {
    /// Reads the table's description; `None` if the table does not exist.
    pub(crate) async fn read(database: &Database, contract: &Contract) -> Result<Option<Self>, Error> {
        let target = TableTarget::new(contract, true);
        let place = database.settings.place();
        let described = retry_throttled(RETRY_TIME, || async {
            let request = database.client().await.describe_table().table_name(&target.table);
            match request.send().await {
                Ok(described) => Ok(described.table),
                Err(cause) if cause.code() == Some("ResourceNotFoundException") => Ok(None),
                Err(cause) => Err(classify(&place, "describe the table", cause)),
            }
        });
        let Some(table) = described.await? else { return Ok(None) };
        let ttl = retry_throttled(RETRY_TIME, || async {
            let request = database.client().await.describe_time_to_live().table_name(&target.table);
            match request.send().await {
                Ok(described) => Ok(described.time_to_live_description),
                // The credentials may allow using the table but not describing its time to live.
                Err(cause) if cause.code() == Some("AccessDeniedException") => Ok(None),
                Err(cause) => Err(classify(&place, "describe the time to live", cause)),
            }
        });
        let ttl = ttl.await?.filter(|described| {
            matches!(
                described.time_to_live_status,
                Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
            )
        });
        Ok(Some(Self::of(&table, &target, ttl.and_then(|described| described.attribute_name))))
    }

    fn of(table: &TableDescription, target: &TableTarget, ttl: Option<String>) -> Self {
        let found =
            table.global_secondary_indexes().iter().find(|index| index.index_name() == Some(&target.index));
        let projects = |name: &str| {
            let projection = found.and_then(|index| index.projection());
            projection.is_some_and(|projection| {
                projection.projection_type() == Some(&ProjectionType::All)
                    || projection.non_key_attributes().iter().any(|known| known == name)
            })
        };
        Self {
            keys: keys(table.key_schema()),
            index: found.map(|index| (keys(index.key_schema()), projects(ATTRIBUTES))),
            projects_ttl: projects(&target.ttl),
            ready: table.table_status().is_none_or(|status| status.as_str() == "ACTIVE")
                && found.is_none_or(|index| {
                    index.index_status().is_none_or(|status| status.as_str() == "ACTIVE")
                }),
            records: found.and_then(GlobalSecondaryIndexDescription::item_count).unwrap_or(0),
            ttl,
        }
    }

    pub(crate) fn has_index(&self) -> bool {
        self.index.is_some()
    }

    /// Returns what is wrong with the table: problems that `migrate` cannot fix, or has not fixed yet.
    pub(crate) fn mistakes(&self, contract: &Contract) -> Vec<String> {
        let target = TableTarget::new(contract, true);
        let mut mistakes = self.key_mistakes(&target);
        match &self.index {
            None => mistakes.push(format!(
                "table {} has no index {}: run `postrider migrate`",
                target.table, target.index
            )),
            Some((keys, attributes)) => {
                if keys.first() != Some(&(STATUS.to_owned(), KeyType::Hash)) {
                    mistakes.push(format!("index {} must have {STATUS} as its partition key", target.index));
                }
                if !attributes {
                    mistakes.push(format!("index {} must project {ATTRIBUTES}", target.index));
                }
            }
        }
        mistakes
    }

    pub(crate) fn key_mistakes(&self, target: &TableTarget) -> Vec<String> {
        let wanted = [(ID.to_owned(), KeyType::Hash), (STATUS.to_owned(), KeyType::Range)];
        if self.keys == wanted {
            return Vec::new();
        }
        vec![format!("table {} must have the key {ID} (partition) and {STATUS} (sort)", target.table)]
    }
}

fn keys(schema: &[aws_sdk_dynamodb::types::KeySchemaElement]) -> Vec<(String, KeyType)> {
    schema.iter().map(|key| (key.attribute_name.clone(), key.key_type.clone())).collect()
}

pub(crate) async fn findings(store: &DynamoStore) -> Result<Vec<Finding>, Error> {
    let finding = |level, text: String| Finding { level, text, fix: None };
    let contract = &store.contract;
    let Some(shape) = TableShape::read(&store.database, contract).await? else {
        let text = format!("there is no table {}: run `postrider migrate`", store.target.table);
        return Ok(vec![finding(Level::Error, text)]);
    };
    let mut found: Vec<Finding> =
        shape.mistakes(contract).into_iter().map(|text| finding(Level::Error, text)).collect();
    if found.is_empty() {
        let text = "every move is a transaction under the state and the time that the worker saw: two workers are safe";
        found.push(finding(Level::Ok, text.to_owned()));
    }
    let ttl = &store.target.ttl;
    match shape.ttl.as_deref() {
        Some(name) if name == ttl => found.push(finding(Level::Ok, format!("records are deleted by {ttl}"))),
        Some(other) => {
            let text = format!(
                "the time to live is kept in {other}, the contract's is {ttl}: records of ours are not deleted"
            );
            found.push(finding(Level::Warning, text));
        }
        None => {
            let text = format!(
                "the time to live is off: records with a {ttl} are ignored once it is over, but not deleted"
            );
            found.push(finding(Level::Warning, text));
        }
    }
    if !shape.projects_ttl {
        let text =
            format!("the index does not have {ttl}: it is read from the table, one more request a record");
        found.push(finding(Level::Warning, text));
    }
    if shape.records > LARGE_INDEX {
        let text = format!(
            "the index has about {} records, and every poll reads all of them that are finished as well: set a retention",
            shape.records
        );
        found.push(finding(Level::Warning, text));
    }
    found.extend(unknown_records(store).await?.into_iter().map(|text| finding(Level::Warning, text)));
    Ok(found)
}

/// Returns records that no lane will ever claim: in a state unknown to the contract, or without a `_META` record.
pub(crate) async fn unknown_records(store: &DynamoStore) -> Result<Vec<String>, Error> {
    let mut unknown: BTreeMap<String, u32> = BTreeMap::new();
    let mut scan = store.scan("check", None);
    let mut seen = 0;
    while seen < MAX_CHECKED
        && let Some(page) = store.next_page("check", &mut scan).await?
    {
        seen += page.len();
        for record in page.iter().filter(|record| state_of(&store.contract, &record.row).is_none()) {
            let latest = record.row.get(&store.layout.status).and_then(postrider_seams::Value::as_text);
            *unknown.entry(latest.unwrap_or_default().to_owned()).or_default() += 1;
        }
    }
    let mut found: Vec<String> = unknown
        .into_iter()
        .map(|(state, count)| {
            format!(
                "{count} records are in state `{state}`, which the contract does not know; no lane claims them"
            )
        })
        .collect();
    let orphans = orphans(store).await?;
    if let Some(first) = orphans.first() {
        found.push(format!(
            "{} e-mails have no {META} record with their state, such as {first}; no lane claims them",
            orphans.len()
        ));
    }
    Ok(found)
}

/// Returns e-mails without a `_META` record, among the first records of the table.
async fn orphans(store: &DynamoStore) -> Result<Vec<String>, Error> {
    let now = store.database.clock.now();
    let record = |item: &Item| Record::read(&store.layout, &store.target.ttl, item);
    let mut has_meta: BTreeMap<String, bool> = BTreeMap::new();
    for item in first_records(store).await? {
        let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok());
        // DynamoDB deletes the expired records of one e-mail in any order.
        let is_expired = record::ttl_of(&store.target.ttl, &item).is_some_and(|ttl| ttl <= now / 1_000_000);
        if let Some(id) = text(ID).filter(|id| !is_expired && !id.starts_with(INTERNAL_ID)) {
            let is_meta = text(STATUS).is_some_and(|status| status == META) && record(&item).is_some();
            *has_meta.entry(id.clone()).or_default() |= is_meta;
        }
    }
    let mut orphans = Vec::new();
    // The records of one e-mail may be written during the scan, or be cut off at its end.
    for (id, _) in has_meta.into_iter().filter(|(_, has_meta)| !has_meta) {
        if orphans.len() < MAX_ORPHANS_READ {
            let (items, _) =
                store.database.select("look for a record", &store.target.meta(&id), None, None).await?;
            if items.iter().any(|item| record(item).is_some()) {
                continue;
            }
        }
        orphans.push(id);
    }
    Ok(orphans)
}

async fn first_records(store: &DynamoStore) -> Result<Vec<Item>, Error> {
    let place = store.database.settings.place();
    let mut found: Vec<Item> = Vec::new();
    let mut from = None;
    while found.len() < MAX_CHECKED {
        let limit = i32::try_from(MAX_CHECKED - found.len()).unwrap_or(i32::MAX);
        let scanned = retry_throttled(RETRY_TIME, || async {
            let request = store.database.client().await.scan().table_name(&store.target.table);
            let request = request.set_exclusive_start_key(from.clone()).limit(limit);
            request.send().await.map_err(|cause| classify(&place, "look at the table", cause))
        });
        let page = scanned.await?;
        found.extend(page.items.unwrap_or_default());
        from = page.last_evaluated_key;
        if from.is_none() {
            break;
        }
    }
    Ok(found)
}
