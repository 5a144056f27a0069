//! Data that deliveries read from the hub: credentials of service accounts, and paused subscriptions.

use std::collections::{BTreeSet, HashMap};

use crate::account::WebhookAuthType;
use crate::check::is_id;
use crate::draft::Draft;
use crate::sheet::{Reader, now};
use crate::{Error, Hub};

/// The members of a service account that a delivery needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub active: bool,
    /// Clients whose jobs may use the account. Empty: all clients.
    pub clients: Vec<String>,
    /// Hosts that the credentials may be sent to.
    pub hosts: Vec<String>,
    /// The authentication type and the reference to the token; `None` if requests are not authenticated.
    pub auth: Option<(WebhookAuthType, String)>,
    /// References to the signing secrets, newest first: two for 24 hours after a regeneration.
    pub signing: Vec<String>,
}

/// The members of a subscription that a delivery needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub honours_ack: bool,
    pub paused: bool,
}

/// The accounts and subscriptions that a batch of jobs refers to, by id. Unknown ids are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    pub accounts: HashMap<String, Credentials>,
    pub subscriptions: HashMap<String, Standing>,
}

impl Hub {
    /// Reads these accounts and subscriptions of any client in one query.
    ///
    /// Also records when the accounts were last used, at most once per minute.
    pub async fn named(
        &self,
        accounts: &BTreeSet<String>,
        subscriptions: &BTreeSet<String>,
    ) -> Result<Named, Error> {
        let dialect = self.dialect();
        let accounts = accounts.iter().map(String::as_str).filter(|id| is_id(id));
        let query = Draft::new(
            dialect,
            "SELECT 'account' AS kind, id, CASE WHEN active THEN 1 ELSE 0 END AS first_flag, 0 AS second_flag, client_ids, allowed_hosts, \
             auth_type, auth_token_ref, signing_secret_ref, CASE WHEN previous_until > ",
        )
        .push(now(dialect))
        .push(" THEN previous_signing_secret_ref END AS previous_ref FROM service_accounts WHERE id IN ")
        .texts(accounts)
        .push(
            " UNION ALL SELECT 'subscription', id, CASE WHEN honours_ack THEN 1 ELSE 0 END, \
             CASE WHEN paused THEN 1 ELSE 0 END, NULL, NULL, NULL, NULL, NULL, NULL \
             FROM dispatch_subscriptions WHERE id IN ",
        )
        .texts(subscriptions.iter().map(String::as_str));
        let mut named = Named::default();
        for row in self.all("look up accounts and subscriptions", query).await? {
            let mut row = Reader::new(row);
            let (kind, id, first, second) = (row.word(), row.word(), row.flag(), row.flag());
            if kind == "subscription" {
                named.subscriptions.insert(id, Standing { honours_ack: first, paused: second });
                continue;
            }
            let mut readable = true;
            let (clients, hosts) = (row.json_in(&mut readable), row.json());
            let kind = row.text();
            let known: Option<WebhookAuthType> = kind.as_deref().and_then(crate::job::named);
            // An unreadable value must not mean "all clients", nor a request without its credentials.
            let active = first && readable && kind.is_some() == known.is_some();
            let auth = known.zip(row.text());
            let signing = [row.text(), row.text()].into_iter().flatten().collect();
            named.accounts.insert(id, Credentials { active, clients, hosts, auth, signing });
        }
        for account in named.accounts.keys() {
            self.note_use(account).await?;
        }
        Ok(named)
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

    /// Pauses a subscription whose receiver answered 410 Gone, until an operator resumes it (J5).
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
