//! Parsing and validation of incoming events: CloudEvents 1.0 in JSON.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use postrider_config::closest;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::view::Event;
use crate::access::Actor;
use crate::hub::Settings;
use crate::sql::tsid;
use crate::subscription::is_pattern;
use crate::validation::Faults;
use crate::{Error, Moment};

/// An event to create: its JSON members by name, not yet parsed.
pub type NewEvent = BTreeMap<String, Box<RawValue>>;

/// A CloudEvent 1.0 in JSON. Extension attributes are kept (names of a-z and 0-9; strings, integers, booleans);
/// Postrider itself uses `clientid` and `correlationid`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "it is the shape that the OpenAPI file shows; what comes is read member by member"
)]
pub struct CloudEvent {
    /// Version of CloudEvents: `1.0`.
    #[schema(pattern = "^1\\.0$")]
    specversion: String,
    /// Id of the event, unique per source and client. The same id again returns the first event.
    #[schema(max_length = 255, format = "line")]
    id: String,
    /// What the event comes from, as a URI reference.
    #[schema(max_length = 255, format = "line")]
    source: String,
    /// Type of the event: `application:subdomain:aggregate:event`.
    #[schema(rename = "type", max_length = 255, pattern = "^[A-Za-z0-9._-]+(:[A-Za-z0-9._-]+){3}$")]
    r#type: String,
    /// What the event is about. Default: none.
    #[schema(max_length = 255, format = "line")]
    subject: Option<String>,
    /// When the event happened. Default: none.
    time: Option<Moment>,
    /// Media type of `data`. Default: `application/json`.
    #[schema(max_length = 255, format = "media-type")]
    datacontenttype: Option<String>,
    /// URI of the schema of `data`. Default: none.
    #[schema(max_length = 2000, format = "line")]
    dataschema: Option<String>,
    /// Any JSON, or text if the media type is not JSON. Default: none.
    #[schema(value_type = serde_json::Value, required = false)]
    data: Option<serde_json::Value>,
    /// Client that the event belongs to. Default: the client of the API key if it has exactly one, otherwise none.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    clientid: Option<String>,
    /// Id that ties related jobs and events together. Default: none.
    #[schema(max_length = 255, format = "line")]
    correlationid: Option<String>,
}

/// The attributes of a CloudEvent that have a meaning here.
const ATTRIBUTES: [&str; 12] = [
    "specversion",
    "id",
    "source",
    "type",
    "subject",
    "time",
    "datacontenttype",
    "dataschema",
    "data",
    "data_base64",
    "clientid",
    "correlationid",
];

/// The members of an event that are not parsed yet; each is removed when it is read.
struct Members<'a> {
    event: NewEvent,
    faults: &'a mut Faults,
}

impl Members<'_> {
    /// Takes a member out; null is the same as no member.
    fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.event.remove(name).filter(|raw| raw.get() != "null")
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let text = serde_json::from_str(self.take(name)?.get()).ok();
        if text.is_none() {
            self.faults.add(name, "must be a string");
        }
        text
    }

    fn time(&mut self, name: &str) -> Option<Moment> {
        let text = self.text(name)?;
        let time = Moment::parse(&text);
        if time.is_none() {
            self.faults.add(name, Moment::EXPECTED);
        }
        time
    }

    fn line(&mut self, name: &str, most: usize) -> Option<String> {
        let text = self.text(name);
        self.faults.optional_line(name, text.as_deref(), most);
        text
    }

    fn required(&mut self, name: &str, most: usize) -> String {
        let present = self.event.get(name).is_some_and(|raw| raw.get() != "null");
        let text = self.line(name, most);
        if !present {
            self.faults.add(name, "is missing");
        }
        text.unwrap_or_default()
    }

    /// Reads the data. JSON is kept byte for byte; with another content type, a JSON string is decoded to its text.
    fn data(&mut self, content_type: &str) -> Option<String> {
        if let Some(text) = self.text("data_base64") {
            if self.event.contains_key("data") {
                self.faults.add("data_base64", "cannot be combined with data");
            }
            let bytes = STANDARD.decode(&text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            if bytes.is_none() {
                self.faults.add("data_base64", "must be the base64 of UTF-8 text");
            }
            return bytes;
        }
        let raw = self.event.remove("data")?;
        let is_json = content_type.starts_with("application/json") || content_type.contains("+json");
        match serde_json::from_str::<String>(raw.get()) {
            Ok(text) if !is_json => Some(text),
            _ => Some(raw.get().to_owned()),
        }
    }
}

/// Validates an event and gives it an id.
pub(super) fn validated(event: NewEvent, actor: &Actor, settings: &Settings) -> Result<Event, Error> {
    let mut faults = Faults::default();
    let mut members = Members { event, faults: &mut faults };
    let version = members.required("specversion", 10);
    let event_id = members.required("id", 255);
    let source = members.required("source", 255);
    let code = members.required("type", 255);
    let subject = members.line("subject", 255);
    let client = members.text("clientid");
    let correlation_id = members.line("correlationid", 255);
    let occurred_at = members.time("time");
    let content_type = members.line("datacontenttype", 255).unwrap_or_else(|| "application/json".to_owned());
    let data_schema = members.line("dataschema", 2000);
    let data = members.data(&content_type);
    let names: Vec<String> = members.event.keys().cloned().collect();
    let mut extensions = BTreeMap::new();
    for name in names {
        extensions.extend(extension(&mut members, &name).map(|value| (name, value)));
    }
    if !version.is_empty() && version != "1.0" {
        faults.add("specversion", "must be 1.0");
    }
    if !code.is_empty() && !is_pattern(&code, false) {
        faults.add("type", "must be application:subdomain:aggregate:event");
    }
    faults.optional_slug("clientid", client.as_deref(), 64);
    crate::job::check_content_type(&mut faults, "datacontenttype", &content_type);
    faults.optional_text("data", data.as_deref(), settings.payload_limit);
    faults.finish()?;
    Ok(Event {
        id: tsid(),
        event_id,
        source,
        code,
        subject,
        client_id: actor.client_for(client)?,
        correlation_id,
        occurred_at,
        data_content_type: Some(content_type),
        data_schema,
        extensions,
        data,
        created_at: None,
        created_by: actor.key_id(),
    })
}

/// Reads an extension attribute (CloudEvents 1.0, 3.1): its name has 1 to 20 lower-case letters and digits, its value
/// is a string, an integer or a boolean.
fn extension(members: &mut Members<'_>, name: &str) -> Option<serde_json::Value> {
    let named =
        (1..=20).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if !named {
        let meant = ATTRIBUTES.iter().copied().filter(|_| name.len() <= 100);
        let meant = closest(name, meant).map(|meant| format!("; did you mean `{meant}`?"));
        let problem = "is not a member of a CloudEvent: names of extensions are 1 to 20 of a-z and 0-9";
        members.faults.add(name, format!("{problem}{}", meant.unwrap_or_default()));
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(members.take(name)?.get()).ok()?;
    let simple = value.is_boolean()
        || value.is_i64()
        || value.as_str().is_some_and(|text| text.len() <= 1000 && !text.chars().any(char::is_control));
    if !simple {
        let text =
            "must be a string of at most 1000 bytes without control characters, an integer or a boolean";
        members.faults.add(name, text);
    }
    Some(value)
}
