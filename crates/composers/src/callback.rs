//! The `callback` composer (rule E9): tells an application that an e-mail was sent, or that it failed.
//!
//! A signed JSON POST `{id, status, reason, reachedAt}`. Fields: `reason`. The webhook's id is the e-mail's and the
//! state's, the same for every try.

use async_trait::async_trait;
use bytes::Bytes;
use postrider_seams::envelope::Webhook;
use postrider_seams::row::Detail;
use postrider_seams::{Claimed, Composer, Content, Envelope, Outcome, Secret, Value};

/// Where callbacks go, and about what.
#[derive(Debug, Clone)]
pub struct Settings {
    pub url: String,
    /// The newest first.
    pub secrets: Vec<Secret>,
    /// The state that this stage tells of: `SENT` or `FAILED`.
    pub status: String,
}

#[derive(Debug, Clone)]
pub struct CallbackComposer {
    settings: Settings,
    now: fn() -> i64,
}

impl CallbackComposer {
    pub fn new(settings: Settings) -> Self {
        Self { settings, now: postrider_mail::date::now }
    }

    fn body(&self, row: &Claimed) -> Bytes {
        let reason = row.fields.as_ref().map(|fields| fields.get("reason"));
        let reason = match reason {
            Some(Value::Text(reason)) if !reason.is_empty() => Some(reason.as_str()),
            _ => None,
        };
        // Rows fall due when they reach the state, and again when a try failed.
        let reached = (self.now)() - row.waited_micros / 1_000_000;
        let body = serde_json::json!({
            "id": row.lease.id.to_string(),
            "status": self.settings.status,
            "reason": reason,
            "reachedAt": postrider_mail::date::rfc3339(reached),
        });
        Bytes::from(body.to_string())
    }
}

#[async_trait]
impl Composer for CallbackComposer {
    async fn compose(&self, rows: &[Claimed]) -> Vec<Result<Envelope, Outcome>> {
        let call = |row: &Claimed| {
            let id = row.lease.id.to_string();
            Ok(Envelope {
                dedupe: format!("{id}.{}", self.settings.status),
                row: id,
                attempt: row.counters.attempts + 1,
                content: Content::Webhook(Box::new(Webhook {
                    url: self.settings.url.clone(),
                    headers: Vec::new(),
                    content_type: "application/json".to_owned(),
                    body: self.body(row),
                    timeout: None,
                    authorization: None,
                    signing: self.settings.secrets.clone(),
                    may_postpone: false,
                    subscription: None,
                })),
                detail: Detail::new(),
            })
        };
        rows.iter().map(call).collect()
    }

    fn size_limit(&self) -> u64 {
        1024 * 1024
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use postrider_contract::Counters;
    use postrider_seams::{Fields, Lease, RowId};

    use super::*;

    #[tokio::test]
    async fn e09_a_callback_tells_id_state_reason_and_time() {
        let secrets = vec![Secret::new("whsec_c2VjcmV0c2VjcmV0c2VjcmV0")];
        let settings =
            Settings { url: "https://app.example/hook".to_owned(), secrets, status: "FAILED".to_owned() };
        let composer = CallbackComposer { now: || 1_767_225_660, ..CallbackComposer::new(settings) };
        let names: Arc<[String]> = Arc::from(["reason".to_owned()]);
        let row = Claimed {
            lease: Lease { id: RowId::Text("e-1".into()), fence: Box::default() },
            counters: Counters { attempts: 2, ..Counters::default() },
            from: None,
            group: None,
            pool: None,
            share: None,
            waited_micros: 60_000_000,
            size: 0,
            fields: Some(Fields::new(names, vec![Value::Text("550 no such user".to_owned())])),
        };
        let made = composer.compose(&[row]).await.remove(0).unwrap();
        assert_eq!((made.dedupe.as_str(), made.attempt), ("e-1.FAILED", 3));
        let Content::Webhook(webhook) = made.content else { panic!("a webhook") };
        assert_eq!(webhook.signing.len(), 1, "signed");
        let body: serde_json::Value = serde_json::from_slice(&webhook.body).unwrap();
        let expected = serde_json::json!({
            "id": "e-1", "status": "FAILED", "reason": "550 no such user", "reachedAt": "2026-01-01T00:00:00Z",
        });
        assert_eq!(body, expected);
    }
}
