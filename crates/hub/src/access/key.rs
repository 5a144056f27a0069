//! API keys: creation, authentication, listing and revocation.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use postrider_sql::Dialect;
use postrider_sql::bind::tsid;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use utoipa::ToSchema;

use super::{Actor, Role, Scope};
use crate::audit::Change;
use crate::check::{Faults, is_id};
use crate::draft::Draft;
use crate::request::Request;
use crate::sheet::{Fresh, Insert, Kind, Reader, Sheet, now};
use crate::{Error, Hub, Moment};

/// The kind under which requests that create keys are stored for idempotency.
pub const REQUESTED: &str = "apiKey";

/// The prefix of every key, so that secret scanners recognize leaked ones.
const MARK: &str = "pr_";

pub(super) const SHEET: Sheet = Sheet {
    table: "postrider_api_keys",
    columns: &[
        ("id", Kind::Text),
        ("name", Kind::Text),
        ("prefix", Kind::Text),
        ("role", Kind::Text),
        ("client_ids", Kind::Text),
        ("expires_at", Kind::Time),
        ("revoked_at", Kind::Time),
        ("last_used_at", Kind::Time),
        ("created_at", Kind::Time),
    ],
};

/// An API key. The secret itself is never shown again.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// Id of the key.
    pub id: String,
    /// Name that people and the audit log know the key by.
    pub name: String,
    /// First characters of the key. They are not secret and identify it in lists.
    pub prefix: String,
    /// What the key may do. Null if the stored role or clients are not readable by this version; such a key is refused.
    pub role: Option<Role>,
    /// Clients that the key may access. Empty: all clients.
    pub client_ids: Vec<String>,
    /// When the key stops working. Null: never.
    pub expires_at: Option<Moment>,
    /// When the key was revoked. Null: not revoked.
    pub revoked_at: Option<Moment>,
    /// When the key was last used, to the minute. Null: never.
    pub last_used_at: Option<Moment>,
    /// When the key was created.
    pub created_at: Option<Moment>,
}

/// An API key to create.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewKey {
    /// Name that people and the audit log know the key by.
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub name: String,
    /// What the key may do.
    pub role: Role,
    /// Clients that the key may access. Default: all clients.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub client_ids: Vec<ClientId>,
    /// When the key stops working. Default: never.
    #[serde(default)]
    pub expires_at: Option<Moment>,
}

/// Id of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
pub struct ClientId(pub String);

/// A new API key. This response is the only one that contains the secret.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShownKey {
    /// The secret. Send it as `Authorization: Bearer KEY`.
    pub key: String,
    #[serde(flatten)]
    pub details: ApiKey,
}

struct Secret {
    whole: String,
    prefix: String,
    hash: String,
}

impl Secret {
    fn fresh() -> Self {
        let mut bytes = [0; 40];
        SystemRandom::new().fill(&mut bytes).expect("the system has randomness");
        let prefix = format!("{MARK}{}", hex(&bytes[32..]));
        let whole = format!("{prefix}_{}", URL_SAFE_NO_PAD.encode(&bytes[..32]));
        let hash = hashed(&whole);
        Self { whole, prefix, hash }
    }
}

pub(super) fn hashed(key: &str) -> String {
    hex(digest(&SHA256, key.as_bytes()).as_ref())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).expect("half a byte is a digit");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the prefix of a text that has the format of a key; `None` if it does not.
fn prefix_of(key: &str) -> Option<&str> {
    let rest = key.strip_prefix(MARK)?;
    let (prefix, secret) = rest.split_once('_')?;
    let fine =
        prefix.len() == 16 && prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) && secret.len() == 43;
    fine.then(|| &key[..MARK.len() + 16])
}

pub(super) fn read(row: Vec<postrider_seams::row::Value>) -> ApiKey {
    let mut row = Reader::new(row);
    let mut readable = true;
    let mut key = ApiKey {
        id: row.word(),
        name: row.word(),
        prefix: row.word(),
        role: Role::named(&row.word()),
        client_ids: row.json_in(&mut readable),
        expires_at: row.time(),
        revoked_at: row.time(),
        last_used_at: row.time(),
        created_at: row.time(),
    };
    // An empty list of clients means all clients, so a key with an unreadable list must be refused.
    key.role = key.role.filter(|_| readable);
    key
}

impl Hub {
    /// Returns the actor of this key; `None` if the key is unknown, revoked or expired.
    ///
    /// Also records when the key was last used, at most once per minute.
    pub async fn authenticate(&self, key: &str) -> Result<Option<Actor>, Error> {
        let Some(prefix) = prefix_of(key) else { return Ok(None) };
        let dialect = self.dialect();
        let find = Draft::new(
            dialect,
            format!(
                "SELECT t.hash, {} FROM postrider_api_keys AS t WHERE t.prefix = ",
                SHEET.listed(dialect)
            ),
        )
        .text(prefix)
        .push(" AND ")
        .push(&opens(dialect));
        let Some(mut row) = self.first("look up an API key", find).await? else { return Ok(None) };
        let stored = Reader::new(vec![row.remove(0)]).word();
        if !bool::from(stored.as_bytes().ct_eq(hashed(key).as_bytes())) {
            return Ok(None);
        }
        let found = read(row);
        let Some(role) = found.role else { return Ok(None) };
        self.touch(&found.id).await?;
        let scope = Scope::of(found.client_ids);
        Ok(Some(Actor { key: found.id, name: found.name, role, scope }))
    }

    /// Records the use of the key, at most once per minute.
    pub(super) async fn touch(&self, id: &str) -> Result<(), Error> {
        if !self.used.is_due(id) {
            return Ok(());
        }
        let dialect = self.dialect();
        let note = Draft::new(dialect, "UPDATE postrider_api_keys SET last_used_at = ")
            .push(now(dialect))
            .push(" WHERE id = ")
            .text(id);
        self.run("note the use of an API key", vec![note.done()]).await?;
        Ok(())
    }

    /// Whether the first admin key has been created.
    pub async fn has_first_key(&self) -> Result<bool, Error> {
        let any = Draft::new(self.dialect(), "SELECT 1 FROM postrider_api_keys WHERE first_admin = 1");
        Ok(self.first("look for an admin key", any).await?.is_some())
    }

    /// Creates the first admin key; `None` if one was ever created. If several instances try at once, one succeeds.
    pub async fn first_key(&self) -> Result<Option<ShownKey>, Error> {
        if self.has_first_key().await? {
            return Ok(None);
        }
        let dialect = self.dialect();
        let secret = Secret::fresh();
        let id = tsid();
        let row = fresh(dialect, &id, "first admin", &secret, Role::Admin, &[], None).int("first_admin", 1);
        let find = self.by_id(&id);
        let change = Change::new("create", "apiKey", &id);
        let insert = insert(dialect, row);
        let mut answers = self.run("make the first admin key", vec![insert, find.done()]).await?;
        let Some(row) = answers.pop().and_then(|mut answer| answer.rows.pop()) else { return Ok(None) };
        self.run("note the first admin key", vec![change.by_nobody(dialect)]).await?;
        Ok(Some(ShownKey { key: secret.whole, details: read(row) }))
    }

    /// Creates a key. If two calls with the same `request` run at once, one fails; its retry finds the key of the
    /// other.
    pub async fn create_key(
        &self,
        actor: &Actor,
        new: &NewKey,
        request: Option<&Request>,
    ) -> Result<ShownKey, Error> {
        let mut faults = Faults::default();
        faults.line("name", &new.name, 255);
        if new.client_ids.len() > 100 {
            faults.note("clientIds", "must not have more than 100 clients");
        }
        for (index, client) in new.client_ids.iter().enumerate() {
            faults.slug(&format!("clientIds[{index}]"), &client.0, 64);
        }
        if let Some(end) = new.expires_at
            && end <= self.clock().await?
        {
            faults.note("expiresAt", "must be in the future");
        }
        faults.end()?;
        let mut clients: Vec<String> = new.client_ids.iter().map(|client| client.0.clone()).collect();
        if let Scope::Only(own) = &actor.scope {
            if clients.is_empty() {
                clients.clone_from(own);
            }
            if !clients.iter().all(|client| actor.scope.covers(Some(client))) {
                return Err(Error::NotYours("clientIds"));
            }
        }
        let dialect = self.dialect();
        let secret = Secret::fresh();
        let id = tsid();
        let row = fresh(dialect, &id, &new.name, &secret, new.role, &clients, new.expires_at);
        let row = row.text("created_by", actor.key_id());
        let change = Change::new("create", "apiKey", &id).detail("role", new.role.name());
        let mut statements = request
            .map(|request| self.remembering(actor, REQUESTED, request, &id, false))
            .unwrap_or_default();
        statements.extend([insert(dialect, row), change.by(dialect, actor), self.by_id(&id).done()]);
        let row =
            self.run("make an API key", statements).await?.pop().and_then(|mut answer| answer.rows.pop());
        let details = read(row.ok_or_else(|| Error::broken("a fresh API key"))?);
        Ok(ShownKey { key: secret.whole, details })
    }

    /// Returns one key without its secret; an error if it does not exist or has clients outside the actor's scope.
    pub async fn key(&self, actor: &Actor, id: &str) -> Result<ApiKey, Error> {
        const ABSENT: Error = Error::Absent("API key");
        if !is_id(id) {
            return Err(ABSENT);
        }
        let found = self.first("find an API key", self.by_id(id)).await?.map(read);
        found.filter(|key| within(actor, key)).ok_or(ABSENT)
    }

    /// Returns the keys within the actor's scope, oldest first; the first 1000 keys are searched.
    pub async fn keys(&self, actor: &Actor) -> Result<Vec<ApiKey>, Error> {
        let dialect = self.dialect();
        let all = Draft::new(dialect, SHEET.selected(dialect)).push(" ORDER BY t.id LIMIT 1000");
        let keys = self.all("list API keys", all).await?.into_iter().map(read);
        Ok(keys.filter(|key| within(actor, key)).collect())
    }

    /// Revokes a key: from now on requests with it are refused. Idempotent. A key cannot revoke itself.
    pub async fn revoke_key(&self, actor: &Actor, id: &str) -> Result<ApiKey, Error> {
        let found = self.key(actor, id).await?;
        if found.id == actor.key {
            return Err(Error::conflict("id", "an API key cannot revoke itself: create another one first"));
        }
        let dialect = self.dialect();
        let revoke = Draft::new(dialect, "UPDATE postrider_api_keys SET revoked_at = ")
            .push(now(dialect))
            .push(" WHERE revoked_at IS NULL AND id = ")
            .text(id);
        let change = Change::new("revoke", "apiKey", id);
        let statements = vec![revoke.done(), change.by(dialect, actor), self.by_id(id).done()];
        let row =
            self.run("revoke an API key", statements).await?.pop().and_then(|mut answer| answer.rows.pop());
        row.map(read).ok_or(Error::Absent("API key"))
    }

    fn by_id(&self, id: &str) -> Draft {
        let dialect = self.dialect();
        Draft::new(dialect, SHEET.selected(dialect)).push(" WHERE t.id = ").text(id)
    }
}

/// The SQL condition that the key `t` is neither revoked nor expired.
pub(super) fn opens(dialect: Dialect) -> String {
    format!("t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > {})", now(dialect))
}

/// Whether the key gives access to nothing outside the actor's scope.
fn within(actor: &Actor, key: &ApiKey) -> bool {
    match &actor.scope {
        Scope::All => true,
        scope @ Scope::Only(_) => {
            !key.client_ids.is_empty() && key.client_ids.iter().all(|client| scope.covers(Some(client)))
        }
    }
}

fn fresh(
    dialect: Dialect,
    id: &str,
    name: &str,
    secret: &Secret,
    role: Role,
    clients: &[String],
    expires: Option<Moment>,
) -> Fresh {
    Fresh::new()
        .text("id", id.to_owned())
        .text("name", name.to_owned())
        .text("prefix", secret.prefix.clone())
        .text("hash", secret.hash.clone())
        .text("role", role.name().to_owned())
        .text("client_ids", serde_json::json!(clients).to_string())
        .time(dialect, "expires_at", expires)
}

fn insert(dialect: Dialect, row: Fresh) -> postrider_sql::plain::Statement {
    let columns = [
        ("id", Kind::Text),
        ("name", Kind::Text),
        ("prefix", Kind::Text),
        ("hash", Kind::Text),
        ("role", Kind::Text),
        ("client_ids", Kind::Text),
        ("first_admin", Kind::Int),
        ("expires_at", Kind::Time),
        ("created_by", Kind::Text),
    ];
    Insert { table: SHEET.table, columns: &columns, or_nothing: true, ..Insert::default() }
        .rows(dialect, vec![row])
}
