//! Jobs to create: the request body, its validation and its defaults.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DispatchKind, DispatchMode, DispatchProtocol};
use crate::access::{Actor, hex};
use crate::hub::Settings;
use crate::sql::tsid;
use crate::validation::Faults;
use crate::{Error, Moment, target};

/// A job to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewJob {
    /// The caller's own id of the job. Default: none.
    #[schema(max_length = 255, format = "line")]
    pub external_id: Option<String>,
    /// Where the job comes from. Default: none.
    #[schema(max_length = 255, format = "line")]
    pub source: Option<String>,
    /// Only `TASK` jobs can be created here; `EVENT` jobs are created by subscriptions. Default: `TASK`.
    #[schema(value_type = Option<TaskKind>)]
    pub kind: Option<DispatchKind>,
    /// Code of the task, or type of what happened.
    #[schema(max_length = 255, format = "line")]
    pub code: String,
    /// What the task is about. Default: none.
    #[schema(max_length = 255, format = "line")]
    pub subject: Option<String>,
    /// Id of the event that the job belongs to. Default: none.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    pub event_id: Option<String>,
    /// Id that ties related jobs and events together. Default: none.
    #[schema(max_length = 255, format = "line")]
    pub correlation_id: Option<String>,
    /// Searchable keys and values. Default: none.
    #[serde(default)]
    #[schema(max_items = 50)]
    pub metadata: Vec<MetadataEntry>,
    /// URL that the payload is posted to. It must be https, unless the server allows http.
    #[schema(max_length = 2000, pattern = "^https?://[!-~]+$")]
    pub target_url: String,
    /// How the job is delivered. Default: `HTTP_WEBHOOK`.
    #[serde(default)]
    pub protocol: DispatchProtocol,
    /// Additional headers of the request. Default: none.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Body of the request. Default: an empty body.
    pub payload: Option<String>,
    /// Media type of the payload. Default: `application/json`.
    #[schema(max_length = 255, format = "media-type")]
    pub payload_content_type: Option<String>,
    /// Whether to send the payload as it is. Otherwise it is sent in a CloudEvents envelope. Default: true.
    pub data_only: Option<bool>,
    /// Service account that authenticates and signs the request. Default: none.
    #[schema(pattern = "^[0-9A-HJKMNP-TV-Z]{13}$")]
    pub service_account_id: Option<String>,
    /// Client that the job belongs to. Default: the client of the API key if it has exactly one, otherwise none.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    pub client_id: Option<String>,
    /// What a failure means for later jobs of the same message group. Default: `IMMEDIATE`.
    #[serde(default)]
    pub mode: DispatchMode,
    /// Pool whose limits apply to the job. Default: none.
    #[schema(pattern = "^[0-9A-HJKMNP-TV-Z]{13}$")]
    pub dispatch_pool_id: Option<String>,
    /// Group within which jobs are delivered in order. Default: none.
    #[schema(max_length = 255, format = "line")]
    pub message_group: Option<String>,
    /// Order within the message group, lowest first. Default: 99.
    #[schema(minimum = -2_147_483_648i64, maximum = 2_147_483_647)]
    pub sequence: Option<i64>,
    /// Time limit of one attempt, in seconds. Default: 30.
    #[schema(minimum = 1, maximum = 300)]
    pub timeout_seconds: Option<i64>,
    /// JSON Schema that the payload must match. Default: none.
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9._-]{1,128}$")]
    pub schema_id: Option<String>,
    /// Maximum number of attempts in total; the first is always made. Default: 3.
    #[schema(minimum = 1, maximum = 1000)]
    pub max_retries: Option<i64>,
    /// When failed attempts are retried: `exponential` (after 30 s, doubling, at most 1 h), `fixed` (every 30 s),
    /// `immediate`, or a JSON list of seconds: `[5,60]`. Default: `exponential`.
    #[schema(max_length = 255, format = "retry-strategy")]
    pub retry_strategy: Option<String>,
    /// Earliest time of the first attempt. Until then the job does not block its group. Default: now.
    pub scheduled_for: Option<Moment>,
    /// Latest time of an attempt. Default: never.
    pub expires_at: Option<Moment>,
    /// Key that prevents a second job: the same request with the same key returns the first job. Keys are per client.
    /// Default: none.
    #[schema(min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")]
    pub idempotency_key: Option<String>,
    /// The caller's trace context, which the receiver gets as a header. It is not part of the request hash.
    #[serde(skip)]
    pub traceparent: Option<String>,
}

/// The kind of job that a caller may create.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskKind {
    Task,
}

/// A searchable key and value.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MetadataEntry {
    /// Key to search by.
    #[schema(max_length = 128, format = "line")]
    pub key: String,
    /// Value to search for.
    #[schema(max_length = 255, format = "line")]
    pub value: String,
}

/// The subscription and the API key that a job was created by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    pub subscription: Option<String>,
    pub created_by: Option<String>,
}

/// A job ready to be written: validated, with all defaults set.
#[derive(Debug, Clone)]
pub(crate) struct JobDraft {
    pub id: String,
    pub kind: DispatchKind,
    pub new: NewJob,
    pub origin: Origin,
    /// Whether the payload is the data of the stored event; then `new` has none.
    pub payload_of_event: bool,
    /// SHA-256 of the request, to distinguish a repeated request from a different one with the same idempotency key;
    /// `None` without a key.
    pub hash: Option<String>,
}

impl JobDraft {
    /// Generates a new id, before the job is written again.
    pub fn assign_new_id(&mut self) {
        self.id = tsid();
    }

    /// Leaves the payload to the database, which copies it from the stored event: an event may have many jobs.
    pub fn with_payload_of_event(mut self) -> Self {
        self.new.payload = None;
        self.payload_of_event = true;
        self
    }
}

impl NewJob {
    /// Creates a request with this code and target URL, and defaults for everything else.
    pub fn to(code: &str, target: &str) -> Self {
        let least = serde_json::json!({ "code": code, "targetUrl": target });
        serde_json::from_value(least).expect("a code and a target are a request")
    }

    /// Validates the members of the request and sets the defaults.
    pub(crate) fn validated(mut self, actor: &Actor, settings: &Settings) -> Result<JobDraft, Error> {
        let mut faults = Faults::default();
        self.check(&mut faults, settings);
        if self.kind == Some(DispatchKind::Event) {
            faults
                .add("kind", "must be TASK: EVENT jobs are created by subscriptions; send an event instead");
        }
        faults.finish()?;
        self.client_id = actor.client_for(self.client_id)?;
        let origin = Origin { created_by: actor.key_id(), ..Origin::default() };
        Ok(self.into_draft(DispatchKind::Task, origin))
    }

    pub(crate) fn into_draft(mut self, kind: DispatchKind, origin: Origin) -> JobDraft {
        self.kind = Some(kind);
        self.payload_content_type.get_or_insert_with(|| "application/json".to_owned());
        self.data_only.get_or_insert(true);
        self.sequence.get_or_insert(99);
        self.timeout_seconds.get_or_insert(30);
        self.max_retries.get_or_insert(3);
        self.retry_strategy.get_or_insert_with(|| "exponential".to_owned());
        let hash = self.idempotency_key.is_some().then(|| {
            let text = serde_json::to_string(&self).expect("a request is made of texts and numbers");
            hex(digest(&SHA256, text.as_bytes()).as_ref())
        });
        JobDraft { id: tsid(), kind, new: self, origin, payload_of_event: false, hash }
    }

    fn check(&self, faults: &mut Faults, settings: &Settings) {
        for (field, value) in [
            ("externalId", &self.external_id),
            ("source", &self.source),
            ("subject", &self.subject),
            ("correlationId", &self.correlation_id),
            ("messageGroup", &self.message_group),
        ] {
            faults.optional_line(field, value.as_deref(), 255);
        }
        faults.line("code", &self.code, 255);
        faults.optional_slug("eventId", self.event_id.as_deref(), 64);
        faults.optional_slug("clientId", self.client_id.as_deref(), 64);
        faults.optional_slug("schemaId", self.schema_id.as_deref(), 128);
        faults.id("serviceAccountId", self.service_account_id.as_deref());
        faults.id("dispatchPoolId", self.dispatch_pool_id.as_deref());
        if let Err(text) = target::check(&settings.guard, &self.target_url) {
            faults.add("targetUrl", text);
        }
        faults.headers("headers", &self.headers, self.service_account_id.is_some());
        faults.optional_text("payload", self.payload.as_deref(), settings.payload_limit);
        if let Some(kind) = &self.payload_content_type {
            check_content_type(faults, "payloadContentType", kind);
        }
        if self.data_only == Some(false) && self.payload_is_json() == Some(false) {
            faults.add(
                "payload",
                "is not JSON, as payloadContentType requires, so it cannot be sent in an envelope",
            );
        }
        self.check_metadata(faults);
        self.check_numbers(faults);
        if let Some(key) = &self.idempotency_key
            && (key.is_empty() || key.len() > 255 || !key.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            faults.add("idempotencyKey", "must have 1 to 255 visible ASCII characters, without spaces");
        }
    }

    fn payload_is_json(&self) -> Option<bool> {
        let kind = self.payload_content_type.as_deref().unwrap_or("application/json");
        let is_json = kind.starts_with("application/json") || kind.contains("+json");
        let payload = self.payload.as_deref().filter(|_| is_json)?;
        // Parsed completely, so that JSON nested too deeply for other parsers is refused.
        Some(serde_json::from_str::<serde_json::Value>(payload).is_ok())
    }

    fn check_metadata(&self, faults: &mut Faults) {
        if self.metadata.len() > 50 {
            faults.add("metadata", "must not have more than 50 entries");
        }
        for (index, metadatum) in self.metadata.iter().enumerate() {
            faults.line(&format!("metadata[{index}].key"), &metadatum.key, 128);
            faults.line(&format!("metadata[{index}].value"), &metadatum.value, 255);
        }
    }

    fn check_numbers(&self, faults: &mut Faults) {
        let numbers = [
            ("sequence", self.sequence, i64::from(i32::MIN)..=i64::from(i32::MAX)),
            ("timeoutSeconds", self.timeout_seconds, 1..=300),
            ("maxRetries", self.max_retries, 1..=1000),
        ];
        for (field, value, allowed) in numbers {
            faults.optional_range(field, value, allowed);
        }
        faults.retry_strategy(self.retry_strategy.as_deref());
        if let (Some(after), Some(before)) = (self.scheduled_for, self.expires_at)
            && after >= before
        {
            faults.add("expiresAt", "must be later than scheduledFor");
        }
    }
}

pub(crate) fn check_content_type(faults: &mut Faults, field: &str, text: &str) {
    let bare = text.split(';').next().unwrap_or_default();
    let token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let named = bare.trim_end().split_once('/').is_some_and(|(kind, sub)| token(kind) && token(sub));
    let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && !text.ends_with([' ', ';']);
    if text.len() > 255 || !named || !printable {
        faults.add(field, "must be a media type such as application/json");
    }
}
