//! Creating, changing and pausing subscriptions.

use std::collections::BTreeMap;

use serde::Deserialize;
use utoipa::ToSchema;

use super::view::{Subscription, TABLE};
use super::{DataFilter, is_pattern};
use crate::access::Actor;
use crate::audit::Change;
use crate::job::{DispatchMode, NewJob, enum_name};
use crate::sql::{NewRow, tsid};
use crate::validation::Faults;
use crate::{Error, Hub, target};

/// A subscription to create, or the new version of one. Code and client cannot be changed.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewSubscription {
    /// Code of the subscription; unique per client.
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9._-]{1,128}$")]
    pub code: String,
    /// Client whose events match. Default: the client of the API key if it has exactly one, otherwise events of all
    /// clients.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    pub client_id: Option<String>,
    /// Display name.
    #[schema(max_length = 255, format = "line")]
    pub name: String,
    /// Free text. Default: none.
    #[schema(max_length = 2000, pattern = r"^[^\u0000]*$")]
    pub description: Option<String>,
    /// Event type to match: `application:subdomain:aggregate:event`; `*` matches any value of a part.
    #[schema(max_length = 255, pattern = r"^([A-Za-z0-9._-]+|\*)(:([A-Za-z0-9._-]+|\*)){3}$")]
    pub event_code: String,
    /// Prefix that the event's `source` must have. Default: any source.
    #[schema(max_length = 255, format = "line")]
    pub source_prefix: Option<String>,
    /// Conditions on the event's data; all of them must hold. Default: none.
    #[serde(default)]
    #[schema(max_items = 20)]
    pub filters: Vec<DataFilter>,
    /// URL that events are posted to. It must be https, unless the server allows http.
    #[schema(max_length = 2000, pattern = "^https?://[!-~]+$")]
    pub target_url: String,
    /// Additional headers of the request. Default: none.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Service account that authenticates and signs the requests. Default: none.
    #[schema(pattern = "^[0-9A-HJKMNP-TV-Z]{13}$")]
    pub service_account_id: Option<String>,
    /// Pool whose limits apply to the jobs. Default: none.
    #[schema(pattern = "^[0-9A-HJKMNP-TV-Z]{13}$")]
    pub dispatch_pool_id: Option<String>,
    /// What a failure means for later jobs of the same message group. Default: `IMMEDIATE`.
    #[serde(default)]
    pub mode: DispatchMode,
    /// Order of its jobs within the message group, lowest first. Default: 99.
    #[schema(minimum = -2_147_483_648i64, maximum = 2_147_483_647)]
    pub sequence: Option<i64>,
    /// Whether to send only the event's data. Otherwise the whole CloudEvent is sent. Default: true.
    pub data_only: Option<bool>,
    /// Time limit of one attempt, in seconds. Default: 30.
    #[schema(minimum = 1, maximum = 300)]
    pub timeout_seconds: Option<i64>,
    /// Maximum number of attempts of a job; the first is always made. Default: 3.
    #[schema(minimum = 1, maximum = 1000)]
    pub max_retries: Option<i64>,
    /// When failed attempts are retried: `exponential` (after 30 s, doubling, at most 1 h), `fixed` (every 30 s),
    /// `immediate`, or a JSON list of seconds: `[5,60]`. Default: `exponential`.
    #[schema(max_length = 255, format = "retry-strategy")]
    pub retry_strategy: Option<String>,
    /// Seconds after which a job that is not delivered ends in `ERROR`. Default: never.
    #[schema(minimum = 1, maximum = 31_536_000)]
    pub expires_after_seconds: Option<i64>,
    /// Whether the receiver may answer 2xx with `{"ack": false, "delaySeconds": n}` to be called again later. Default:
    /// false.
    pub honours_ack: Option<bool>,
    /// Whether events create jobs. Default: true.
    pub active: Option<bool>,
}

impl NewSubscription {
    fn check(&self, faults: &mut Faults, hub: &Hub) {
        faults.slug("code", &self.code, 128);
        faults.optional_slug("clientId", self.client_id.as_deref(), 64);
        faults.line("name", &self.name, 255);
        faults.optional_text("description", self.description.as_deref(), 2000);
        if !is_pattern(&self.event_code, true) {
            faults.add("eventCode", "must be application:subdomain:aggregate:event, each part a name or *");
        }
        faults.optional_line("sourcePrefix", self.source_prefix.as_deref(), 255);
        if self.filters.len() > 20 {
            faults.add("filters", "must not have more than 20 filters");
        }
        for (index, filter) in self.filters.iter().enumerate() {
            if let Some(error) = filter.error() {
                faults.add(&format!("filters[{index}]"), error);
            }
        }
        if let Err(text) = target::check(&hub.settings.guard, &self.target_url) {
            faults.add("targetUrl", text);
        }
        faults.headers("headers", &self.headers, self.service_account_id.is_some());
        faults.id("serviceAccountId", self.service_account_id.as_deref());
        faults.id("dispatchPoolId", self.dispatch_pool_id.as_deref());
        for (field, value, allowed) in [
            ("sequence", self.sequence, i64::from(i32::MIN)..=i64::from(i32::MAX)),
            ("timeoutSeconds", self.timeout_seconds, 1..=300),
            ("maxRetries", self.max_retries, 1..=1000),
            ("expiresAfterSeconds", self.expires_after_seconds, 1..=31_536_000),
        ] {
            faults.optional_range(field, value, allowed);
        }
        faults.retry_strategy(self.retry_strategy.as_deref());
    }

    fn set(&self, row: NewRow) -> NewRow {
        row.text("name", self.name.clone())
            .text("description", self.description.clone())
            .text("event_code", self.event_code.clone())
            .text("source_prefix", self.source_prefix.clone())
            .json("filters", &self.filters)
            .text("target_url", self.target_url.clone())
            .json("headers", &self.headers)
            .text("service_account_id", self.service_account_id.clone())
            .text("dispatch_pool_id", self.dispatch_pool_id.clone())
            .text("mode", enum_name(&self.mode))
            .int("sequence", self.sequence.unwrap_or(99))
            .flag("data_only", self.data_only.unwrap_or(true))
            .int("timeout_seconds", self.timeout_seconds.unwrap_or(30))
            .int("max_retries", self.max_retries.unwrap_or(3))
            .text("retry_strategy", self.retry_strategy.clone().unwrap_or_else(|| "exponential".to_owned()))
            .int("expires_after_seconds", self.expires_after_seconds)
            .flag("honours_ack", self.honours_ack.unwrap_or(false))
            .flag("active", self.active.unwrap_or(true))
    }
}

impl Hub {
    /// Creates a subscription. Fails if it is invalid, its code is in use, or the actor may not act for its client.
    pub async fn create_subscription(
        &self,
        actor: &Actor,
        new: NewSubscription,
    ) -> Result<Subscription, Error> {
        let mut faults = Faults::default();
        new.check(&mut faults, self);
        faults.finish()?;
        let client = actor.client_for(new.client_id.clone())?;
        self.check_references_of(actor, client.clone(), &new).await?;
        let id = tsid();
        let change = Change::new("create", "subscription", &id).of_client(client.as_deref());
        let row =
            NewRow::new().text("id", id.clone()).text("code", new.code.clone()).text("client_id", client);
        let row = new.set(row).flag("paused", false);
        self.insert_with_code("create a subscription", (&TABLE, &id), row, actor, change).await?;
        self.subscription(actor, &id).await
    }

    /// Replaces a subscription; members that are left out get their defaults. Its code and client cannot be changed.
    pub async fn change_subscription(
        &self,
        actor: &Actor,
        id: &str,
        change: &NewSubscription,
    ) -> Result<Subscription, Error> {
        let mut faults = Faults::default();
        change.check(&mut faults, self);
        faults.finish()?;
        let found = self.subscription(actor, id).await?;
        if change.code != found.code {
            return Err(Error::invalid("code", "cannot be changed: create another subscription"));
        }
        if change.client_id.is_some() && change.client_id != found.client_id {
            return Err(Error::invalid("clientId", "cannot be changed: create another subscription"));
        }
        self.check_references_of(actor, found.client_id.clone(), change).await?;
        self.update_subscription(actor, &found, "change", change.set(NewRow::new())).await
    }

    /// Pauses or resumes a subscription. Its jobs wait while it is paused; events still create jobs.
    pub async fn pause_subscription(
        &self,
        actor: &Actor,
        id: &str,
        paused: bool,
    ) -> Result<Subscription, Error> {
        let found = self.subscription(actor, id).await?;
        let row = NewRow::new().text("paused_reason", None).flag("paused", paused);
        self.update_subscription(actor, &found, if paused { "pause" } else { "resume" }, row).await
    }

    async fn update_subscription(
        &self,
        actor: &Actor,
        found: &Subscription,
        action: &'static str,
        row: NewRow,
    ) -> Result<Subscription, Error> {
        let change = Change::new(action, "subscription", &found.id).of_client(found.client_id.as_deref());
        let (update, entry) = (self.update(&TABLE, row), change.entry(self.dialect(), actor));
        self.update_by_id("change a subscription", &found.id, update, entry).await?;
        self.subscription(actor, &found.id).await
    }

    /// Checks that the account and the pool exist and may be used by the client, and that the target is allowed.
    async fn check_references_of(
        &self,
        actor: &Actor,
        client: Option<String>,
        change: &NewSubscription,
    ) -> Result<(), Error> {
        let job = NewJob {
            client_id: client,
            service_account_id: change.service_account_id.clone(),
            dispatch_pool_id: change.dispatch_pool_id.clone(),
            ..NewJob::to("check", &change.target_url)
        };
        self.check_job_references(actor, job).await
    }
}
