//! AWS Secrets Manager and SSM Parameter Store in a build without the feature `aws`: refuses their references.

use postrider_seams::Secret;
use postrider_seams::secret::Error;

use crate::resolver::Environment;
use crate::service_client::ServiceClient;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Service {
    SecretsManager,
    Ssm,
}

#[derive(Default)]
pub(crate) struct Aws(());

impl Aws {
    /// Refuses every secret and parameter.
    #[expect(clippy::unused_async, reason = "the signature of `aws.rs`")]
    pub async fn fetch(
        &self,
        _: &ServiceClient,
        _: &Environment,
        service: Service,
        _: &str,
    ) -> Result<Secret, Error> {
        let title = match service {
            Service::SecretsManager => "AWS Secrets Manager",
            Service::Ssm => "AWS SSM",
        };
        Err(Error::Reference(format!(
            "{title} is not part of this build: add `--features aws`, or build without `--no-default-features`"
        )))
    }
}

#[cfg(test)]
mod tests {
    use postrider_http::Roots;

    use super::*;

    #[tokio::test]
    async fn a_build_without_aws_refuses_its_references_and_names_the_feature() {
        let client = ServiceClient::new(Roots::BuiltIn).unwrap();
        for (service, title) in [(Service::SecretsManager, "AWS Secrets Manager"), (Service::Ssm, "AWS SSM")]
        {
            let refused = Aws::default().fetch(&client, &Environment::default(), service, "acme-token").await;
            let text = format!(
                "{title} is not part of this build: add `--features aws`, or build without `--no-default-features`"
            );
            assert_eq!(refused.unwrap_err(), Error::Reference(text));
        }
    }
}
