//! Sessions of the console: a browser signs in with an API key and then holds a session token instead.
//!
//! Invariant: only the SHA-256 of a token is stored. A session never has more access than its key has at that moment,
//! so revoking a key, or its expiry, ends its sessions.

use postrider_sql::bind::tsid;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use subtle::ConstantTimeEq as _;

use super::key::{self, hashed, hex};
use super::{Actor, Scope};
use crate::audit::Change;
use crate::draft::Draft;
use crate::sheet::{Fresh, Insert, Kind, Reader, Sheet, now, now_and};
use crate::{Error, Hub, Moment};

/// Lifetime of a session, in seconds. Activity does not extend it.
const SECONDS: i64 = 12 * 60 * 60;

const SHEET: Sheet = Sheet { table: "postrider_sessions", columns: &[("expires_at", Kind::Time)] };

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
    pub fn is_meant_by(&self, csrf: &str) -> bool {
        self.csrf.as_bytes().ct_eq(csrf.as_bytes()).into()
    }
}

/// A new session with its token, which is not available again later.
pub struct SignedIn {
    pub token: String,
    pub session: Session,
}

fn fresh_token() -> String {
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
        let dialect = self.dialect();
        let (token, id) = (fresh_token(), tsid());
        let over =
            Draft::new(dialect, "DELETE FROM postrider_sessions WHERE expires_at < ").push(now(dialect));
        let columns = [("id", Kind::Text), ("hash", Kind::Text), ("key_id", Kind::Text)];
        let row = Fresh::new()
            .text("id", id.clone())
            .text("hash", hashed(&token))
            .text("key_id", actor.key.clone());
        let ends = vec![("expires_at", now_and(dialect, SECONDS))];
        let insert = Insert { table: SHEET.table, columns: &columns, computed: ends, ..Insert::default() };
        let change = Change::new("login", "session", &id).by(dialect, &actor);
        self.run("sign in", vec![over.done(), insert.rows(dialect, vec![row]), change]).await?;
        Ok(self.session(&token).await?.map(|session| SignedIn { token, session }))
    }

    /// Returns the session of this token; `None` if it does not exist or has expired, or if its key is no longer valid.
    pub async fn session(&self, token: &str) -> Result<Option<Session>, Error> {
        if !is_token(token) {
            return Ok(None);
        }
        let dialect = self.dialect();
        let columns = format!("{}, {}", SHEET.listed_of(dialect, "s"), key::SHEET.listed(dialect));
        let find = Draft::new(dialect, format!("SELECT {columns} FROM postrider_sessions AS s"))
            .push(" JOIN postrider_api_keys AS t ON t.id = s.key_id WHERE s.hash = ")
            .text(&hashed(token))
            .push(" AND s.expires_at > ")
            .push(now(dialect))
            .push(" AND ")
            .push(&key::opens(dialect));
        let Some(mut row) = self.first("look up a session", find).await? else { return Ok(None) };
        let ends = Reader::new(vec![row.remove(0)]).time();
        let found = key::read(row);
        let Some(role) = found.role else { return Ok(None) };
        self.touch(&found.id).await?;
        let expires_at = ends.into_iter().chain(found.expires_at).min();
        let scope = Scope::of(found.client_ids);
        let actor = Actor { key: found.id, name: found.name, role, scope };
        Ok(Some(Session { actor, csrf: self.csrf(token), expires_at }))
    }

    /// Ends a session. Idempotent.
    pub async fn sign_out(&self, token: &str) -> Result<(), Error> {
        let Some(session) = self.session(token).await? else { return Ok(()) };
        let dialect = self.dialect();
        let end = Draft::new(dialect, "DELETE FROM postrider_sessions WHERE hash = ").text(&hashed(token));
        let change = Change::new("logout", "session", &session.actor.key).by(dialect, &session.actor);
        self.run("sign out", vec![end.done(), change]).await?;
        Ok(())
    }

    /// Returns the CSRF token: an HMAC of the session token under a key of the server, so that it need not be stored.
    fn csrf(&self, token: &str) -> String {
        hex(hmac::sign(&self.cursor_key, format!("csrf\n{token}").as_bytes()).as_ref())
    }
}
