//! What deliveries ask of the hub: whose credentials a job carries, and whether its subscription or pool is paused.

use crate::account::WebhookAuthType;
use crate::check::is_id;
use crate::draft::Draft;
use crate::job::named;
use crate::sheet::{Reader, now};
use crate::{Error, Hub};

/// A service account, as far as a delivery needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub active: bool,
    /// Empty: all.
    pub clients: Vec<String>,
    /// How it signs in, and the reference of the token.
    pub auth: Option<(WebhookAuthType, String)>,
    /// References of the signing secrets, the newest first: two for 24 hours after a regeneration.
    pub signing: Vec<String>,
}

/// A subscription, as far as a delivery needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub honours_ack: bool,
    pub paused: bool,
}

impl Hub {
    /// The account that a job names, whoever asks; notes its use, at most once a minute.
    pub async fn credentials(&self, account: &str) -> Result<Option<Credentials>, Error> {
        if !is_id(account) {
            return Ok(None);
        }
        let dialect = self.dialect();
        let query = Draft::new(
            dialect,
            "SELECT active, client_ids, auth_type, auth_token_ref, signing_secret_ref, CASE WHEN previous_until > ",
        )
        .push(now(dialect))
        .push(" THEN previous_signing_secret_ref END FROM service_accounts WHERE id = ")
        .text(account);
        let Some(row) = self.first("look up a service account", query).await? else { return Ok(None) };
        let mut row = Reader::new(row);
        let (active, mut readable) = (row.flag(), true);
        let clients = row.json_in(&mut readable);
        let kind = row.text();
        let known: Option<WebhookAuthType> = kind.as_deref().and_then(named);
        // What can't be read must not mean "all clients", or a request without its credentials.
        let active = active && readable && kind.is_some() == known.is_some();
        let auth = known.zip(row.text());
        let signing = [row.text(), row.text()].into_iter().flatten().collect();
        self.note_use(account).await?;
        Ok(Some(Credentials { active, clients, auth, signing }))
    }

    async fn note_use(&self, account: &str) -> Result<(), Error> {
        if !self.used.is_due(account) {
            return Ok(());
        }
        let dialect = self.dialect();
        let note = Draft::new(dialect, "UPDATE service_accounts SET last_used_at = ").push(now(dialect));
        self.run("note the use of a service account", vec![note.push(" WHERE id = ").text(account).done()])
            .await?;
        Ok(())
    }

    pub async fn standing(&self, subscription: &str) -> Result<Option<Standing>, Error> {
        let query = "SELECT honours_ack, paused FROM dispatch_subscriptions WHERE id = ";
        let row = self
            .first("look up a subscription", Draft::new(self.dialect(), query).text(subscription))
            .await?;
        Ok(row.map(|row| {
            let mut row = Reader::new(row);
            Standing { honours_ack: row.flag(), paused: row.flag() }
        }))
    }

    /// The receiver is gone (410): its subscription pauses until an operator resumes it (J5).
    pub async fn pause_for(&self, subscription: &str, reason: &str) -> Result<(), Error> {
        let dialect = self.dialect();
        let pause = Draft::new(dialect, "UPDATE dispatch_subscriptions SET paused = ")
            .flag(true)
            .push(", paused_reason = ")
            .text(reason)
            .push(", updated_at = ")
            .push(now(dialect))
            .push(" WHERE id = ")
            .text(subscription);
        let change =
            crate::audit::Change::new("pause", "subscription", subscription).detail("reason", reason);
        self.run("pause a subscription", vec![pause.done(), change.by_nobody(dialect)]).await?;
        Ok(())
    }
}
