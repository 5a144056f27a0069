//! Requests that carry an `Idempotency-Key`: what they made, for as long as a day. (Jobs have a column of their own, for ever.)
//!
//! Invariant: a key of one scope says nothing about the same text in another, and nothing of a request is kept but hashes.

use postrider_sql::plain::Statement;
use ring::digest::{SHA256, digest};

use crate::access::{Actor, hex};
use crate::draft::Draft;
use crate::sheet::{Fresh, Insert, Kind, Reader, now_and};
use crate::{Error, Hub};

/// How long a key is remembered.
const KEPT_SECONDS: i64 = 24 * 60 * 60;

/// One request, told by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    key: String,
    fingerprint: String,
}

impl Request {
    /// `content`: what was asked for, the same text for the same thing.
    pub fn new(key: String, content: &str) -> Self {
        Self { key, fingerprint: hash(content) }
    }

    /// An id for what it makes, the same for the same key: a UUID of version 8 (RFC 9562).
    pub fn uuid(&self, actor: &Actor, kind: &str) -> String {
        let place = self.place(actor, kind);
        let (first, second, third) = (&place[..8], &place[8..12], &place[13..16]);
        format!("{first}-{second}-8{third}-8{}-{}", &place[17..20], &place[20..32])
    }

    /// What the keys of the jobs that it makes begin with.
    pub(crate) fn mark(&self, actor: &Actor, kind: &str) -> String {
        format!("{kind}-{}", &self.place(actor, kind)[..32])
    }

    /// Where it is kept. `kind` is what it makes.
    fn place(&self, actor: &Actor, kind: &str) -> String {
        hash(&[&actor.scope.mark(), kind, &self.key].map(|part| format!("{}:{part}", part.len())).concat())
    }
}

fn hash(text: &str) -> String {
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

impl Hub {
    /// The id of what the same request made before; a conflict where its key was used for another request.
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

    /// Notes what a request made.
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

    /// The statements for it. Not `or_nothing`: a key that is taken fails the transaction, with what it makes.
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

    /// Forgets keys that are too old to count.
    pub(crate) fn forget_requests(&self) -> Draft {
        let dialect = self.dialect();
        Draft::new(dialect, "DELETE FROM postrider_requests WHERE created_at <= ")
            .push(&now_and(dialect, -KEPT_SECONDS))
    }
}
