//! What a caller says of a job to make, checked.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DispatchKind, DispatchMode, DispatchProtocol};
use crate::access::{Actor, hex};
use crate::check::{Faults, is_strategy};
use crate::hub::Settings;
use crate::{Error, Moment, target};

/// A job to make. What is left out has the value given with it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewJob {
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub external_id: Option<String>,
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub source: Option<String>,
    /// Only TASK can be made by hand.
    #[schema(value_type = Option<TaskKind>)]
    pub kind: Option<DispatchKind>,
    /// The task's code, or the type of what happened.
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub code: String,
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub subject: Option<String>,
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    pub event_id: Option<String>,
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub correlation_id: Option<String>,
    #[serde(default)]
    #[schema(max_items = 50)]
    pub metadata: Vec<Metadatum>,
    /// Where the payload is posted to: https, or http where that is allowed.
    #[schema(max_length = 2000, pattern = "^https?://[!-~]+$")]
    pub target_url: String,
    #[serde(default)]
    pub protocol: DispatchProtocol,
    /// Headers that the receiver gets besides ours.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What is posted.
    pub payload: Option<String>,
    /// application/json
    #[schema(
        min_length = 3,
        max_length = 255,
        pattern = "^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+( *;[ -~]*[!-:<-~])?$"
    )]
    pub payload_content_type: Option<String>,
    /// true: the payload as it is; else in a CloudEvents envelope.
    pub data_only: Option<bool>,
    #[schema(pattern = "^[0-9A-HJKMNP-TV-Z]{13}$")]
    pub service_account_id: Option<String>,
    /// The key's own client, if it has just one.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    pub client_id: Option<String>,
    #[serde(default)]
    pub mode: DispatchMode,
    #[schema(pattern = "^[0-9A-HJKMNP-TV-Z]{13}$")]
    pub dispatch_pool_id: Option<String>,
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub message_group: Option<String>,
    /// 99
    #[schema(minimum = -2_147_483_648i64, maximum = 2_147_483_647)]
    pub sequence: Option<i64>,
    /// 30
    #[schema(minimum = 1, maximum = 300)]
    pub timeout_seconds: Option<i64>,
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9._-]{1,128}$")]
    pub schema_id: Option<String>,
    /// 3; bounds all attempts, the first is always made.
    #[schema(minimum = 1, maximum = 1000)]
    pub max_retries: Option<i64>,
    /// `exponential` (30 s, doubling, at most 1 h), `fixed` (30 s), `immediate`, or a JSON list of seconds: `[5,60]`.
    #[schema(
        max_length = 255,
        pattern = r"^(immediate|fixed|exponential|\[ *(0|[1-9][0-9]{0,5})( *, *(0|[1-9][0-9]{0,5})){0,19} *\])$"
    )]
    pub retry_strategy: Option<String>,
    /// Not before. Until then the job holds back nobody of its group.
    pub scheduled_for: Option<Moment>,
    /// Not after.
    pub expires_at: Option<Moment>,
    /// One job per key and client: the same request again answers with the first job.
    #[schema(min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")]
    pub idempotency_key: Option<String>,
    /// The caller's trace context, which the receiver gets as a header. It is no part of what tells requests apart.
    #[serde(skip)]
    pub traceparent: Option<String>,
}

/// The kind that a caller may name.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskKind {
    Task,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Metadatum {
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub key: String,
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub value: String,
}

/// Where a job comes from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    pub subscription: Option<String>,
    pub created_by: Option<String>,
}

/// A job that can be written: checked, with every default in place.
#[derive(Debug, Clone)]
pub(crate) struct Draught {
    pub id: String,
    pub kind: DispatchKind,
    pub new: NewJob,
    pub origin: Origin,
    /// Tells one request from another.
    pub hash: String,
}

impl Draught {
    /// Another id, before it is written again.
    pub fn renew(&mut self) {
        self.id = postrider_sql::bind::tsid();
    }
}

impl NewJob {
    /// The least that a job has.
    pub fn to(code: &str, target: &str) -> Self {
        let least = serde_json::json!({ "code": code, "targetUrl": target });
        serde_json::from_value(least).expect("a code and a target are a request")
    }

    /// Checks what the request itself tells, and puts the defaults in.
    pub(crate) fn checked(mut self, actor: &Actor, settings: &Settings) -> Result<Draught, Error> {
        let mut faults = Faults::default();
        self.check(&mut faults, settings);
        if self.kind == Some(DispatchKind::Event) {
            faults.note("kind", "EVENT jobs come from subscriptions; make an event instead, or leave it out");
        }
        faults.end()?;
        self.client_id = actor.client_for(self.client_id)?;
        let origin = Origin { created_by: actor.key_id(), ..Origin::default() };
        Ok(self.drafted(DispatchKind::Task, origin))
    }

    pub(crate) fn drafted(mut self, kind: DispatchKind, origin: Origin) -> Draught {
        self.kind = Some(kind);
        self.payload_content_type.get_or_insert_with(|| "application/json".to_owned());
        self.data_only.get_or_insert(true);
        self.sequence.get_or_insert(99);
        self.timeout_seconds.get_or_insert(30);
        self.max_retries.get_or_insert(3);
        self.retry_strategy.get_or_insert_with(|| "exponential".to_owned());
        let text = serde_json::to_string(&self).expect("a request is made of texts and numbers");
        let hash = hex(digest(&SHA256, text.as_bytes()).as_ref());
        Draught { id: postrider_sql::bind::tsid(), kind, new: self, origin, hash }
    }

    fn check(&self, faults: &mut Faults, settings: &Settings) {
        for (field, value) in [
            ("externalId", &self.external_id),
            ("source", &self.source),
            ("subject", &self.subject),
            ("correlationId", &self.correlation_id),
            ("messageGroup", &self.message_group),
        ] {
            faults.maybe_line(field, value.as_deref(), 255);
        }
        faults.line("code", &self.code, 255);
        faults.maybe_slug("eventId", self.event_id.as_deref(), 64);
        faults.maybe_slug("clientId", self.client_id.as_deref(), 64);
        faults.maybe_slug("schemaId", self.schema_id.as_deref(), 128);
        faults.id("serviceAccountId", self.service_account_id.as_deref());
        faults.id("dispatchPoolId", self.dispatch_pool_id.as_deref());
        if let Err(text) = target::check(&settings.guard, &self.target_url) {
            faults.note("targetUrl", text);
        }
        faults.headers("headers", &self.headers, self.service_account_id.is_some());
        if let Some(payload) = &self.payload {
            faults.text("payload", payload, settings.payload_limit);
        }
        if let Some(kind) = &self.payload_content_type {
            check_content_type(faults, "payloadContentType", kind);
        }
        if self.data_only == Some(false) && self.payload_is_json() == Some(false) {
            faults
                .note("payload", "is no JSON, though payloadContentType says so: an envelope can't hold it");
        }
        self.check_metadata(faults);
        self.check_numbers(faults);
        if let Some(key) = &self.idempotency_key
            && (key.is_empty() || key.len() > 255 || !key.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            faults.note("idempotencyKey", "must have 1 to 255 visible ASCII characters, and no blank");
        }
    }

    fn payload_is_json(&self) -> Option<bool> {
        let kind = self.payload_content_type.as_deref().unwrap_or("application/json");
        let is_json = kind.starts_with("application/json") || kind.contains("+json");
        let payload = self.payload.as_deref().filter(|_| is_json)?;
        // Read whole: what nests deeper than others read is none.
        Some(serde_json::from_str::<serde_json::Value>(payload).is_ok())
    }

    fn check_metadata(&self, faults: &mut Faults) {
        if self.metadata.len() > 50 {
            faults.note("metadata", "must not have more than 50 entries");
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
        if let (Some(after), Some(before)) = (self.scheduled_for, self.expires_at)
            && after >= before
        {
            faults.note("expiresAt", "must be later than scheduledFor");
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
        faults.note(field, "must be a media type such as application/json");
    }
}
