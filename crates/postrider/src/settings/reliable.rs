//! Reads `[transports.NAME]` with `url = "reliable:"`: a combination of several transports.

use std::collections::BTreeMap;
use std::time::Duration;

use postrider_sender::RetryPlan;

use super::load::RawSettings;
use super::mistake::suggest;
use super::reader::{Context, Located, Reader};

/// The settings of a combination, before its senders are resolved.
#[derive(Debug, Clone)]
pub struct ReliableSettings {
    /// The senders, in the order in which they are tried.
    pub senders: Vec<Located<String>>,
    /// Mails per second, by sender.
    pub rates: BTreeMap<String, f64>,
    pub plan: RetryPlan,
}

impl ReliableSettings {
    /// Reads the keys next to the URL.
    pub fn read(reader: &Reader<'_>) -> Self {
        let mut plan = RetryPlan::default();
        let senders = reader.texts("senders");
        if senders.is_empty() {
            let none = None::<()>;
            reader.required("senders", none, "senders = [\"ses\", \"relay\"], the names of other transports");
        }
        let most = Duration::from_mins(5);
        let waits: Vec<Duration> = reader.durations("waits", most);
        if !waits.is_empty() {
            plan.waits = waits;
        }
        if let Some(jitter) = reader.fraction("jitter", 0.0..=1.0) {
            plan.jitter = jitter;
        }
        if let Some(time) = reader.duration("cool_down", Duration::ZERO..=Duration::from_hours(1)) {
            plan.cool_down = time;
        }
        if let Some(time) = reader.duration("patience", Duration::ZERO..=most) {
            plan.max_retry_after = time;
        }
        let rates = reader.fractions("rates", &(0.001..=1_000_000.0));
        for name in rates.keys().filter(|name| !senders.iter().any(|sender| sender.value == **name)) {
            reader.wrong_at(reader.place(), "rates", format!("`{name}` is not one of the senders"));
        }
        Self { senders, rates, plan }
    }
}

/// Checks that the senders exist and send mails.
pub(super) fn check(written: &RawSettings, context: &Context<'_>) {
    for transport in &written.transports {
        let Some(reliable) = &transport.reliable else { continue };
        let mut before = Vec::new();
        for sender in &reliable.senders {
            let name = sender.value.as_str();
            let found = written.transports.iter().find(|other| other.name == name);
            let known = written.transport_names.iter().any(|known| known == name);
            let text = match found {
                _ if before.contains(&name) => Some(format!("`{name}` is listed twice")),
                Some(other) if other.kind.sends_mail() => None,
                Some(_) => Some(format!("`{name}` cannot send mail directly")),
                // The mistakes of this transport have been recorded already.
                None if known => None,
                None => {
                    let others = written.transport_names.iter().map(String::as_str);
                    Some(format!("no [transports.{name}]{}", suggest(name, others)))
                }
            };
            before.push(name);
            let key = format!("transports.{}.senders", transport.name);
            if let Some(text) = text {
                context.wrong(&sender.place, key, text);
            }
        }
    }
}
