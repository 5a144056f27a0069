//! The HTTP APIs of mail providers: one file per provider, each written from its published reference.

mod mailgun;
mod postmark;
mod resend;
mod sendgrid;
pub(crate) mod ses;

use postrider_broker::Secret;

use crate::classify::Judgement;
use crate::client::{Answer, Request};
use crate::config::{Kind, Settings};
use crate::encode::Job;

/// Builds the requests of one provider and reads its responses.
pub(crate) trait Api: Send + Sync {
    /// Whether the provider accepts the parts of a message as JSON rather than the raw message.
    fn wants_parts(&self) -> bool;

    /// Returns the maximum number of recipients of one request.
    fn recipients(&self) -> usize;

    /// Whether the provider drops a second request with the same idempotency key.
    fn drops_repeats(&self) -> bool {
        false
    }

    fn request(&self, job: &Job<'_>) -> Request;

    /// Returns a request that is invalid on purpose, so that no mail is sent: its response shows whether the provider
    /// is up and accepts our key. A key that may only send is sufficient.
    fn probe(&self) -> Request;

    /// Reads the provider's id of the mail from a 2xx response.
    fn id(&self, answer: &Answer) -> Option<String>;

    /// Returns recipients that a 2xx response leaves out, with the reason.
    fn left_out(&self, _answer: &Answer, _job: &Job<'_>) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Classifies a response that is not 2xx.
    fn judge(&self, answer: &Answer) -> Judgement;
}

pub(crate) fn of(settings: &Settings) -> Box<dyn Api> {
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
