//! Named locks and pauses: internal records beside the e-mails, under an `Id` that no e-mail has.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_rows::micros;
use postrider_seams::store::Error;

use crate::error::classify;
use crate::layout::{ID, STATUS};
use crate::requests::{RETRY_TIME, retry_throttled};
use crate::statement::text;
use crate::store::DynamoStore;

/// The `Id` of internal records, or its prefix.
pub(crate) const INTERNAL_ID: &str = "_postrider";

impl DynamoStore {
    pub(crate) async fn acquire_lock(&self, name: &str, ttl: Duration) -> Result<bool, Error> {
        let now = self.database.clock.now();
        let number = |value: i64| AttributeValue::N(value.to_string());
        retry_throttled(RETRY_TIME, || async {
            let request = self
                .database
                .client()
                .await
                .update_item()
                .table_name(&self.target.table)
                .key(ID, text(INTERNAL_ID))
                .key(STATUS, text(format!("lock:{name}")))
                .update_expression("SET #owner = :me, #until = :until")
                .condition_expression("attribute_not_exists(#owner) OR #owner = :me OR #until < :now")
                .expression_attribute_names("#owner", "Owner")
                .expression_attribute_names("#until", "Until")
                .expression_attribute_values(":me", text(&self.database.settings.instance))
                .expression_attribute_values(":until", number(now.saturating_add(micros(ttl))))
                .expression_attribute_values(":now", number(now));
            match request.send().await {
                Ok(_) => Ok(true),
                Err(cause) if is_refused(&cause) => Ok(false),
                Err(cause) => Err(classify(&self.database.settings.place(), "take a lock", cause)),
            }
        })
        .await
    }

    pub(crate) async fn release_lock(&self, name: &str) -> Result<(), Error> {
        retry_throttled(RETRY_TIME, || async {
            let request = self
                .database
                .client()
                .await
                .delete_item()
                .table_name(&self.target.table)
                .key(ID, text(INTERNAL_ID))
                .key(STATUS, text(format!("lock:{name}")))
                .condition_expression("#owner = :me")
                .expression_attribute_names("#owner", "Owner")
                .expression_attribute_values(":me", text(&self.database.settings.instance));
            match request.send().await {
                Ok(_) => Ok(()),
                Err(cause) if is_refused(&cause) => Ok(()),
                Err(cause) => Err(classify(&self.database.settings.place(), "give a lock back", cause)),
            }
        })
        .await
    }

    pub(crate) async fn is_paused(&self, lane: &str) -> Result<bool, Error> {
        retry_throttled(RETRY_TIME, || async {
            let request = self
                .database
                .client()
                .await
                .get_item()
                .table_name(&self.target.table)
                .key(ID, text(INTERNAL_ID))
                .key(STATUS, text(format!("paused:{lane}")))
                .consistent_read(true);
            let place = self.database.settings.place();
            let response = request.send().await.map_err(|cause| classify(&place, "read a pause", cause))?;
            Ok(response.item.is_some())
        })
        .await
    }

    pub(crate) async fn pause(&self, lane: &str, paused: bool) -> Result<(), Error> {
        let place = self.database.settings.place();
        let status = text(format!("paused:{lane}"));
        retry_throttled(RETRY_TIME, || async {
            let client = self.database.client().await;
            if paused {
                let request = client.put_item().table_name(&self.target.table);
                let request = request.item(ID, text(INTERNAL_ID)).item(STATUS, status.clone());
                request.send().await.map_err(|cause| classify(&place, "pause", cause))?;
            } else {
                let request = client.delete_item().table_name(&self.target.table);
                let request = request.key(ID, text(INTERNAL_ID)).key(STATUS, status.clone());
                request.send().await.map_err(|cause| classify(&place, "resume", cause))?;
            }
            Ok(())
        })
        .await
    }
}

fn is_refused<E>(cause: &aws_sdk_dynamodb::error::SdkError<E>) -> bool
where
    E: aws_sdk_dynamodb::error::ProvideErrorMetadata,
{
    use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
    cause.code() == Some("ConditionalCheckFailedException")
}
