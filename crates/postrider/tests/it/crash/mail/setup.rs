//! The setup of a run: database, relay, settings.

use postrider_services::{SmtpOptions, SmtpServer};

use crate::crash::setup::CrashSetup;
use crate::support::database::Kind;

pub struct MailSetup {
    pub base: CrashSetup,
    pub relay: SmtpServer,
}

impl MailSetup {
    pub async fn open(kind: Kind) -> Self {
        let (base, url) = CrashSetup::open(kind).await;
        let relay = tokio::task::block_in_place(|| SmtpServer::start(&SmtpOptions::default()))
            .expect("the SMTP server starts");
        base.installation.write_settings(&settings(&url, &relay));
        Self { base, relay }
    }
}

/// Settings with short leases, so that recovery takes seconds instead of minutes, and so many attempts that recovery
/// never exhausts a row: then every row must be sent.
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
