//! Idempotency of requests with an `Idempotency-Key`: stores what they created for 24 hours. Jobs keep their keys in a
//! column of their own without a time limit.
//!
//! Invariant: a key applies within one scope only, and only hashes of a request are stored.

use ring::digest::{SHA256, digest};

use crate::access::{Actor, hex};
use crate::sql::{Clauses as _, Insert, NewRow, SqlBuilder, Statement};
use crate::{Error, Hub};

/// How long a key is stored, in seconds.
const KEPT_SECONDS: i64 = 24 * 60 * 60;

/// A request with an idempotency key and the hash of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotentRequest {
    key: String,
    fingerprint: String,
}

impl IdempotentRequest {
    /// Creates a request. `content` must be the same text whenever the request is repeated.
    pub fn new(key: String, content: &str) -> Self {
        Self { key, fingerprint: hash(content) }
    }

    /// Returns an id for what the request creates, the same for the same key: a UUID of version 8 (RFC 9562).
    pub fn uuid(&self, actor: &Actor, kind: &str) -> String {
        let id = self.storage_id(actor, kind);
        let (first, second, third) = (&id[..8], &id[8..12], &id[13..16]);
        format!("{first}-{second}-8{third}-8{}-{}", &id[17..20], &id[20..32])
    }

    /// The prefix of the idempotency keys of the jobs that the request creates.
    pub(crate) fn key_prefix(&self, actor: &Actor, kind: &str) -> String {
        format!("{kind}-{}", &self.storage_id(actor, kind)[..32])
    }

    /// The id under which the request is stored. `kind` is what it creates.
    fn storage_id(&self, actor: &Actor, kind: &str) -> String {
        hash(
            &[&actor.scope.identity(), kind, &self.key].map(|part| format!("{}:{part}", part.len())).concat(),
        )
    }
}

fn hash(text: &str) -> String {
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

impl Hub {
    /// Returns the id of what the same request created before; `None` if it is new.
    ///
    /// Fails with a conflict if its key was used for a different request within the last 24 hours.
    pub async fn find_created(
        &self,
        actor: &Actor,
        kind: &'static str,
        request: &IdempotentRequest,
    ) -> Result<Option<String>, Error> {
        let query = self
            .sql("SELECT fingerprint, made FROM postrider_requests WHERE id = ")
            .text(&request.storage_id(actor, kind))
            .push(" AND created_at > ")
            .now_plus(-KEPT_SECONDS);
        let Some(mut row) = self.fetch_first("look up an idempotency key", query).await? else {
            return Ok(None);
        };
        if row.required_text() != request.fingerprint {
            return Err(Error::conflict("Idempotency-Key", "was already used for a different request"));
        }
        Ok(Some(row.required_text()))
    }

    /// Stores the id of what a request created.
    pub async fn store_request(
        &self,
        actor: &Actor,
        kind: &'static str,
        request: &IdempotentRequest,
        made: &str,
    ) -> Result<(), Error> {
        self.run(
            "remember an idempotency key",
            self.store_request_statements(actor, kind, request, made, true),
        )
        .await?;
        Ok(())
    }

    /// The statements that store a request. Without `skip_duplicates`, an existing key fails the whole transaction.
    pub(crate) fn store_request_statements(
        &self,
        actor: &Actor,
        kind: &'static str,
        request: &IdempotentRequest,
        made: &str,
        skip_duplicates: bool,
    ) -> Vec<Statement> {
        let id = request.storage_id(actor, kind);
        let stale = self
            .sql("DELETE FROM postrider_requests WHERE id = ")
            .text(&id)
            .push(" AND created_at <= ")
            .now_plus(-KEPT_SECONDS);
        let row = NewRow::new()
            .text("id", id)
            .text("fingerprint", request.fingerprint.clone())
            .text("made", made.to_owned());
        let insert = Insert::into("postrider_requests").skip_duplicates(skip_duplicates);
        vec![stale.finish(), insert.row(self.dialect(), row)]
    }

    /// The statement that deletes expired keys.
    pub(crate) fn delete_expired_requests(&self) -> SqlBuilder {
        self.sql("DELETE FROM postrider_requests WHERE created_at <= ").now_plus(-KEPT_SECONDS)
    }
}
