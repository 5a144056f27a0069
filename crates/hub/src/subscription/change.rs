//! Creating, changing and pausing subscriptions.

use std::collections::BTreeMap;

use postrider_sql::bind::tsid;
use serde::Deserialize;
use utoipa::ToSchema;

use super::view::{SHEET, Subscription};
use super::{DataFilter, is_pattern};
use crate::access::Actor;
use crate::audit::Change;
use crate::check::{Faults, is_strategy};
use crate::draft::Draft;
use crate::job::{DispatchMode, NewJob, name};
use crate::sheet::{Fresh, Insert, now};
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
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub name: String,
    /// Free text. Default: none.
    #[schema(max_length = 2000, pattern = r"^[^\u0000]*$")]
    pub description: Option<String>,
    /// Event type to match: `application:subdomain:aggregate:event`; `*` matches any value of a part.
    #[schema(max_length = 255, pattern = r"^([A-Za-z0-9._-]+|\*)(:([A-Za-z0-9._-]+|\*)){3}$")]
    pub event_code: String,
    /// Prefix that the event's `source` must have. Default: any source.
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
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
    #[schema(
        max_length = 255,
        pattern = r"^(immediate|fixed|exponential|\[ *(0|[1-9][0-9]{0,5})( *, *(0|[1-9][0-9]{0,5})){0,19} *\])$"
    )]
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
        faults.maybe_slug("clientId", self.client_id.as_deref(), 64);
        faults.line("name", &self.name, 255);
        if let Some(description) = &self.description {
            faults.text("description", description, 2000);
        }
        if !is_pattern(&self.event_code, true) {
            faults.note("eventCode", "must be application:subdomain:aggregate:event, each part a name or *");
        }
        faults.maybe_line("sourcePrefix", self.source_prefix.as_deref(), 255);
        if self.filters.len() > 20 {
            faults.note("filters", "must not have more than 20 filters");
        }
        for (index, filter) in self.filters.iter().enumerate() {
            if let Some(mistake) = filter.mistake() {
                faults.note(&format!("filters[{index}]"), mistake);
            }
        }
        if let Err(text) = target::check(&hub.settings.guard, &self.target_url) {
            faults.note("targetUrl", text);
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
            if let Some(value) = value {
                faults.range(field, value, allowed);
            }
        }
        if self.retry_strategy.as_deref().is_some_and(|text| !is_strategy(text)) {
            faults.note(
                "retryStrategy",
                "must be immediate, fixed, exponential or a JSON list of seconds: [5,60]",
            );
        }
    }

    fn written(&self, row: Fresh) -> Fresh {
        row.text("name", self.name.clone())
            .text("description", self.description.clone())
            .text("event_code", self.event_code.clone())
            .text("source_prefix", self.source_prefix.clone())
            .text("filters", serde_json::json!(self.filters).to_string())
            .text("target_url", self.target_url.clone())
            .text("headers", serde_json::json!(self.headers).to_string())
            .text("service_account_id", self.service_account_id.clone())
            .text("dispatch_pool_id", self.dispatch_pool_id.clone())
            .text("mode", name(&self.mode))
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
        faults.end()?;
        let client = actor.client_for(new.client_id.clone())?;
        self.check_named(actor, client.clone(), &new).await?;
        let (dialect, id) = (self.dialect(), tsid());
        let row = Fresh::new()
            .text("id", id.clone())
            .text("code", new.code.clone())
            .text("client_id", client.clone());
        let row = new.written(row).flag("paused", false);
        let insert = Insert {
            table: SHEET.table,
            columns: &SHEET.columns[..23],
            or_nothing: true,
            ..Insert::default()
        };
        let change = Change::new("create", "subscription", &id).of_client(client.as_deref());
        let change = change.if_made(dialect, actor, SHEET.table);
        self.insert_once("create a subscription", insert.rows(dialect, vec![row]), SHEET.table, &id, change)
            .await?;
        self.subscription(actor, &id).await
    }

    /// Replaces a subscription; members that are left out get their defaults. Its code and client cannot be changed.
    pub async fn change_subscription(
        &self,
        actor: &Actor,
        id: &str,
        what: &NewSubscription,
    ) -> Result<Subscription, Error> {
        let mut faults = Faults::default();
        what.check(&mut faults, self);
        faults.end()?;
        let found = self.subscription(actor, id).await?;
        if what.code != found.code {
            return Err(Error::invalid("code", "cannot be changed: create another subscription"));
        }
        if what.client_id.is_some() && what.client_id != found.client_id {
            return Err(Error::invalid("clientId", "cannot be changed: create another subscription"));
        }
        self.check_named(actor, found.client_id.clone(), what).await?;
        let update = Draft::new(self.dialect(), "UPDATE dispatch_subscriptions SET name = ")
            .text(&what.name)
            .push(", description = ")
            .maybe(what.description.as_deref())
            .push(", event_code = ")
            .text(&what.event_code)
            .push(", source_prefix = ")
            .maybe(what.source_prefix.as_deref())
            .push(", filters = ")
            .text(&serde_json::json!(what.filters).to_string())
            .push(", target_url = ")
            .text(&what.target_url)
            .push(", headers = ")
            .text(&serde_json::json!(what.headers).to_string())
            .push(", service_account_id = ")
            .maybe(what.service_account_id.as_deref())
            .push(", dispatch_pool_id = ")
            .maybe(what.dispatch_pool_id.as_deref())
            .push(", ")
            .name("mode")
            .push(" = ")
            .text(&name(&what.mode))
            .push(", ")
            .name("sequence")
            .push(" = ")
            .int(what.sequence.unwrap_or(99))
            .push(", data_only = ")
            .flag(what.data_only.unwrap_or(true))
            .push(", timeout_seconds = ")
            .int(what.timeout_seconds.unwrap_or(30))
            .push(", max_retries = ")
            .int(what.max_retries.unwrap_or(3))
            .push(", retry_strategy = ")
            .text(what.retry_strategy.as_deref().unwrap_or("exponential"))
            .push(", expires_after_seconds = ")
            .maybe_int(what.expires_after_seconds)
            .push(", honours_ack = ")
            .flag(what.honours_ack.unwrap_or(false))
            .push(", active = ")
            .flag(what.active.unwrap_or(true));
        self.update_subscription(actor, &found, "change", update).await
    }

    /// Pauses or resumes a subscription. Its jobs wait while it is paused; events still create jobs.
    pub async fn pause_subscription(
        &self,
        actor: &Actor,
        id: &str,
        paused: bool,
    ) -> Result<Subscription, Error> {
        let found = self.subscription(actor, id).await?;
        let update =
            Draft::new(self.dialect(), "UPDATE dispatch_subscriptions SET paused_reason = NULL, paused = ")
                .flag(paused);
        self.update_subscription(actor, &found, if paused { "pause" } else { "resume" }, update).await
    }

    async fn update_subscription(
        &self,
        actor: &Actor,
        found: &Subscription,
        action: &'static str,
        update: Draft,
    ) -> Result<Subscription, Error> {
        let dialect = self.dialect();
        let update = update.push(", updated_at = ").push(now(dialect)).push(" WHERE id = ").text(&found.id);
        let change = Change::new(action, "subscription", &found.id).of_client(found.client_id.as_deref());
        self.run("change a subscription", vec![update.done(), change.by(dialect, actor)]).await?;
        self.subscription(actor, &found.id).await
    }

    /// Checks that the account and the pool exist and may be used by the client, and that the target is allowed.
    async fn check_named(
        &self,
        actor: &Actor,
        client: Option<String>,
        what: &NewSubscription,
    ) -> Result<(), Error> {
        let job = NewJob {
            client_id: client,
            service_account_id: what.service_account_id.clone(),
            dispatch_pool_id: what.dispatch_pool_id.clone(),
            ..NewJob::to("check", &what.target_url)
        };
        self.check_job(actor, job).await
    }
}
