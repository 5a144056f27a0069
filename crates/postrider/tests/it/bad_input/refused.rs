//! G3: a relay that refuses our login costs no row an attempt.

use std::time::Duration;

use postrider_services::{SmtpOptions, SmtpServer};

use crate::support::database::{Kind, fresh};
use crate::support::installation::Installation;
use crate::support::journal;
use crate::support::relay::SwitchableProxy;
use crate::support::sql::Cell;
use crate::support::wait::{TIMEOUT, wait_until};

fn relay_with(password: &str) -> SmtpServer {
    let options =
        SmtpOptions { login: Some(("postrider".into(), password.into())), ..SmtpOptions::default() };
    tokio::task::block_in_place(|| SmtpServer::start(&options)).expect("the SMTP server starts")
}

#[tokio::test(flavor = "multi_thread")]
async fn g03_a_wrong_smtp_password_pauses_the_lane_costs_no_attempt_and_recovers() {
    let strict = relay_with("another-one");
    let corrected = relay_with("hunter2-secret");
    let proxy = SwitchableProxy::start(strict.address()).await;
    let mut installation = Installation::new();
    let (url, sql) = fresh(Kind::Sqlite, "refused", &installation.sandbox).await;
    installation.write_settings(&format!(
        "[stores.main]\nurl = \"{url}\"\n\
         [transports.relay]\nurl = \"smtp://{}\"\nuser = \"postrider\"\npassword = \"hunter2-secret\"\n\
         tls = \"none\"\nallow_plaintext_auth = true\n\
         [lanes.mail_outbox]\ncontract = \"mail_outbox\"\npoll = \"200ms\"\n",
        proxy.address
    ));
    installation.sandbox.run(&["migrate"]).success();
    for number in 0..30 {
        let row: [(&str, Cell); 4] = [
            ("from_address", "app@example.org".into()),
            ("to_addresses", "someone@example.net".into()),
            ("subject", format!("refused {number}").as_str().into()),
            ("body_text", "Hello.".into()),
        ];
        sql.insert("mail_outbox", &row).await;
    }

    let worker = installation.start_worker();
    let body = wait_until("the lane says that the relay refuses us", TIMEOUT, || async {
        let (code, body) = worker.get("/readyz");
        (code == 503 && body.contains("misconfigured")).then_some(body)
    })
    .await;
    assert!(body.contains("535"), "the relay's own answer is the reason: {body}");
    assert!(!body.contains("hunter2") && !worker.log().contains("hunter2"), "no password is shown");
    // After some probes still no attempt is charged.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let unspent = "mail_outbox WHERE status = 'queued' AND retry_count = 0 AND last_error IS NULL";
    wait_until("every row is handed back unspent", TIMEOUT, || async {
        (sql.count(unspent).await? == 30).then_some(())
    })
    .await;

    proxy.switch_to(corrected.address());
    wait_until("every row is sent", TIMEOUT, || async {
        (sql.count("mail_outbox WHERE status = 'sent' AND retry_count = 0").await? == 30).then_some(())
    })
    .await;
    let (code, body) = worker.get("/readyz");
    assert_eq!(code, 200, "{body}");
    installation.stop(worker).await;
    assert_eq!(journal::read(&corrected.journal()).len(), 30, "once each");
    assert!(journal::read(&strict.journal()).is_empty());
}
