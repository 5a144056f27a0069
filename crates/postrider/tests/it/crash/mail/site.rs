//! Where a run takes place: database, relay, settings.

use postrider_services::{SmtpOptions, SmtpServer};

use crate::rig::database::{Kind, Server, on_server};
use crate::rig::home::Home;
use crate::rig::sql::Sql;

pub struct Site {
    pub home: Home,
    pub relay: SmtpServer,
    /// `None` for SQLite.
    pub server: Option<Server>,
    pub sql: Sql,
}

impl Site {
    pub async fn open(kind: Kind) -> Self {
        let home = Home::new();
        let relay = tokio::task::block_in_place(|| SmtpServer::start(&SmtpOptions::default()))
            .expect("the SMTP server starts");
        let server = (kind != Kind::Sqlite).then(|| Server::start(kind));
        let (url, sql) = match &server {
            Some(server) => on_server(kind, &server.url(), "crash", "").await,
            None => ("sqlite:app.db".to_owned(), Sql::sqlite(&home.shop.path("app.db"))),
        };
        home.settle_in(&settings(&url, &relay));
        Self { home, relay, server, sql }
    }
}

/// Short leases, so that a run shows in seconds what production shows in minutes. Enough attempts that recovery never
/// spends a row: then every row must be sent.
fn settings(url: &str, relay: &SmtpServer) -> String {
    format!(
        r#"
[stores.main]
url = "{url}"

[transports.relay]
url = "smtp://{}"
connections = 4

[lanes.mail_outbox]
contract = "mail_outbox"
concurrency = 4
batch = 25
held = 50
poll = "200ms"
sweep = "1s"
timeout = "20s"
lease.for = "6s"
attempts.max = 60
retry.base = "1s"
retry.cap = "2s"
"#,
        relay.address()
    )
}
