//! Sessions of the console: a browser signs in with an API key and then holds a session token instead.
//!
//! Invariant: only the SHA-256 of a token is stored. A session never has more access than its key has at that moment,
//! so revoking a key, or its expiry, ends its sessions.

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use subtle::ConstantTimeEq as _;

use super::Actor;
use super::key::{self, hash_key, hex};
use crate::audit::Change;
use crate::sql::{Clauses as _, Insert, NewRow, Table, columns, now_plus, tsid};
use crate::{Error, Hub, Moment};

/// Lifetime of a session, in seconds. Activity does not extend it.
const SESSION_SECONDS: i64 = 12 * 60 * 60;

const TABLE: Table = Table { name: "postrider_sessions", columns: columns![expires_at: Time] };

/// A valid session and the actor that is signed in.
#[derive(Clone)]
pub struct Session {
    pub actor: Actor,
    /// The token that requests which change something must send in addition to the cookie.
    pub csrf: String,
    /// The end of the session, or of its key if that is earlier.
    pub expires_at: Option<Moment>,
}

impl Session {
    /// Whether `csrf` is the CSRF token of this session, compared in constant time.
    pub fn has_csrf_token(&self, csrf: &str) -> bool {
        self.csrf.as_bytes().ct_eq(csrf.as_bytes()).into()
    }
}

/// A new session with its token, which is not available again later.
pub struct SignedIn {
    pub token: String,
    pub session: Session,
}

fn generate_token() -> String {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system has randomness");
    hex(&bytes)
}

fn is_token(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Hub {
    /// Creates a session for this key; `None` if the key is unknown, revoked or expired.
    pub async fn sign_in(&self, key: &str) -> Result<Option<SignedIn>, Error> {
        let Some(actor) = self.authenticate(key).await? else { return Ok(None) };
        let (dialect, token, id) = (self.dialect(), generate_token(), tsid());
        let delete_expired = self.sql("DELETE FROM postrider_sessions WHERE expires_at < ").now();
        let row = NewRow::new()
            .text("id", id.clone())
            .text("hash", hash_key(&token))
            .text("key_id", actor.key.clone());
        let insert = Insert::into(TABLE.name).computed("expires_at", now_plus(dialect, SESSION_SECONDS));
        let entry = Change::new("login", "session", &id).entry(dialect, &actor);
        self.run("sign in", vec![delete_expired.finish(), insert.row(dialect, row), entry]).await?;
        Ok(self.session(&token).await?.map(|session| SignedIn { token, session }))
    }

    /// Returns the session of this token; `None` if it does not exist or has expired, or if its key is no longer valid.
    pub async fn session(&self, token: &str) -> Result<Option<Session>, Error> {
        if !is_token(token) {
            return Ok(None);
        }
        let dialect = self.dialect();
        let columns =
            format!("{}, {}", TABLE.select_list(dialect, "s"), key::TABLE.select_list(dialect, "t"));
        let find = self
            .sql(format!("SELECT {columns} FROM postrider_sessions AS s"))
            .push(" JOIN postrider_api_keys AS t ON t.id = s.key_id WHERE s.hash = ")
            .text(&hash_key(token))
            .push(" AND s.expires_at > ")
            .now()
            .push(&format!(" AND {}", key::is_valid(dialect)));
        let Some(mut row) = self.fetch_first("look up a session", find).await? else { return Ok(None) };
        let session_end = row.time();
        let key = key::read(row);
        let expires_at = session_end.into_iter().chain(key.expires_at).min();
        let actor = self.actor_of(key).await?;
        Ok(actor.map(|actor| Session { actor, csrf: self.csrf(token), expires_at }))
    }

    /// Ends a session. Idempotent.
    pub async fn sign_out(&self, token: &str) -> Result<(), Error> {
        let Some(session) = self.session(token).await? else { return Ok(()) };
        let end = self.sql("DELETE FROM postrider_sessions WHERE hash = ").text(&hash_key(token));
        let change =
            Change::new("logout", "session", &session.actor.key).entry(self.dialect(), &session.actor);
        self.run("sign out", vec![end.finish(), change]).await?;
        Ok(())
    }

    /// Returns the CSRF token: an HMAC of the session token under a key of the server, so that it need not be stored.
    fn csrf(&self, token: &str) -> String {
        hex(hmac::sign(&self.cursor_key, format!("csrf\n{token}").as_bytes()).as_ref())
    }
}
