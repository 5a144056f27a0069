//! Named locks and pauses: internal records beside the e-mails, under an `Id` that no e-mail has.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_rows::micros;
use postrider_seams::store::Error;

use crate::ask::{BRIEFLY, patiently};
use crate::error::classify;
use crate::layout::{ID, STATUS};
use crate::statement::text;
use crate::store::DynamoStore;

/// The `Id` of internal records, or its prefix.
pub(crate) const OURS: &str = "_postrider";

impl DynamoStore {
    pub(crate) async fn take_lock(&self, name: &str, ttl: Duration) -> Result<bool, Error> {
        let now = self.database.clock.now();
        let number = |value: i64| AttributeValue::N(value.to_string());
        patiently(BRIEFLY, || async {
            let asked = self
                .database
                .client()
                .await
                .update_item()
                .table_name(&self.target.table)
                .key(ID, text(OURS))
                .key(STATUS, text(format!("lock:{name}")))
                .update_expression("SET #owner = :me, #until = :until")
                .condition_expression("attribute_not_exists(#owner) OR #owner = :me OR #until < :now")
                .expression_attribute_names("#owner", "Owner")
                .expression_attribute_names("#until", "Until")
                .expression_attribute_values(":me", text(&self.database.settings.instance))
                .expression_attribute_values(":until", number(now.saturating_add(micros(ttl))))
                .expression_attribute_values(":now", number(now));
            match asked.send().await {
                Ok(_) => Ok(true),
                Err(cause) if is_refused(&cause) => Ok(false),
                Err(cause) => Err(classify(&self.database.settings.place(), "take a lock", cause)),
            }
        })
        .await
    }

    pub(crate) async fn give_lock(&self, name: &str) -> Result<(), Error> {
        patiently(BRIEFLY, || async {
            let asked = self
                .database
                .client()
                .await
                .delete_item()
                .table_name(&self.target.table)
                .key(ID, text(OURS))
                .key(STATUS, text(format!("lock:{name}")))
                .condition_expression("#owner = :me")
                .expression_attribute_names("#owner", "Owner")
                .expression_attribute_values(":me", text(&self.database.settings.instance));
            match asked.send().await {
                Ok(_) => Ok(()),
                Err(cause) if is_refused(&cause) => Ok(()),
                Err(cause) => Err(classify(&self.database.settings.place(), "give a lock back", cause)),
            }
        })
        .await
    }

    pub(crate) async fn is_paused(&self, lane: &str) -> Result<bool, Error> {
        patiently(BRIEFLY, || async {
            let asked = self
                .database
                .client()
                .await
                .get_item()
                .table_name(&self.target.table)
                .key(ID, text(OURS))
                .key(STATUS, text(format!("paused:{lane}")))
                .consistent_read(true);
            let place = self.database.settings.place();
            let got = asked.send().await.map_err(|cause| classify(&place, "read a pause", cause))?;
            Ok(got.item.is_some())
        })
        .await
    }

    pub(crate) async fn pause(&self, lane: &str, paused: bool) -> Result<(), Error> {
        let place = self.database.settings.place();
        let status = text(format!("paused:{lane}"));
        patiently(BRIEFLY, || async {
            let client = self.database.client().await;
            if paused {
                let asked = client.put_item().table_name(&self.target.table);
                let asked = asked.item(ID, text(OURS)).item(STATUS, status.clone());
                asked.send().await.map_err(|cause| classify(&place, "pause", cause))?;
            } else {
                let asked = client.delete_item().table_name(&self.target.table);
                let asked = asked.key(ID, text(OURS)).key(STATUS, status.clone());
                asked.send().await.map_err(|cause| classify(&place, "resume", cause))?;
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
