//! The HTTP APIs of mail providers: one file per provider, each written from its published reference.

mod mailgun;
mod postmark;
mod resend;
mod sendgrid;
pub(crate) mod ses;

use postrider_seams::Secret;

use crate::classify::RequestFailure;
use crate::client::{ProviderRequest, ProviderResponse};
use crate::config::{Kind, Settings};
use crate::encode::RequestContext;

/// Builds the requests of one provider and reads its responses.
pub(crate) trait ProviderApi: Send + Sync {
    /// Whether the provider accepts the parts of a message as JSON rather than the raw message.
    fn needs_parsed_message(&self) -> bool;

    /// Returns the maximum number of recipients of one request.
    fn max_recipients(&self) -> usize;

    /// Whether the provider drops a second request with the same idempotency key.
    fn deduplicates(&self) -> bool {
        false
    }

    fn request(&self, context: &RequestContext<'_>) -> ProviderRequest;

    /// Returns a request that is invalid on purpose, so that no mail is sent: its response shows whether the provider
    /// is up and accepts our key. A key that may only send is sufficient.
    fn probe(&self) -> ProviderRequest;

    /// Reads the provider's id of the mail from a 2xx response.
    fn id(&self, response: &ProviderResponse) -> Option<String>;

    /// Returns recipients that a 2xx response leaves out, with the reason.
    fn omitted_recipients(
        &self,
        _response: &ProviderResponse,
        _context: &RequestContext<'_>,
    ) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Classifies a response that is not 2xx.
    fn classify_failure(&self, response: &ProviderResponse) -> RequestFailure;
}

pub(crate) fn for_settings(settings: &Settings) -> Box<dyn ProviderApi> {
    let key = settings.key.clone().unwrap_or_else(|| Secret::new(""));
    match settings.kind {
        Kind::Ses => Box::new(ses::Ses { configuration_set: settings.configuration_set.clone() }),
        Kind::SendGrid => Box::new(sendgrid::SendGrid { key }),
        Kind::Postmark => Box::new(postmark::Postmark { key, stream: settings.stream.clone() }),
        Kind::Mailgun => {
            Box::new(mailgun::Mailgun::new(&key, settings.domain.as_deref().unwrap_or_default()))
        }
        Kind::Resend => Box::new(resend::Resend { key }),
    }
}

/// Returns a text member of a response, or the empty string.
fn text<'a>(value: &'a serde_json::Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}
