//! The environment of a run: database, broker, settings.

use super::broker::{Broker, Protocol};
use crate::support::database::{Kind, fresh};
use crate::support::installation::Installation;
use crate::support::sql::Sql;

pub struct OutboxSetup {
    pub installation: Installation,
    pub broker: Broker,
    pub sql: Sql,
}

impl OutboxSetup {
    pub async fn open(kind: Kind, protocol: Protocol) -> Self {
        let installation = Installation::new();
        let broker = Broker::start(protocol);
        let (url, sql) = fresh(kind, "crash", &installation.sandbox).await;
        installation.write_settings(&settings(&url, &broker));
        Self { installation, broker, sql }
    }
}

/// Settings with the contract's batches, short leases, so that recovery takes seconds instead of minutes, and so many
/// attempts that recovery never exhausts a row: then every row must be delivered.
fn settings(url: &str, broker: &Broker) -> String {
    format!(
        r#"
[stores.main]
url = "{url}"

[transports.broker]
url = "{}"

[lanes.outbox]
contract = "outbox"
poll = "200ms"
sweep = "1s"
timeout = "5s"
lease.for = "6s"
attempts.max = 60
retry.base = "200ms"
retry.cap = "1s"
"#,
        broker.url()
    )
}
