//! Loads the configuration of an AWS client: given settings first, AWS's default chain for the others.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;

use crate::{RegisteringProvider, http_client};

/// The settings of an AWS client that do not come from AWS's default chain.
pub struct ClientConfig<'a> {
    pub region: Option<&'a str>,
    /// URL of a private endpoint or an emulator.
    pub endpoint: Option<&'a str>,
    /// Access key and secret key.
    pub static_credentials: Option<(&'a str, &'a str)>,
    pub connect_timeout: Duration,
    /// Time limit of one request.
    pub request_timeout: Duration,
}

impl ClientConfig<'_> {
    /// Loads the configuration, without connecting. The SDK never retries: callers decide about retries, and each of
    /// their calls has its own deadline. Credentials are registered as secrets.
    pub async fn load(&self) -> SdkConfig {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(self.connect_timeout)
            .operation_attempt_timeout(self.request_timeout)
            .build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http_client())
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts);
        if let Some(region) = self.region {
            loader = loader.region(Region::new(region.to_owned()));
        }
        if let Some(endpoint) = self.endpoint {
            loader = loader.endpoint_url(endpoint);
        }
        if let Some((access_key, secret_key)) = self.static_credentials {
            let credentials = Credentials::new(access_key, secret_key, None, None, "settings");
            loader = loader.credentials_provider(credentials);
        }
        let config = loader.load().await;
        match config.credentials_provider() {
            Some(provider) => {
                let provider = SharedCredentialsProvider::new(RegisteringProvider(provider));
                config.into_builder().credentials_provider(provider).build()
            }
            None => config,
        }
    }
}
