//! The webhook transport: sends the requests of a call concurrently, each with its own deadline and a slot of its
//! host. The wait for a slot or a DNS lookup does not count towards the request's time.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use postrider_http::{
    Client, ClientSettings, ErrorKind, HttpRequest, RequestLimits, Resolve, ResolvedTarget, Roots,
    SystemResolver, Target,
};
use postrider_seams::hosts;
use postrider_seams::recheck::Recheck;
use postrider_seams::transport::TargetHold;
use postrider_seams::{Content, Envelope, Failure, Outcome, Transport, Webhook, transport};
use tokio::time::{Instant, timeout_at};

use crate::attempt::{Attempt, ErrorType, ResultClass};
use crate::classify::{self, AttemptContext, HostHealth};
use crate::config::Settings;
use crate::encode::{self, EncodeError};
use crate::error::{Error, KIND};
use crate::hosts::Hosts;

/// Wait of a row whose secret cannot be used.
const SECRET_WAIT: Duration = Duration::from_mins(1);

/// Delivers rows as webhooks.
pub struct Webhooks {
    settings: Settings,
    client: Client,
    hosts: Hosts,
    /// Unix seconds, for signatures and dates only.
    clock: fn() -> i64,
}

impl Webhooks {
    /// Checks the settings and reads the root certificates, without connecting.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Self::with_resolver(settings, Arc::new(SystemResolver::default()))
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, overrides)?)
    }

    /// Creates the transport with another name resolver.
    pub fn with_resolver(settings: Settings, resolver: Arc<dyn Resolve>) -> Result<Self, Error> {
        settings.check()?;
        let client = Client::new(&ClientSettings {
            guard: settings.guard.clone(),
            roots: roots(&settings)?,
            connections: settings.connections,
            idle: settings.idle,
            connect_timeout: settings.connect_timeout,
            lookup_timeout: settings.lookup_timeout,
            resolver,
        });
        let client = client.map_err(|reason| Error::one(KIND, reason))?;
        let hosts = Hosts::new(settings.per_host, settings.concurrency, settings.breaker);
        Ok(Self { settings, client, hosts, clock: unix_now })
    }

    /// Checks whether rows may name this URL: resolves its name without connecting.
    /// Every address is checked again when it is dialled.
    pub async fn check(&self, url: &str) -> Result<(), String> {
        let target = Target::parse(url).map_err(|error| error.to_string())?;
        match self.client.check(&target).await {
            Err(error) if matches!(error.kind, ErrorKind::Url | ErrorKind::Address) => Err(error.to_string()),
            // A name that cannot be resolved now may resolve at delivery.
            _ => Ok(()),
        }
    }

    async fn deliver_one(&self, envelope: &Envelope, deadline: Instant) -> Outcome {
        let Content::Webhook(webhook) = &envelope.content else {
            return rejected("not a webhook: this transport sends only webhooks");
        };
        let context = |took| AttemptContext {
            took,
            signed: !webhook.signing.is_empty(),
            may_postpone: webhook.may_postpone,
            longest_retry_after: webhook.follows_retry_after.then_some(self.settings.longest_retry_after),
            now: self.now(webhook),
        };
        let target = match Target::parse(&webhook.url) {
            Ok(target) => target,
            Err(error) => return classify::error(&error, context(Duration::ZERO)).0,
        };
        if let Some(failure) = refused_host(webhook, &target) {
            return Outcome::Deferred(failure);
        }
        let host = self.hosts.host(&target.origin());
        let slot = match host.slot(webhook.client.as_deref(), deadline).await {
            Ok(slot) => slot,
            Err(deferred) => return deferred,
        };
        let (outcome, health) =
            match self.resolve_and_send(envelope, webhook, &target, deadline, context).await {
                Ok(result) => result,
                Err(NotSent { outcome, health }) => {
                    if let Some(health) = health {
                        slot.report(health);
                    }
                    return outcome;
                }
            };
        if let (HostHealth::Gone, Some(Recheck(recheck))) = (health, &webhook.recheck) {
            // Check before the slot goes to another row for the same receiver.
            recheck.record_receiver_gone().await;
        }
        slot.report(health);
        outcome
    }

    /// Resolves the target, checks what may have changed meanwhile, and sends the request. If the pooled connection that
    /// made a lookup unnecessary is gone by then, all of this is repeated with a lookup, so that the request's time
    /// begins after it.
    async fn resolve_and_send(
        &self,
        envelope: &Envelope,
        webhook: &Webhook,
        target: &Target,
        deadline: Instant,
        context: impl Fn(Duration) -> AttemptContext,
    ) -> Result<(Outcome, HostHealth), NotSent> {
        let mut look_up = false;
        loop {
            let resolved = self.resolve(webhook, target, look_up, deadline, &context).await?;
            recheck(webhook, deadline).await.map_err(|failure| NotSent::from(Outcome::Deferred(failure)))?;
            let request = match encode::encode(&envelope.dedupe, webhook, target.clone(), self.now(webhook)) {
                Ok(request) => request,
                Err(EncodeError::Row(reason)) => return Err(rejected(&reason).into()),
                Err(EncodeError::Secret(reason)) => {
                    let failure = Failure { after: Some(SECRET_WAIT), ..Failure::new(reason) };
                    return Err(Outcome::Deferred(failure).into());
                }
            };
            envelope.may_begin()?;
            match self.send(&resolved, &request, webhook, deadline, &context).await {
                None if !look_up => look_up = true,
                None => {
                    return Err(Outcome::Deferred(Failure::new("its connection was lost; not tried")).into());
                }
                Some(result) => return Ok(result),
            }
        }
    }

    /// Resolves the target, within the lookup's own time limit. With `look_up`, a pooled connection does not count.
    async fn resolve(
        &self,
        webhook: &Webhook,
        target: &Target,
        look_up: bool,
        deadline: Instant,
        context: impl Fn(Duration) -> AttemptContext,
    ) -> Result<ResolvedTarget, NotSent> {
        let (client, began) = (webhook.client.as_deref(), Instant::now());
        let resolving = async {
            if look_up {
                self.client.resolve_name(client, target).await
            } else {
                self.client.resolve(client, target).await
            }
        };
        let resolved = timeout_at(deadline, resolving)
            .await
            .map_err(|_| Outcome::Deferred(Failure::new("the DNS lookup did not end in time; not tried")))?;
        resolved.map_err(|error| {
            let (outcome, health) = classify::error(&error, context(began.elapsed()));
            NotSent { outcome, health: Some(health) }
        })
    }

    /// Sends the request; `None` if the pooled connection that it was resolved to is gone.
    async fn send(
        &self,
        resolved: &ResolvedTarget,
        request: &HttpRequest,
        webhook: &Webhook,
        deadline: Instant,
        context: impl Fn(Duration) -> AttemptContext,
    ) -> Option<(Outcome, HostHealth)> {
        let started = Instant::now();
        let limits = RequestLimits {
            deadline: deadline.min(started + self.timeout(webhook)),
            body: self.settings.max_answer,
        };
        match self.client.send_resolved(resolved, request, limits).await {
            Ok(response) => Some(classify::response(&response, context(started.elapsed()))),
            Err(error) if error.kind == ErrorKind::NotResolved => None,
            Err(error) => Some(classify::error(&error, context(started.elapsed()))),
        }
    }

    /// Returns the time of the row's database, which all workers share.
    fn now(&self, webhook: &Webhook) -> i64 {
        (self.clock)().saturating_add(webhook.clock_offset)
    }

    fn timeout(&self, webhook: &Webhook) -> Duration {
        webhook
            .timeout
            .map_or(self.settings.timeout, |requested| requested.min(self.settings.longest_timeout))
    }
}

#[async_trait]
impl Transport for Webhooks {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(self.settings.batch, self.settings.concurrency)
            .with_probe(transport::Probe::Nothing)
    }

    fn hold(&self, envelope: &Envelope) -> Option<TargetHold> {
        let Content::Webhook(webhook) = &envelope.content else { return None };
        self.hosts.hold(&Target::parse(&webhook.url).ok()?.origin(), webhook.client.as_deref())
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        if let [envelope] = batch {
            return vec![self.deliver_one(envelope, deadline).await];
        }
        join_all(batch.iter().map(|envelope| self.deliver_one(envelope, deadline))).await
    }

    /// Always succeeds: rows name their targets, so there is none to probe. Each host has its own breaker.
    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

/// The outcome of a row for which no request was sent, and what that says about its host, if anything.
struct NotSent {
    outcome: Outcome,
    health: Option<HostHealth>,
}

impl From<Outcome> for NotSent {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, health: None }
    }
}

/// Refuses hosts that the credentials' account does not list; such a job bypassed the check of the API.
fn refused_host(webhook: &Webhook, target: &Target) -> Option<Failure> {
    let allowed = webhook.allowed_hosts.as_ref()?;
    if hosts::allows(allowed, target.host()) {
        return None;
    }
    let reason = format!("its service account is not for the host {}: add it to allowedHosts", target.host());
    Some(Failure { after: Some(SECRET_WAIT), ..Failure::new(reason) })
}

/// Checks again what may have changed since the row was composed; an error defers it.
async fn recheck(webhook: &Webhook, deadline: Instant) -> Result<(), Failure> {
    let Some(Recheck(recheck)) = &webhook.recheck else { return Ok(()) };
    let checked = timeout_at(deadline, recheck.revalidate()).await;
    checked.unwrap_or_else(|_| Err(Failure::new("its account could not be looked up in time; not tried")))
}

/// Rejects the row because of its content; no request was sent.
fn rejected(reason: &str) -> Outcome {
    let attempt = Attempt {
        class: ResultClass::ClientError,
        error: Some(ErrorType::Permanent),
        status: None,
        body: None,
        trace: None,
        took: Duration::ZERO,
        signed: false,
    };
    Outcome::Rejected(Failure { detail: attempt.detail(), ..Failure::new(reason) })
}

fn roots(settings: &Settings) -> Result<Roots, Error> {
    match &settings.ca_file {
        None if settings.system_roots => Ok(Roots::System),
        None => Ok(Roots::BuiltIn),
        Some(file) => std::fs::read(file)
            .map(Roots::BuiltInAnd)
            .map_err(|error| Error::one(KIND, format!("ca_file {}: {error}", file.display()))),
    }
}

#[expect(clippy::disallowed_methods, reason = "receivers compare a signature's time with their own clock")]
fn unix_now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
