//! Registers AWS credentials as secrets, so that they are removed from texts of other services.

use aws_credential_types::Credentials;
use aws_credential_types::provider::future::ProvideCredentials as Provided;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use postrider_seams::scrub;

/// Registers these credentials, so that they are removed from texts from now on.
pub fn register_credentials(credentials: &Credentials) {
    scrub::register(credentials.secret_access_key());
    if let Some(token) = credentials.session_token() {
        scrub::register(token);
    }
}

/// Registers the credentials of another provider, each time it renews them.
#[derive(Debug)]
pub struct RegisteringProvider(pub SharedCredentialsProvider);

impl ProvideCredentials for RegisteringProvider {
    fn provide_credentials<'a>(&'a self) -> Provided<'a>
    where
        Self: 'a,
    {
        Provided::new(async move {
            let credentials = self.0.provide_credentials().await?;
            register_credentials(&credentials);
            Ok(credentials)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn g07_credentials_of_aws_are_removed_from_texts() {
        let keys =
            Credentials::new("AKIA", "a-secret-access-key", Some("a-session-token".into()), None, "test");
        let provider = RegisteringProvider(SharedCredentialsProvider::new(keys));
        provider.provide_credentials().await.unwrap();
        let text = scrub::scrub("no a-secret-access-key, no a-session-token").into_owned();
        assert_eq!(text, "no [redacted], no [redacted]");
    }
}
