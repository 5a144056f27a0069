//! One file a provider, each written from its published reference.

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

/// How one provider is asked, and what its answers mean.
pub(crate) trait Api: Send + Sync {
    /// Does it take the message's parts, rather than the message?
    fn wants_parts(&self) -> bool;

    /// The most recipients of one request.
    fn recipients(&self) -> usize;

    /// Does it drop a second request with the same key?
    fn drops_repeats(&self) -> bool {
        false
    }

    fn request(&self, job: &Job<'_>) -> Request;

    /// A request that can't be carried out, so that nothing is sent: its answer tells whether the provider is there and
    /// takes our key. Keys that may do nothing but send are enough for it.
    fn probe(&self) -> Request;

    /// Reads a 2xx: the provider's id of the mail.
    fn id(&self, answer: &Answer) -> Option<String>;

    /// Recipients that a 2xx leaves out, and why.
    fn left_out(&self, _answer: &Answer, _job: &Job<'_>) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Reads anything else.
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

/// A text member of an answer, or nothing.
fn text<'a>(value: &'a serde_json::Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}
