//! The client, and the addresses of queues.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aws_config::{BehaviorVersion, Region};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::SharedCredentialsProvider;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use postrider_broker::Registering;
use postrider_seams::Outcome;

use crate::classify;
use crate::config::Settings;

/// Addresses that are kept: queues of one lane.
const KNOWN_LIMIT: usize = 10_000;

/// The client, and what it knows of queues.
pub struct Connected {
    pub client: Client,
    account: Option<String>,
    /// Name to URL. A queue that is deleted and made anew has the same URL.
    known: Mutex<HashMap<String, String>>,
}

impl Connected {
    /// Reads AWS's usual settings where ours are silent. Connects to nothing yet.
    pub(crate) async fn new(settings: &Settings) -> Self {
        let http = postrider_aws::http_client();
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(settings.connect_timeout)
            .operation_attempt_timeout(settings.request_timeout)
            .build();
        // The engine decides what is tried again, and each call has its own deadline.
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

    /// Where a queue is. A topic that is a URL is taken at its word: requests go to our endpoint whatever it says.
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

/// While we only ask for an address, nothing is uncertain.
fn not_sent(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Uncertain(failure) => Outcome::Retryable(failure),
        other => other,
    }
}
