//! Idempotency of requests with an `Idempotency-Key`: stores what they created for 24 hours. Jobs keep their keys in a
//! column of their own without a time limit.
//!
//! Invariant: a key applies within one scope only, and only hashes of a request are stored.

use postrider_sql::plain::Statement;
use ring::digest::{SHA256, digest};

use crate::access::{Actor, hex};
use crate::draft::Draft;
use crate::sheet::{Fresh, Insert, Kind, Reader, now_and};
use crate::{Error, Hub};

/// How long a key is stored, in seconds.
const KEPT_SECONDS: i64 = 24 * 60 * 60;

/// A request with an idempotency key and the hash of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    key: String,
    fingerprint: String,
}

impl Request {
    /// Creates a request. `content` must be the same text whenever the request is repeated.
    pub fn new(key: String, content: &str) -> Self {
        Self { key, fingerprint: hash(content) }
    }

    /// Returns an id for what the request creates, the same for the same key: a UUID of version 8 (RFC 9562).
    pub fn uuid(&self, actor: &Actor, kind: &str) -> String {
        let place = self.place(actor, kind);
        let (first, second, third) = (&place[..8], &place[8..12], &place[13..16]);
        format!("{first}-{second}-8{third}-8{}-{}", &place[17..20], &place[20..32])
    }

    /// The prefix of the idempotency keys of the jobs that the request creates.
    pub(crate) fn mark(&self, actor: &Actor, kind: &str) -> String {
        format!("{kind}-{}", &self.place(actor, kind)[..32])
    }

    /// The id under which the request is stored. `kind` is what it creates.
    fn place(&self, actor: &Actor, kind: &str) -> String {
        hash(&[&actor.scope.mark(), kind, &self.key].map(|part| format!("{}:{part}", part.len())).concat())
    }
}

fn hash(text: &str) -> String {
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

impl Hub {
    /// Returns the id of what the same request created before; `None` if it is new.
    ///
    /// Fails with a conflict if its key was used for a different request within the last 24 hours.
    pub async fn made_before(
        &self,
        actor: &Actor,
        kind: &'static str,
        request: &Request,
    ) -> Result<Option<String>, Error> {
        let dialect = self.dialect();
        let query = Draft::new(dialect, "SELECT fingerprint, made FROM postrider_requests WHERE id = ")
            .text(&request.place(actor, kind))
            .push(" AND created_at > ")
            .push(&now_and(dialect, -KEPT_SECONDS));
        let Some(row) = self.first("look up an idempotency key", query).await? else { return Ok(None) };
        let mut row = Reader::new(row);
        if row.word() != request.fingerprint {
            return Err(Error::conflict("Idempotency-Key", "was already used for a different request"));
        }
        Ok(Some(row.word()))
    }

    /// Stores the id of what a request created.
    pub async fn remember(
        &self,
        actor: &Actor,
        kind: &'static str,
        request: &Request,
        made: &str,
    ) -> Result<(), Error> {
        self.run("remember an idempotency key", self.remembering(actor, kind, request, made, true)).await?;
        Ok(())
    }

    /// The statements that store a request. Without `or_nothing`, an existing key fails the whole transaction.
    pub(crate) fn remembering(
        &self,
        actor: &Actor,
        kind: &'static str,
        request: &Request,
        made: &str,
        or_nothing: bool,
    ) -> Vec<Statement> {
        let place = request.place(actor, kind);
        let stale = Draft::new(self.dialect(), "DELETE FROM postrider_requests WHERE id = ")
            .text(&place)
            .push(" AND created_at <= ")
            .push(&now_and(self.dialect(), -KEPT_SECONDS));
        let row = Fresh::new()
            .text("id", place)
            .text("fingerprint", request.fingerprint.clone())
            .text("made", made.to_owned());
        let columns = [("id", Kind::Text), ("fingerprint", Kind::Text), ("made", Kind::Text)];
        let insert =
            Insert { table: "postrider_requests", columns: &columns, or_nothing, ..Insert::default() };
        vec![stale.done(), insert.rows(self.dialect(), vec![row])]
    }

    /// The statement that deletes expired keys.
    pub(crate) fn forget_requests(&self) -> Draft {
        let dialect = self.dialect();
        Draft::new(dialect, "DELETE FROM postrider_requests WHERE created_at <= ")
            .push(&now_and(dialect, -KEPT_SECONDS))
    }
}
