//! SQS: pointers in a standard queue; unacknowledged ones are delivered again when their visibility timeout ends.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, QueueAttributeName,
};
use postrider_seams::queue::{AckToken, Error, Pointer, Queue};
use postrider_seams::{Outcome, RowId, Transport as _};
use postrider_target_options::InvalidOptions;
use postrider_transport_sqs::client::SqsClient;
use postrider_transport_sqs::{Settings, Sqs, classify};
use tokio::time::{Instant, timeout};

use crate::publish::publish;
use crate::{CALL_TIMEOUT, from_transport, name, pointer};

/// Largest number of messages per request.
const MAX_BATCH: usize = 10;

/// Concurrent receive requests: each returns ten messages at most.
const RECEIVERS: usize = 4;

/// Seconds that a receive waits for a first message (long polling).
const LONG_POLL_SECONDS: i32 = 1;

/// An external queue in SQS.
pub struct SqsQueue {
    sqs: Sqs,
    queue: String,
    redelivery_timeout: Duration,
}

impl SqsQueue {
    /// Checks the settings. Pointers that are not acknowledged within `redelivery_timeout` are delivered again.
    pub fn new(
        settings: Settings,
        queue: String,
        redelivery_timeout: Duration,
    ) -> Result<Self, InvalidOptions> {
        name::check("SQS", [name::sqs(&queue)])?;
        Ok(Self { sqs: Sqs::new(settings)?, queue, redelivery_timeout })
    }

    /// Returns the queue's URL. The error about an unknown queue name names the command that creates the queue.
    async fn url(&self, client: &SqsClient) -> Result<String, Error> {
        let answer = with_timeout(client.queue_url(&self.queue)).await?;
        answer.map_err(|outcome| match queue_error(&outcome) {
            Error::Refused(reason)
                if reason.contains("QueueDoesNotExist") || reason.contains("NonExistentQueue") =>
            {
                Error::Refused(format!("there is no queue {}: run `postrider migrate`", self.queue))
            }
            other => other,
        })
    }

    fn seconds(duration: Duration) -> i32 {
        i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)
    }
}

/// Converts a failed request into an error of the queue.
fn queue_error(outcome: &Outcome) -> Error {
    let reason = outcome.failure().map(|failure| failure.reason.clone()).unwrap_or_default();
    match outcome {
        Outcome::Rejected(_) | Outcome::Refused(_) => Error::Refused(reason),
        _ => Error::Unavailable(reason),
    }
}

async fn with_timeout<T>(call: impl IntoFuture<Output = T>) -> Result<T, Error> {
    timeout(CALL_TIMEOUT, call)
        .await
        .map_err(|_| Error::Unavailable("SQS does not answer in time".to_owned()))
}

#[async_trait]
impl Queue for SqsQueue {
    fn receivers(&self) -> usize {
        RECEIVERS
    }

    async fn publish(&self, rows: &[RowId], deadline: Instant) -> Vec<Result<(), Error>> {
        publish(&self.sqs, &self.queue, rows, deadline).await
    }

    async fn receive(&self, limit: usize) -> Result<Vec<Pointer>, Error> {
        let client = self.sqs.client().await;
        let url = self.url(client).await?;
        let request = client
            .sdk
            .receive_message()
            .queue_url(url)
            .max_number_of_messages(i32::try_from(limit.clamp(1, MAX_BATCH)).unwrap_or(1))
            .visibility_timeout(Self::seconds(self.redelivery_timeout))
            .wait_time_seconds(LONG_POLL_SECONDS);
        let answer =
            with_timeout(request.send()).await?.map_err(|error| queue_error(&classify::request(&error)))?;
        let messages = answer.messages.unwrap_or_default();
        let pointers = messages.into_iter().filter_map(|message| {
            let row = message.body.as_deref().and_then(|body| pointer::decode(body.as_bytes()));
            Some(Pointer { row, token: AckToken(message.receipt_handle?) })
        });
        Ok(pointers.collect())
    }

    async fn acknowledge(&self, tokens: &[AckToken]) -> Result<(), Error> {
        let client = self.sqs.client().await;
        let url = self.url(client).await?;
        for part in tokens.chunks(MAX_BATCH) {
            let entry = |(index, token): (usize, &AckToken)| {
                DeleteMessageBatchRequestEntry::builder()
                    .id(index.to_string())
                    .receipt_handle(&token.0)
                    .build()
            };
            let entries: Result<Vec<_>, _> = part.iter().enumerate().map(entry).collect();
            let entries = entries.map_err(|error| Error::Unavailable(error.to_string()))?;
            let request = client.sdk.delete_message_batch().queue_url(&url).set_entries(Some(entries));
            with_timeout(request.send()).await?.map_err(|error| queue_error(&classify::request(&error)))?;
        }
        Ok(())
    }

    async fn give_back(&self, tokens: &[AckToken], after: Duration) -> Result<(), Error> {
        let client = self.sqs.client().await;
        let url = self.url(client).await?;
        for part in tokens.chunks(MAX_BATCH) {
            let entry = |(index, token): (usize, &AckToken)| {
                ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(index.to_string())
                    .receipt_handle(&token.0)
                    .visibility_timeout(Self::seconds(after))
                    .build()
            };
            let entries: Result<Vec<_>, _> = part.iter().enumerate().map(entry).collect();
            let entries = entries.map_err(|error| Error::Unavailable(error.to_string()))?;
            let request =
                client.sdk.change_message_visibility_batch().queue_url(&url).set_entries(Some(entries));
            with_timeout(request.send()).await?.map_err(|error| queue_error(&classify::request(&error)))?;
        }
        Ok(())
    }

    async fn waiting(&self) -> Result<u64, Error> {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let client = self.sqs.client().await;
        let url = self.url(client).await?;
        let request = client.sdk.get_queue_attributes().queue_url(url).attribute_names(name.clone());
        let answer =
            with_timeout(request.send()).await?.map_err(|error| queue_error(&classify::request(&error)))?;
        let count = answer.attributes().and_then(|all| all.get(&name)).and_then(|count| count.parse().ok());
        count.ok_or_else(|| {
            Error::Unavailable(format!("queue {}: SQS does not say how many messages wait", self.queue))
        })
    }

    async fn probe(&self) -> Result<(), Error> {
        self.sqs.probe().await.map_err(from_transport)?;
        let client = self.sqs.client().await;
        let url = self.url(client).await?;
        let request =
            client.sdk.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::QueueArn);
        with_timeout(request.send())
            .await?
            .map(|_| ())
            .map_err(|error| queue_error(&classify::request(&error)))
    }

    async fn declare(&self) -> Result<Vec<String>, Error> {
        let client = self.sqs.client().await;
        match self.url(client).await {
            Ok(_) => return Ok(Vec::new()),
            Err(Error::Unavailable(reason)) => return Err(Error::Unavailable(reason)),
            Err(Error::Refused(_)) => {}
        }
        let redelivery_timeout = Self::seconds(self.redelivery_timeout).to_string();
        let request = client
            .sdk
            .create_queue()
            .queue_name(&self.queue)
            .attributes(QueueAttributeName::VisibilityTimeout, redelivery_timeout);
        with_timeout(request.send()).await?.map_err(|error| queue_error(&classify::request(&error)))?;
        Ok(vec![format!("queue {}", self.queue)])
    }
}
