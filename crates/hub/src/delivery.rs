//! Data that deliveries read from the hub: credentials of service accounts, and paused subscriptions.

use std::collections::{BTreeSet, HashMap};

use crate::account::WebhookAuthType;
use crate::audit::Change;
use crate::sql::{self, Clauses as _, NewRow};
use crate::validation::is_id;
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
pub struct SubscriptionState {
    pub honours_ack: bool,
    pub paused: bool,
}

/// The accounts and subscriptions that a batch of jobs refers to, by id. Unknown ids are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryData {
    pub accounts: HashMap<String, Credentials>,
    pub subscriptions: HashMap<String, SubscriptionState>,
}

impl Hub {
    /// Reads these accounts and subscriptions of any client in one query.
    ///
    /// Also records when the accounts were last used, at most once per minute.
    pub async fn delivery_data(
        &self,
        accounts: &BTreeSet<String>,
        subscriptions: &BTreeSet<String>,
    ) -> Result<DeliveryData, Error> {
        let accounts = accounts.iter().map(String::as_str).filter(|id| is_id(id));
        let query = self.sql(
            "SELECT 'account' AS kind, id, CASE WHEN active THEN 1 ELSE 0 END AS first_flag, 0 AS second_flag, client_ids, allowed_hosts, \
             auth_type, auth_token_ref, signing_secret_ref, CASE WHEN previous_until > ",
        )
        .now()
        .push(" THEN previous_signing_secret_ref END AS previous_ref FROM service_accounts WHERE id IN ")
        .in_list(accounts)
        .push(
            " UNION ALL SELECT 'subscription', id, CASE WHEN honours_ack THEN 1 ELSE 0 END, \
             CASE WHEN paused THEN 1 ELSE 0 END, NULL, NULL, NULL, NULL, NULL, NULL \
             FROM dispatch_subscriptions WHERE id IN ",
        )
        .in_list(subscriptions);
        let mut data = DeliveryData::default();
        for mut row in self.fetch_all("look up accounts and subscriptions", query).await? {
            let (kind, id, first, second) =
                (row.required_text(), row.required_text(), row.flag(), row.flag());
            if kind == "subscription" {
                data.subscriptions.insert(id, SubscriptionState { honours_ack: first, paused: second });
                continue;
            }
            let mut readable = true;
            let (clients, hosts) = (row.json_checked(&mut readable), row.json());
            let kind = row.text();
            let known: Option<WebhookAuthType> = kind.as_deref().and_then(crate::job::parse_enum);
            // An unreadable value must not mean "all clients", nor a request without its credentials.
            let active = first && readable && kind.is_some() == known.is_some();
            let auth = known.zip(row.text());
            let signing = [row.text(), row.text()].into_iter().flatten().collect();
            data.accounts.insert(id, Credentials { active, clients, hosts, auth, signing });
        }
        for account in data.accounts.keys() {
            self.record_use("record the use of a service account", "service_accounts", account).await?;
        }
        Ok(data)
    }

    /// Pauses a subscription whose receiver answered 410 Gone, until an operator resumes it (J5).
    pub async fn pause_gone_subscription(&self, subscription: &str, reason: &str) -> Result<(), Error> {
        let row = NewRow::new().flag("paused", true).text("paused_reason", reason.to_owned());
        let update = sql::update(self.dialect(), "dispatch_subscriptions", row);
        let change = Change::new("pause", "subscription", subscription).detail("reason", reason);
        self.update_by_id("pause a subscription", subscription, update, change.system_entry(self.dialect()))
            .await
    }
}
