//! The suppression list: internal records beside the e-mails, one per entry, under an `Id` that no e-mail has.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes, ReturnValue};
use postrider_seams::store::{Class, Error};
use postrider_seams::suppression::ENTRY_LIMIT;
use postrider_seams::{Suppression, Suppressions};

use crate::connect::Database;
use crate::error::{RequestError, classify};
use crate::layout::{ID, REASON, STATUS, time};
use crate::requests::{Item, RETRY_TIME, retry_throttled};
use crate::statement::text;

/// The `Id` of every entry; the entry itself is the `Status`, so that entries are sorted by it.
const LIST: &str = "_postrider:suppressed";
const SINCE: &str = "Since";
/// Maximum of keys per request in DynamoDB.
const MAX_KEYS: usize = 100;
const REASON_LIMIT: usize = 500;

/// The suppression list in one table.
#[derive(Clone)]
pub struct SuppressionList {
    database: Database,
    table: String,
}

impl Database {
    /// Returns the suppression list in this table.
    pub fn suppressions(&self, table: String) -> SuppressionList {
        SuppressionList { database: self.clone(), table }
    }
}

fn key(entry: &str) -> Item {
    HashMap::from([(ID.to_owned(), text(LIST)), (STATUS.to_owned(), text(entry))])
}

fn read(item: &Item) -> Option<Suppression> {
    let part = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned();
    Some(Suppression {
        entry: part(STATUS)?,
        reason: part(REASON).unwrap_or_default(),
        since: part(SINCE).unwrap_or_default(),
    })
}

impl SuppressionList {
    fn classify_error<E>(&self, what: &str, cause: SdkError<E>) -> RequestError
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        classify(&self.database.settings.place(), what, cause)
    }

    /// Reads some keys; repeats those that the service left out because of its load. `None` if the table does not
    /// exist.
    async fn read_keys(&self, keys: Vec<Item>) -> Result<Option<Vec<Suppression>>, Error> {
        let mut found = Vec::new();
        let mut remaining = keys;
        while !remaining.is_empty() {
            let wanted = KeysAndAttributes::builder().set_keys(Some(remaining.clone())).consistent_read(true);
            let wanted = wanted.build().expect("keys are there");
            let response = retry_throttled(RETRY_TIME, || async {
                let request =
                    self.database.client().await.batch_get_item().request_items(&self.table, wanted.clone());
                match request.send().await {
                    Ok(response) => Ok(Some(response)),
                    Err(cause) if cause.code() == Some("ResourceNotFoundException") => Ok(None),
                    Err(cause) => Err(self.classify_error("read the suppression list", cause)),
                }
            });
            let Some(response) = response.await? else { return Ok(None) };
            found.extend(
                response
                    .responses()
                    .and_then(|all| all.get(&self.table))
                    .into_iter()
                    .flatten()
                    .filter_map(read),
            );
            let unread = response.unprocessed_keys.unwrap_or_default().remove(&self.table);
            remaining = unread.map(|unread| unread.keys).unwrap_or_default();
        }
        Ok(Some(found))
    }
}

#[async_trait]
impl Suppressions for SuppressionList {
    async fn find(&self, entries: &[String]) -> Result<Option<BTreeMap<String, String>>, Error> {
        let fits = |entry: &&String| !entry.is_empty() && entry.chars().count() <= ENTRY_LIMIT;
        let wanted: HashSet<&String> = entries.iter().filter(fits).collect();
        let wanted: Vec<Item> = wanted.into_iter().map(|entry| key(entry)).collect();
        let mut found = BTreeMap::new();
        for keys in wanted.chunks(MAX_KEYS) {
            let Some(some) = self.read_keys(keys.to_vec()).await? else { return Ok(None) };
            found.extend(some.into_iter().map(|one| (one.entry, one.reason)));
        }
        Ok(Some(found))
    }

    async fn add(&self, entry: &str, reason: &str) -> Result<bool, Error> {
        let reason: String = reason.chars().take(REASON_LIMIT).collect();
        let since = time(self.database.clock.now());
        retry_throttled(RETRY_TIME, || async {
            let request = self.database.client().await.put_item().table_name(&self.table);
            let request =
                request.set_item(Some(key(entry))).item(REASON, text(&reason)).item(SINCE, text(&since));
            match request.condition_expression("attribute_not_exists(Id)").send().await {
                Ok(_) => Ok(true),
                Err(cause) if cause.code() == Some("ConditionalCheckFailedException") => Ok(false),
                Err(cause) => Err(self.classify_error("write the suppression list", cause)),
            }
        })
        .await
    }

    async fn remove(&self, entry: &str) -> Result<bool, Error> {
        retry_throttled(RETRY_TIME, || async {
            let request = self.database.client().await.delete_item().table_name(&self.table);
            let request = request.set_key(Some(key(entry))).return_values(ReturnValue::AllOld);
            let gone = request
                .send()
                .await
                .map_err(|cause| self.classify_error("write the suppression list", cause))?;
            Ok(gone.attributes.is_some())
        })
        .await
    }

    async fn page(&self, after: Option<&str>, limit: u32) -> Result<Vec<Suppression>, Error> {
        let start = after.map(key);
        retry_throttled(RETRY_TIME, || async {
            let request = self
                .database
                .client()
                .await
                .query()
                .table_name(&self.table)
                .consistent_read(true)
                .key_condition_expression("Id = :list")
                .expression_attribute_values(":list", AttributeValue::S(LIST.to_owned()))
                .limit(i32::try_from(limit).unwrap_or(i32::MAX))
                .set_exclusive_start_key(start.clone());
            match request.send().await {
                Ok(page) => Ok(page.items().iter().filter_map(read).collect()),
                Err(cause) if cause.code() == Some("ResourceNotFoundException") => {
                    let text = format!("there is no table {}: run `postrider migrate`", self.table);
                    let error = Error::new(Class::Misconfigured, text);
                    Err(RequestError { error, throttled: false, unanswered: false })
                }
                Err(cause) => Err(self.classify_error("read the suppression list", cause)),
            }
        })
        .await
    }
}
