//! API keys: creation, authentication, listing and revocation.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use utoipa::ToSchema;

use super::{Actor, ClientScope, Role};
use crate::audit::Change;
use crate::idempotency::IdempotentRequest;
use crate::sql::{Clauses as _, Dialect, Insert, NewRow, RowReader, Statement, Table, columns, now, tsid};
use crate::validation::Faults;
use crate::{Error, Hub, Moment};

/// The kind under which requests that create keys are stored for idempotency.
pub const KEY_REQUEST: &str = "apiKey";

/// The prefix of every key, so that secret scanners recognize leaked ones.
const KEY_PREFIX: &str = "pr_";

pub(super) const TABLE: Table = Table {
    name: "postrider_api_keys",
    columns: columns![
        id, name, prefix, role, client_ids, expires_at: Time, revoked_at: Time, last_used_at: Time, created_at: Time,
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
    #[schema(max_length = 255, format = "line")]
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
pub struct ApiKeyWithSecret {
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
    fn generate() -> Self {
        let mut bytes = [0; 40];
        SystemRandom::new().fill(&mut bytes).expect("the system has randomness");
        let prefix = format!("{KEY_PREFIX}{}", hex(&bytes[32..]));
        let whole = format!("{prefix}_{}", URL_SAFE_NO_PAD.encode(&bytes[..32]));
        let hash = hash_key(&whole);
        Self { whole, prefix, hash }
    }

    /// Returns the row of a key with this secret.
    fn row(&self, id: &str, name: &str, role: Role, clients: &[String], expires: Option<Moment>) -> NewRow {
        NewRow::new()
            .text("id", id.to_owned())
            .text("name", name.to_owned())
            .text("prefix", self.prefix.clone())
            .text("hash", self.hash.clone())
            .text("role", role.name().to_owned())
            .json("client_ids", &clients)
            .time("expires_at", expires)
    }
}

pub(super) fn hash_key(key: &str) -> String {
    hex(digest(&SHA256, key.as_bytes()).as_ref())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).expect("half a byte is a digit");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the prefix of a text that has the format of a key; `None` if it does not.
fn prefix_of(key: &str) -> Option<&str> {
    let rest = key.strip_prefix(KEY_PREFIX)?;
    let (prefix, secret) = rest.split_once('_')?;
    let valid =
        prefix.len() == 16 && prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) && secret.len() == 43;
    valid.then(|| &key[..KEY_PREFIX.len() + 16])
}

pub(super) fn read(mut row: RowReader) -> ApiKey {
    let mut readable = true;
    let mut key = ApiKey {
        id: row.required_text(),
        name: row.required_text(),
        prefix: row.required_text(),
        role: Role::named(&row.required_text()),
        client_ids: row.json_checked(&mut readable),
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
    /// The answer is up to a second old; a key that this process revokes is refused at once. Also records when the key
    /// was last used, at most once per minute.
    pub async fn authenticate(&self, key: &str) -> Result<Option<Actor>, Error> {
        let Some(prefix) = prefix_of(key) else { return Ok(None) };
        let hash = hash_key(key);
        if let Some(actor) = self.recent_keys.find(&hash) {
            return Ok(Some(actor));
        }
        let lookup = self.recent_keys.begin();
        let columns = TABLE.select_list(self.dialect(), "t");
        let find = self
            .sql(format!("SELECT t.hash, {columns} FROM postrider_api_keys AS t WHERE t.prefix = "))
            .text(prefix)
            .push(&format!(" AND {}", is_valid(self.dialect())));
        let Some(mut row) = self.fetch_first("look up an API key", find).await? else { return Ok(None) };
        if !bool::from(row.required_text().as_bytes().ct_eq(hash.as_bytes())) {
            return Ok(None);
        }
        let actor = self.actor_of(read(row)).await?;
        if let Some(actor) = &actor {
            self.recent_keys.keep(lookup, hash, actor);
        }
        Ok(actor)
    }

    /// Returns the actor of a valid key, and records its use; `None` if the key is unreadable.
    pub(super) async fn actor_of(&self, key: ApiKey) -> Result<Option<Actor>, Error> {
        let Some(role) = key.role else { return Ok(None) };
        self.record_use("record the use of an API key", TABLE.name, &key.id).await?;
        Ok(Some(Actor { key: key.id, name: key.name, role, scope: ClientScope::of(key.client_ids) }))
    }

    /// Whether the first admin key has been created.
    pub async fn has_first_key(&self) -> Result<bool, Error> {
        let any = self.sql("SELECT 1 FROM postrider_api_keys WHERE first_admin = 1");
        Ok(self.fetch_first("find an admin key", any).await?.is_some())
    }

    /// Creates the first admin key; `None` if one was ever created. If several instances try at once, one succeeds.
    pub async fn create_first_key(&self) -> Result<Option<ApiKeyWithSecret>, Error> {
        if self.has_first_key().await? {
            return Ok(None);
        }
        let (dialect, secret, id) = (self.dialect(), Secret::generate(), tsid());
        let row = secret.row(&id, "first admin", Role::Admin, &[], None).int("first_admin", 1);
        let insert = Insert::into(TABLE.name).skip_duplicates(true).row(dialect, row);
        let statements = vec![insert, self.select_key(&id)];
        let Some(row) = self.run_and_read("create the first admin key", statements).await? else {
            return Ok(None);
        };
        let entry = Change::new("create", "apiKey", &id).system_entry(dialect);
        self.run("record the first admin key", vec![entry]).await?;
        Ok(Some(ApiKeyWithSecret { key: secret.whole, details: read(row) }))
    }

    /// Creates a key. If two calls with the same `request` run at once, one fails; its retry finds the key of the
    /// other.
    pub async fn create_key(
        &self,
        actor: &Actor,
        new: &NewKey,
        request: Option<&IdempotentRequest>,
    ) -> Result<ApiKeyWithSecret, Error> {
        let mut faults = Faults::default();
        faults.line("name", &new.name, 255);
        faults.clients(&new.client_ids);
        if let Some(end) = new.expires_at
            && end <= self.clock().await?
        {
            faults.add("expiresAt", "must be in the future");
        }
        faults.finish()?;
        let clients = actor.clients_for(&new.client_ids)?;
        let (dialect, secret, id) = (self.dialect(), Secret::generate(), tsid());
        let row = secret.row(&id, &new.name, new.role, &clients, new.expires_at);
        let insert = Insert::into(TABLE.name).skip_duplicates(true);
        let insert = insert.row(dialect, row.text("created_by", actor.key_id()));
        let change = Change::new("create", "apiKey", &id).detail("role", new.role.name());
        let mut statements = request
            .map(|request| self.store_request_statements(actor, KEY_REQUEST, request, &id, false))
            .unwrap_or_default();
        statements.extend([insert, change.entry(dialect, actor), self.select_key(&id)]);
        let row = self.run_and_read("create an API key", statements).await?;
        let details = read(row.ok_or_else(|| Error::unreadable("a fresh API key"))?);
        Ok(ApiKeyWithSecret { key: secret.whole, details })
    }

    /// Returns one key without its secret; an error if it does not exist or has clients outside the actor's scope.
    pub async fn key(&self, actor: &Actor, id: &str) -> Result<ApiKey, Error> {
        let found = self.fetch_by_id("find an API key", &TABLE, id).await?.map(read);
        found.filter(|key| is_within_scope(actor, key)).ok_or(Error::NotFound("API key"))
    }

    /// Returns the keys within the actor's scope, oldest first; the first 1000 keys are searched.
    pub async fn keys(&self, actor: &Actor) -> Result<Vec<ApiKey>, Error> {
        let all = self.select(&TABLE).push(" ORDER BY t.id LIMIT 1000");
        let keys = self.fetch_all("list API keys", all).await?.into_iter().map(read);
        Ok(keys.filter(|key| is_within_scope(actor, key)).collect())
    }

    /// Revokes a key: from now on requests with it are refused. Idempotent. A key cannot revoke itself.
    pub async fn revoke_key(&self, actor: &Actor, id: &str) -> Result<ApiKey, Error> {
        let found = self.key(actor, id).await?;
        if found.id == actor.key {
            return Err(Error::conflict("id", "an API key cannot revoke itself: create another one first"));
        }
        let revoke = self
            .sql("UPDATE postrider_api_keys SET revoked_at = ")
            .now()
            .push(" WHERE revoked_at IS NULL AND id = ")
            .text(id);
        let entry = Change::new("revoke", "apiKey", id).entry(self.dialect(), actor);
        let statements = vec![revoke.finish(), entry, self.select_key(id)];
        let row = self.run_and_read("revoke an API key", statements).await;
        // Also after an error: the answer to a commit may have been lost.
        self.recent_keys.forget_all();
        row?.map(read).ok_or(Error::NotFound("API key"))
    }

    fn select_key(&self, id: &str) -> Statement {
        self.select(&TABLE).and_equals("id", Some(id)).finish()
    }
}

/// The SQL condition that the key `t` is neither revoked nor expired.
pub(super) fn is_valid(dialect: Dialect) -> String {
    format!("t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > {})", now(dialect))
}

/// Whether the key gives access to nothing outside the actor's scope.
fn is_within_scope(actor: &Actor, key: &ApiKey) -> bool {
    match &actor.scope {
        ClientScope::All => true,
        scope @ ClientScope::Only(_) => {
            !key.client_ids.is_empty() && key.client_ids.iter().all(|client| scope.covers(Some(client)))
        }
    }
}
