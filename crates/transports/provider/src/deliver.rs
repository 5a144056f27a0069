//! The provider transport: one mail, one or more requests, one outcome.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use postrider_seams::{Content, Envelope, Failure, Mail, Outcome, Transport, transport};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::api::ses::SesSigner;
use crate::api::{self, ProviderApi};
use crate::classify::{ErrorCode, FailureKind, RequestFailure};
use crate::client::{ProviderClient, ProviderRequest, ProviderResponse, SendError};
use crate::config::{Kind, Settings};
use crate::encode::{self, RequestContext};
use crate::error::Error;
use crate::outcome::{self, AcceptedRequest, RequestResult};
use crate::parsed_message::{self, ParsedMessage};
use crate::recipient_groups;

/// Time limit of a probe; a slower answer counts as a failure of the provider.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Delivers mails through one provider account.
pub struct Provider {
    settings: Settings,
    api: Box<dyn ProviderApi>,
    client: ProviderClient,
    signer: OnceCell<SesSigner>,
    /// The last sender that the provider accepted, to compare a refused sender with.
    last_accepted_sender: Mutex<Option<String>>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Provider {
    /// Checks the settings; connects with the first mail.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let client = ProviderClient::new(settings.connect_timeout, settings.timeout);
        let api = api::for_settings(&settings);
        Ok(Self { settings, api, client, signer: OnceCell::new(), last_accepted_sender: Mutex::default() })
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, overrides)?)
    }

    async fn deliver_one(&self, envelope: &Envelope, deadline: Instant) -> Outcome {
        let Content::Mail(mail) = &envelope.content else {
            return Outcome::Rejected(Failure::new("not a mail: this transport sends only mails"));
        };
        // The API accepts a mail only as a whole, in JSON or a form.
        let loaded = match mail.loaded().await {
            Ok(loaded) => loaded,
            Err(error) => return Outcome::Retryable(Failure::new(format!("the message's file: {error}"))),
        };
        let mail = &loaded;
        let name = self.settings.kind.name();
        let invalid_mail = |reason: String| {
            let sent = RequestResult {
                recipients: mail.to.clone(),
                result: Err(RequestFailure::invalid_mail(reason)),
            };
            outcome::outcome(name, mail, vec![sent], Vec::new())
        };
        let parsed = if self.api.needs_parsed_message() {
            parsed_message::parse(&mail.message)
        } else {
            Ok(ParsedMessage::default())
        };
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(reason) => return invalid_mail(reason),
        };
        let limit = self.api.max_recipients();
        let groups = if self.api.needs_parsed_message() {
            recipient_groups::split_visible(mail, &parsed, limit)
        } else {
            recipient_groups::split_envelope(mail, limit)
        };
        let mut sent = Vec::with_capacity(groups.len());
        let mut not_sent = Vec::new();
        let mut slowest = Duration::ZERO;
        for group in &groups {
            let recipients: Vec<String> = group.addresses().map(str::to_owned).collect();
            // A failure that stopped one request would stop the next; a refusal of some recipients says nothing about
            // others.
            if sent.last().is_some_and(stops_delivery) {
                not_sent.extend(recipients);
                continue;
            }
            if let Err(untried) = envelope.may_begin() {
                if sent.is_empty() {
                    return untried;
                }
                // Another worker may have sent the rest: the mail ends with the results so far.
                sent.push(RequestResult { recipients, result: Err(lease_lost(&untried)) });
                continue;
            }
            let key = encode::idempotency_key(&envelope.dedupe, &mail.message_id, group, groups.len());
            let context = RequestContext { envelope, mail, parsed: &parsed, group, key };
            let begun = Instant::now();
            // A request that is cut off is uncertain, so one that is likely to be is better sent in the next call.
            let result = if begun + slowest < deadline {
                self.send_group(&context, deadline).await
            } else {
                Err(no_time_left())
            };
            slowest = slowest.max(begun.elapsed());
            sent.push(RequestResult { recipients, result });
        }
        outcome::outcome(name, mail, sent, not_sent)
    }

    async fn send_group(
        &self,
        context: &RequestContext<'_>,
        deadline: Instant,
    ) -> Result<AcceptedRequest, RequestFailure> {
        let request = self.api.request(context);
        let (size, limit) = (request.body.len(), self.settings.max_size);
        if size > limit {
            let name = self.settings.kind.name();
            return Err(RequestFailure::invalid_mail(format!(
                "the mail is too large for {name}: a request of {size} bytes, at most {limit} are accepted"
            )));
        }
        let response = self.send(request, deadline).await?;
        if (200..300).contains(&response.status) {
            *self.last_accepted_sender() = parsed_message::sender(&context.mail.message);
            return Ok(AcceptedRequest {
                id: self.api.id(&response),
                omitted_recipients: self.api.omitted_recipients(&response, context),
            });
        }
        let failure =
            self.api.classify_failure(&response).with_longest_wait(self.settings.longest_retry_after);
        Err(self.resolve_refused_sender(failure, context.mail))
    }

    /// Blames the mail for a refused sender if the provider accepted another sender before.
    fn resolve_refused_sender(&self, failure: RequestFailure, mail: &Mail) -> RequestFailure {
        if failure.kind != FailureKind::SenderRefused {
            return failure;
        }
        let sender = parsed_message::sender(&mail.message);
        let others = self
            .last_accepted_sender()
            .as_ref()
            .is_some_and(|last_accepted_sender| Some(last_accepted_sender) != sender.as_ref());
        if !others {
            return failure;
        }
        RequestFailure { kind: FailureKind::Rejected, code: ErrorCode::ValidationError, ..failure }
    }

    fn last_accepted_sender(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.last_accepted_sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(
        &self,
        mut request: ProviderRequest,
        deadline: Instant,
    ) -> Result<ProviderResponse, RequestFailure> {
        if Instant::now() >= deadline {
            return Err(no_time_left());
        }
        let base = if self.settings.kind == Kind::Ses {
            let signing = tokio::time::timeout_at(deadline, self.sign(&mut request)).await;
            let timed_out = || {
                RequestFailure::without_response(
                    FailureKind::NotSent,
                    false,
                    "no AWS credentials in time".to_owned(),
                )
            };
            signing.map_err(|_| timed_out())?.map_err(RequestFailure::misconfigured)?
        } else {
            self.settings.base("")
        };
        let name = self.settings.kind.name();
        self.client.send(&base, request, deadline).await.map_err(|fault| match fault {
            SendError::Unreachable(reason) => RequestFailure::without_response(
                FailureKind::Temporary,
                true,
                format!("{name} can't be reached: {reason}"),
            ),
            SendError::Exhausted(reason) => RequestFailure::without_response(
                FailureKind::Exhausted,
                false,
                format!("no request was sent to {name}: this machine has no resources left: {reason}"),
            ),
            SendError::Lost(reason) => RequestFailure::without_response(
                FailureKind::Uncertain,
                false,
                format!("sent to {name}, but not confirmed: {reason}"),
            ),
        })
    }

    /// Signs the request for AWS and returns the base URL.
    async fn sign(&self, request: &mut ProviderRequest) -> Result<String, String> {
        let signer = self.signer.get_or_try_init(|| SesSigner::load(&self.settings)).await?;
        let base = self.settings.base(&signer.region);
        signer.sign(&base, request).await?;
        Ok(base)
    }
}

fn no_time_left() -> RequestFailure {
    RequestFailure::without_response(FailureKind::NotSent, false, "no time left in this call".to_owned())
}

fn lease_lost(untried: &Outcome) -> RequestFailure {
    let reason = untried.failure().map_or_else(String::new, |failure| failure.reason.clone());
    RequestFailure::without_response(FailureKind::NotSent, false, reason)
}

fn stops_delivery(sent: &RequestResult) -> bool {
    sent.result.as_ref().err().is_some_and(|failure| failure.kind != FailureKind::Rejected)
}

#[async_trait]
impl Transport for Provider {
    /// Each mail is its own request, settled as soon as it is answered.
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(1, self.settings.concurrency).deduplicating(self.api.deduplicates())
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        join_all(batch.iter().map(|envelope| self.deliver_one(envelope, deadline))).await
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let failure = match self.send(self.api.probe(), Instant::now() + PROBE_TIMEOUT).await {
            Ok(response) if (200..300).contains(&response.status) => return Ok(()),
            Ok(response) => self.api.classify_failure(&response),
            Err(failure) => failure,
        };
        match failure.kind {
            FailureKind::Refused => Err(transport::Error::Refused(failure.reason)),
            // The probe is not a whole mail: an answer about its content shows that the provider accepts our key.
            FailureKind::Rejected | FailureKind::SenderRefused => Ok(()),
            _ if failure.code == ErrorCode::RateLimited => Ok(()),
            _ => Err(transport::Error::Unreachable(failure.reason)),
        }
    }
}
