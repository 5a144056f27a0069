//! The SQS client, and the cached URLs of queues.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aws_config::{BehaviorVersion, Region};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::SharedCredentialsProvider;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use postrider_aws::Registering;
use postrider_seams::Outcome;

use crate::classify;
use crate::config::Settings;

/// Maximum number of cached queue URLs.
const KNOWN_LIMIT: usize = 10_000;

/// The client and its cached queue URLs.
pub struct Connected {
    pub client: Client,
    account: Option<String>,
    /// Queue URLs by name. A queue that is deleted and created again has the same URL.
    known: Mutex<HashMap<String, String>>,
}

impl Connected {
    /// Loads AWS's default settings for what ours leave out, without connecting.
    pub(crate) async fn new(settings: &Settings) -> Self {
        let http = postrider_aws::http_client();
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(settings.connect_timeout)
            .operation_attempt_timeout(settings.request_timeout)
            .build();
        // The engine decides about retries, and each call has its own deadline.
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http)
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts);
        if let Some(region) = &settings.region {
            loader = loader.region(Region::new(region.clone()));
        }
        if let Some(endpoint) = &settings.endpoint {
            loader = loader.endpoint_url(endpoint);
        }
        if let Some(keys) = &settings.credentials {
            let secret = keys.secret_key.reveal();
            loader = loader.credentials_provider(aws_sdk_sqs::config::Credentials::new(
                &keys.access_key,
                secret,
                None,
                None,
                "settings",
            ));
        }
        let mut config = loader.load().await;
        if let Some(provider) = config.credentials_provider() {
            let provider = SharedCredentialsProvider::new(Registering(provider));
            config = config.into_builder().credentials_provider(provider).build();
        }
        let client = Client::new(&config);
        Self { client, account: settings.account.clone(), known: Mutex::default() }
    }

    /// Returns the URL of a queue. A topic that is a URL is used unchanged: requests go to our endpoint anyway.
    pub async fn queue(&self, topic: &str) -> Result<String, Outcome> {
        if topic.starts_with("https://") || topic.starts_with("http://") {
            return Ok(topic.to_owned());
        }
        if let Some(url) = self.known().get(topic) {
            return Ok(url.clone());
        }
        let asked = self
            .client
            .get_queue_url()
            .queue_name(topic)
            .set_queue_owner_aws_account_id(self.account.clone())
            .send()
            .await
            .map_err(|error| not_sent(classify::request(&error)))?;
        let url = asked.queue_url().unwrap_or_default().to_owned();
        let mut known = self.known();
        if known.len() >= KNOWN_LIMIT {
            known.clear();
        }
        known.insert(topic.to_owned(), url.clone());
        Ok(url)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaces an uncertain outcome: a query for a queue's URL sends no record.
fn not_sent(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Uncertain(failure) => Outcome::Retryable(failure),
        other => other,
    }
}
