//! The SQS client, and the cached URLs of queues.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aws_sdk_sqs::Client;
use postrider_aws::ClientConfig;
use postrider_seams::{Failure, Outcome};

use crate::classify;
use crate::config::Settings;

/// Maximum number of cached queue URLs.
const QUEUE_URL_LIMIT: usize = 10_000;

/// The client and its cached queue URLs.
pub struct SqsClient {
    pub sdk: Client,
    account: Option<String>,
    /// Queue URLs by name. A queue that is deleted and created again has the same URL.
    queue_urls: Mutex<HashMap<String, String>>,
}

impl SqsClient {
    /// Loads AWS's default settings for what ours leave out, without connecting.
    pub(crate) async fn new(settings: &Settings) -> Self {
        let credentials = settings.credentials.as_ref();
        let config = ClientConfig {
            region: settings.region.as_deref(),
            endpoint: settings.endpoint.as_deref(),
            static_credentials: credentials.map(|keys| (keys.access_key.as_str(), keys.secret_key.reveal())),
            connect_timeout: settings.connect_timeout,
            request_timeout: settings.request_timeout,
        };
        let config = config.load().await;
        let client = Client::new(&config);
        Self { sdk: client, account: settings.account.clone(), queue_urls: Mutex::default() }
    }

    /// Returns the URL of a queue. A topic that is a URL is used unchanged: requests go to our endpoint anyway.
    pub async fn queue_url(&self, topic: &str) -> Result<String, Outcome> {
        if topic.starts_with("https://") || topic.starts_with("http://") {
            return Ok(topic.to_owned());
        }
        if let Some(url) = self.queue_urls().get(topic) {
            return Ok(url.clone());
        }
        let answer = self
            .sdk
            .get_queue_url()
            .queue_name(topic)
            .set_queue_owner_aws_account_id(self.account.clone())
            .send()
            .await
            .map_err(|error| as_not_sent(classify::request(&error)))?;
        let url = answer.queue_url().unwrap_or_default().to_owned();
        let mut queue_urls = self.queue_urls();
        if queue_urls.len() >= QUEUE_URL_LIMIT {
            queue_urls.clear();
        }
        queue_urls.insert(topic.to_owned(), url.clone());
        Ok(url)
    }

    fn queue_urls(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.queue_urls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaces an uncertain outcome: a query for a queue's URL sends no record, and an outage costs nothing.
fn as_not_sent(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Uncertain(failure) => Outcome::Retryable(Failure { unreachable: true, ..failure }),
        other => other,
    }
}
