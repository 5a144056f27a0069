//! The `callback` composer (rule E9): notifies an application that an e-mail was sent, or that it failed.
//!
//! Composes a signed JSON POST `{id, status, reason, reachedAt}`. Fields: `reason`, `traceparent`. The webhook's id is
//! made of the e-mail's id and the state; it is the same for every attempt.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use postrider_seams::envelope::Webhook;
use postrider_seams::row::{Detail, REACHED};
use postrider_seams::{ClaimedRow, ClockOffset, Composer, Content, Envelope, Outcome, Secret, Value};

/// The target of callbacks, and the state that they report.
#[derive(Debug, Clone)]
pub struct Settings {
    pub url: String,
    /// Signing secrets, the newest first.
    pub secrets: Vec<Secret>,
    /// The state that this stage reports: `SENT` or `FAILED`.
    pub status: String,
    /// Whether a row keeps its reason while callbacks fail. If not, the column holds the error of the last callback
    /// after the first attempt, and the reason is left out.
    pub keeps_reason: bool,
    /// Whether a Retry-After of the target counts.
    pub follows_retry_after: bool,
    /// Offset of the database's clock, which dates the signatures.
    pub clock: Arc<ClockOffset>,
}

/// Composes callbacks about e-mails that reached a final state.
#[derive(Debug, Clone)]
pub struct CallbackComposer {
    settings: Settings,
    now: fn() -> i64,
}

impl CallbackComposer {
    /// Creates a composer that uses the system clock.
    pub fn new(settings: Settings) -> Self {
        Self { settings, now: postrider_mail::date::now }
    }

    fn body(&self, row: &ClaimedRow) -> Bytes {
        let reason = row.fields.as_ref().map(|fields| fields.get("reason"));
        let include_reason = self.settings.keeps_reason || row.counters.attempts == 0;
        let reason = match reason {
            Some(Value::Text(reason)) if include_reason && !reason.is_empty() => Some(reason.as_str()),
            _ => None,
        };
        let reached = self.reached(row);
        let body = serde_json::json!({
            "id": row.lease.id.to_string(),
            "status": self.settings.status,
            "reason": reason,
            "reachedAt": postrider_mail::date::rfc3339(reached),
        });
        Bytes::from(body.to_string())
    }
}

impl CallbackComposer {
    /// Returns when the row reached its state, in Unix seconds. Without a history entry, the row's waiting time is
    /// used: rows are due when they reach the state, and again after each failed attempt.
    fn reached(&self, row: &ClaimedRow) -> i64 {
        let recorded = row.fields.as_ref().and_then(|fields| match fields.get(REACHED) {
            Value::Int(millis) => Some(*millis),
            Value::Text(millis) => millis.parse().ok(),
            _ => None,
        });
        recorded.map_or_else(
            || (self.now)() + self.settings.clock.seconds() - row.waited_micros / 1_000_000,
            |millis| millis.div_euclid(1000),
        )
    }
}

/// Returns the trace context of the e-mail as a header. An invalid value is left out; the callback is still sent.
fn trace(row: &ClaimedRow) -> Vec<(String, String)> {
    const NAME: &str = "traceparent";
    let trace = row.fields.as_ref().and_then(|fields| fields.get(NAME).as_text());
    let trace = trace.filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()));
    trace.map(|trace| (NAME.to_owned(), trace.to_owned())).into_iter().collect()
}

#[async_trait]
impl Composer for CallbackComposer {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        let compose_one = |row: &ClaimedRow| {
            let id = row.lease.id.to_string();
            Ok(Envelope {
                dedupe: format!("{id}.{}", self.settings.status),
                row: id,
                attempt: row.counters.attempts + 1,
                lease: postrider_seams::LeaseCheck::default(),
                content: Content::Webhook(Box::new(Webhook {
                    url: self.settings.url.clone(),
                    headers: trace(row),
                    content_type: "application/json".to_owned(),
                    body: self.body(row),
                    timeout: None,
                    authorization: None,
                    signing: self.settings.secrets.clone(),
                    may_postpone: false,
                    follows_retry_after: self.settings.follows_retry_after,
                    subscription: None,
                    client: None,
                    clock_offset: self.settings.clock.seconds(),
                    allowed_hosts: None,
                    recheck: None,
                })),
                detail: Detail::new(),
            })
        };
        rows.iter().map(compose_one).collect()
    }

    fn size_limit(&self) -> u64 {
        1024 * 1024
    }
}

#[cfg(test)]
mod tests {
    use postrider_contract::Counters;
    use postrider_seams::{Fields, Lease, RowId};

    use super::*;

    fn composer(status: &str) -> CallbackComposer {
        let settings = Settings {
            clock: Arc::default(),
            url: "https://app.example/hook".to_owned(),
            secrets: vec![Secret::new("whsec_c2VjcmV0c2VjcmV0c2VjcmV0")],
            status: status.to_owned(),
            keeps_reason: status == "FAILED",
            follows_retry_after: false,
        };
        CallbackComposer { now: || 1_767_225_660, ..CallbackComposer::new(settings) }
    }

    fn row(attempts: u32, fields: &[(&str, Value)]) -> ClaimedRow {
        let names: Arc<[String]> = fields.iter().map(|(name, _)| (*name).to_owned()).collect();
        ClaimedRow {
            lease: Lease { id: RowId::Text("e-1".into()), fence: Box::default() },
            counters: Counters { attempts, ..Counters::default() },
            from: None,
            group: None,
            pool: None,
            share: None,
            crashes: 0,
            since_crash: 0,
            waited_micros: 60_000_000,
            size: 0,
            fields: Some(Fields::new(names, fields.iter().map(|(_, value)| value.clone()).collect())),
        }
    }

    async fn body(composer: &CallbackComposer, row: ClaimedRow) -> serde_json::Value {
        let made = composer.compose(&[row]).await.remove(0).unwrap();
        let Content::Webhook(webhook) = made.content else { panic!("a webhook") };
        assert_eq!(webhook.signing.len(), 1, "signed");
        serde_json::from_slice(&webhook.body).unwrap()
    }

    #[tokio::test]
    async fn e09_a_callback_contains_id_state_reason_and_time() {
        let why = ("reason", Value::Text("550 no such user".to_owned()));
        let made = composer("FAILED").compose(&[row(2, std::slice::from_ref(&why))]).await.remove(0).unwrap();
        assert_eq!((made.dedupe.as_str(), made.attempt), ("e-1.FAILED", 3));
        let Content::Webhook(webhook) = &made.content else { panic!("a webhook") };
        assert!(!webhook.follows_retry_after, "the settings say so");
        let body = body(&composer("FAILED"), row(2, &[why])).await;
        let expected = serde_json::json!({
            "id": "e-1", "status": "FAILED", "reason": "550 no such user", "reachedAt": "2026-01-01T00:00:00Z",
        });
        assert_eq!(body, expected);
    }

    #[tokio::test]
    async fn a_callback_goes_on_with_the_trace_of_its_e_mail() {
        const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        for (trace, wanted) in [(TRACE, 1), ("", 0), ("x\r\nEvil: 1", 0)] {
            let field = ("traceparent", Value::Text(trace.to_owned()));
            let made = composer("SENT").compose(&[row(0, &[field])]).await.remove(0).unwrap();
            let Content::Webhook(webhook) = made.content else { panic!("a webhook") };
            assert_eq!(webhook.headers.len(), wanted, "{trace:?}");
            assert!(
                webhook.headers.iter().all(|header| *header == ("traceparent".to_owned(), TRACE.to_owned()))
            );
        }
    }

    #[tokio::test]
    async fn e09_every_try_contains_the_same_time_and_never_why_the_last_call_failed() {
        let reached = (REACHED, Value::Int(1_767_225_500_999));
        for (attempts, reason) in [(0, None), (1, Some("400 from app.example")), (4, Some("no answer"))] {
            let reason = ("reason", reason.map_or(Value::Null, |text| Value::Text(text.to_owned())));
            let body = body(&composer("SENT"), row(attempts, &[reason, reached.clone()])).await;
            assert_eq!(body["reason"], serde_json::Value::Null);
            assert_eq!(body["reachedAt"], "2025-12-31T23:58:20Z");
        }
    }
}
