//! Rules M9 and E8: no recipient is lost, on tables without a column for the results of recipients.

mod interrupted;
mod on_dynamodb;

use std::time::Duration;

use crate::support::callback_receiver::CallbackReceiver;
use crate::support::database::{self, Kind};
use crate::support::installation::Installation;
use crate::support::relay::Relay;
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};

/// Attempts of a lane's rows.
const THREE_ATTEMPTS: &str = "attempts.max = 3\nretry.base = \"100ms\"\n";

/// A mark that is unique to a test, as all tests share the relay and its journal.
fn unique_mark(name: &str) -> String {
    format!("{name}-{:08x}", rand::random::<u32>())
}

/// The recipients of mails with this subject, each with its number of transactions.
fn deliveries(relay: &Relay, subject: &str) -> Vec<(String, usize)> {
    let mut all: Vec<String> = relay.accepted(subject).into_iter().flat_map(|entry| entry.to).collect();
    all.sort();
    let mut counted: Vec<(String, usize)> = Vec::new();
    for address in all {
        match counted.last_mut().filter(|(last, _)| *last == address) {
            Some((_, count)) => *count += 1,
            None => counted.push((address, 1)),
        }
    }
    counted
}

/// Three mails to two recipients: the second is refused once, permanently, or temporarily every time.
struct ThreeRecipients {
    mark: String,
    good: String,
    once: String,
    never: String,
    later: String,
}

impl ThreeRecipients {
    fn new(name: &str) -> Self {
        let mark = unique_mark(name);
        let address = |script: &str| format!("{script}-{mark}@example.org");
        Self {
            good: address("good"),
            once: address("once-450"),
            never: address("rcpt-550"),
            later: address("rcpt-450"),
            mark,
        }
    }

    fn mails(&self) -> [(&'static str, &String); 3] {
        [("once", &self.once), ("never", &self.never), ("later", &self.later)]
    }

    fn subject(&self, id: &str) -> String {
        format!("{} {id}", self.mark)
    }

    /// Asserts that each good recipient received the mail exactly once, and so did the one that was refused once.
    fn check_journal(&self, relay: &Relay) {
        let (good, once) = ((self.good.clone(), 1), (self.once.clone(), 1));
        assert_eq!(deliveries(relay, &self.subject("once")), [good.clone(), once]);
        assert_eq!(deliveries(relay, &self.subject("never")), std::slice::from_ref(&good));
        assert_eq!(deliveries(relay, &self.subject("later")), [good]);
    }
}

fn pipeline(store: &str, relay: &str, base: &str, callback: &str) -> String {
    let lane = |name: &str, stage: &str, transport: &str, more: &str| {
        format!(
            "[lanes.{name}]\ncontract = \"emails\"\nstage = \"{stage}\"\nstore = \"mail\"\npoll = \"100ms\"\n\
             retry.base = \"100ms\"\nretry.jitter = 0\nattempts.max = 3\ntransport = \"{transport}\"\n\
             [lanes.{name}.emails]\n{more}\n"
        )
    };
    let calls = format!(
        "callback_url = \"{callback}\"\ncallback_secret = \"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\""
    );
    [
        format!("[stores.mail]\nurl = \"{store}\"\n[transports.relay]\nurl = \"smtp://{relay}\"\n"),
        "[transports.hooks]\nurl = \"webhook://?allow=127.0.0.0/8&plain_http=allowed\"\n".to_owned(),
        lane("send", "send", "relay", &format!("base = \"{base}\"")),
        lane("sent", "sent_callback", "hooks", &calls),
        lane("failed", "failed_callback", "hooks", &calls),
    ]
    .concat()
}

fn write_eml(base: &std::path::Path, three: &ThreeRecipients, id: &str, second: &str) -> String {
    let path = base.join(format!("{id}.eml"));
    let text = format!(
        "From: shop@example.com\r\nTo: {}, {second}\r\nSubject: {}\r\nMessage-ID: <{id}@{}>\r\n\r\nhi\r\n",
        three.good,
        three.subject(id),
        three.mark
    );
    std::fs::write(&path, text).expect("the base folder is there");
    path.display().to_string()
}

async fn emails(kind: Kind, name: &str) {
    let mut installation = Installation::new();
    let (url, sql) = database::fresh(kind, name, &installation.sandbox).await;
    let (relay, receiver) = (Relay::shared(), CallbackReceiver::start(0, Duration::ZERO));
    let base = installation.sandbox.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    installation.write_settings(&pipeline(&url, &relay.address, base.to_str().unwrap(), &receiver.url));
    installation.sandbox.run(&["migrate"]).success();
    let output = installation.sandbox.run(&["check", "send"]);
    assert!(
        output.stdout.contains("postrider_recipients records who received it"),
        "{}{}",
        output.stdout,
        output.stderr
    );
    let three = ThreeRecipients::new(name);
    for (id, second) in three.mails() {
        let path = write_eml(&base, &three, id, second);
        let cells = [("id", id.into()), ("status", "READY".into()), ("eml_file_path", path.as_str().into())];
        sql.insert("emails", &cells).await;
    }
    let worker = installation.start_worker();
    let reason = |id: &'static str, wanted: &'static str| {
        let query = format!(
            "SELECT {}, {} FROM emails WHERE id = '{id}'",
            sql.text("status"),
            sql.text("coalesce(reason, '')")
        );
        let sql = &sql;
        async move {
            wait_until(&format!("{id} is {wanted}"), TIMEOUT, || async {
                let row = sql.rows(&query).await.ok()?.remove(0);
                (row[0].as_deref() == Some(wanted)).then(|| row[1].clone().unwrap_or_default())
            })
            .await
        }
    };
    assert_eq!(reason("once", "SENT-ACKNOWLEDGED").await, "");
    let never = reason("never", "SENT-ACKNOWLEDGED").await;
    assert!(never.contains(&three.never) && never.contains("550 5.1.1"), "{never}");
    let later = reason("later", "FAILED-ACKNOWLEDGED").await;
    assert!(later.contains(&three.later) && later.contains("accepted by 1 of 2 recipients"), "{later}");
    installation.stop(worker).await;

    three.check_journal(&relay);
    let reasons_in = |id: &str, state: &str| {
        let query = format!(
            "SELECT {} FROM email_statuses WHERE email_id = '{id}' AND status = '{state}' ORDER BY id",
            sql.text("coalesce(reason, '')")
        );
        let sql = &sql;
        async move { sql.rows(&query).await.unwrap().into_iter().flatten().flatten().collect::<Vec<_>>() }
    };
    assert!(reasons_in("once", "READY").await.iter().any(|reason| reason.contains(&three.once)));
    assert_eq!(reasons_in("never", "SENT").await, std::slice::from_ref(&never), "the history has it");
    let bodies = receiver.bodies();
    let about = |id: &str| bodies.iter().find(|body| body["id"] == id).unwrap()["reason"].clone();
    assert_eq!(about("never"), never.as_str(), "the callback has it");
    assert_eq!(about("later"), later.as_str());
    assert_eq!(about("once"), serde_json::Value::Null);
    let logs = installation.logs();
    let warned = |line: &str| line.contains("not to all recipients") && line.contains(&three.never);
    assert!(logs.lines().any(warned), "{logs}");
    let kept = sql.rows("SELECT row_id FROM postrider_recipients ORDER BY row_id").await.unwrap();
    let kept: Vec<String> = kept.into_iter().flatten().flatten().collect();
    assert_eq!(kept, ["later", "never"], "what all have got is forgotten");
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e08_no_recipient_is_lost_on_postgres() {
    emails(Kind::Postgres, "vanish").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e08_no_recipient_is_lost_on_mariadb() {
    emails(Kind::MariaDb, "vanish").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e08_no_recipient_is_lost_on_sqlite() {
    emails(Kind::Sqlite, "vanish").await;
}

/// Creates the table of `migrate`, and settings with `more` for the lane.
fn installed(installation: &Installation, url: &str, relay: &str, more: &str) {
    installation.write_settings(&format!(
        "[stores.main]\nurl = \"{url}\"\n[transports.relay]\nurl = \"smtp://{relay}\"\n\
         [mail]\nfrom = \"shop@example.com\"\n[lanes.mail]\ncontract = \"mail_outbox\"\npoll = \"50ms\"\n\
         retry.jitter = 0\n{more}"
    ));
    installation.sandbox.run(&["migrate"]).success();
}

/// Creates a table as producers may have: without a column for the results of recipients.
async fn without_results(installation: &Installation, url: &str, sql: &Sql, relay: &str, more: &str) {
    installed(installation, url, relay, more);
    sql.must("ALTER TABLE mail_outbox DROP COLUMN recipient_results").await;
}

fn send(installation: &Installation, three: &ThreeRecipients, id: &str, second: &str) -> String {
    let subject = three.subject(id);
    let words = ["send", "mail", "--subject", &subject, "--text", "hi", "--to", &three.good, "--to", second];
    installation.sandbox.run(&words).success().stdout.trim().to_owned()
}

/// Status, attempts and error of a row in a final state.
async fn final_row(sql: &Sql, id: &str) -> (String, String, String) {
    let [attempts, key] = ["retry_count", "id"].map(|column| sql.text(column));
    let query =
        format!("SELECT status, {attempts}, COALESCE(last_error, '') FROM mail_outbox WHERE {key} = '{id}'");
    let rows = wait_until("the row is over", TIMEOUT, || async {
        let rows = sql.rows(&query).await.ok()?;
        matches!(rows.first()?.first()?.as_deref()?, "sent" | "failed").then_some(rows)
    })
    .await;
    let text = |at: usize| rows[0][at].clone().unwrap_or_default();
    (text(0), text(1), text(2))
}

async fn mail_outbox(kind: Kind, name: &str) {
    let mut installation = Installation::new();
    let (url, sql) = database::fresh(kind, name, &installation.sandbox).await;
    let relay = Relay::shared();
    without_results(&installation, &url, &sql, &relay.address, THREE_ATTEMPTS).await;
    let three = ThreeRecipients::new(name);
    let worker = installation.start_worker();
    let [once, never, later] = three.mails().map(|(id, second)| send(&installation, &three, id, second));
    assert_eq!(final_row(&sql, &once).await, ("sent".into(), "1".into(), String::new()));
    let (status, _, error) = final_row(&sql, &never).await;
    assert_eq!(status, "sent");
    assert!(error.contains(&three.never) && error.contains("550 5.1.1"), "{error}");
    let (status, attempts, error) = final_row(&sql, &later).await;
    assert_eq!((status.as_str(), attempts.as_str()), ("failed", "3"));
    assert!(error.contains(&three.later) && error.contains("accepted by 1 of 2 recipients"), "{error}");
    three.check_journal(&relay);
    // An operator's requeue does not send it again to recipients that have it.
    installation.sandbox.run(&["requeue", "mail", &later]).success();
    wait_until("it is tried again, and fails", TIMEOUT, || async {
        let (status, attempts, _) = final_row(&sql, &later).await;
        (status == "failed" && attempts == "3").then_some(())
    })
    .await;
    three.check_journal(&relay);
    installation.stop(worker).await;
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_no_recipient_is_lost_without_a_results_column_on_postgres() {
    mail_outbox(Kind::Postgres, "lacking").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_no_recipient_is_lost_without_a_results_column_on_mariadb() {
    mail_outbox(Kind::MariaDb, "lacking").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_no_recipient_is_lost_without_a_results_column_on_sqlite() {
    mail_outbox(Kind::Sqlite, "lacking").await;
}

/// An entry of a deleted row does not apply to another row with its id, not even if the recipients are the same.
#[tokio::test(flavor = "multi_thread")]
async fn m09_a_reused_id_loses_no_recipient() {
    let mut installation = Installation::new();
    let (url, sql) = database::fresh(Kind::Sqlite, "reuse", &installation.sandbox).await;
    let relay = Relay::shared();
    without_results(&installation, &url, &sql, &relay.address, THREE_ATTEMPTS).await;
    let three = ThreeRecipients::new("reuse");
    let other = format!("other-{}@example.org", three.mark);
    let (good, never) = ((three.good.clone(), 1), &three.never);
    let mut ids = Vec::new();
    for (subject, second, arrives) in [
        ("first", never, vec![good.clone()]),
        ("same", never, vec![good.clone()]),
        ("other", &other, vec![good.clone(), (other.clone(), 1)]),
    ] {
        // As on a table without AUTOINCREMENT: the highest id is free again.
        sql.must("DELETE FROM mail_outbox").await;
        sql.must("DELETE FROM sqlite_sequence").await;
        ids.push(send(&installation, &three, subject, second));
        let worker = installation.start_worker();
        assert_eq!(final_row(&sql, &ids[0]).await.0, "sent", "{subject}");
        installation.stop(worker).await;
        assert_eq!(deliveries(&relay, &three.subject(subject)), arrives, "{subject}");
        let kept = sql.rows("SELECT row_id FROM postrider_recipients").await.unwrap();
        // Who refused it for good stays on record; of what all have got nothing is left.
        assert_eq!(kept.len(), usize::from(second == never), "{subject}");
    }
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    sql.close().await;
}

/// The same for a row that an application deletes before it is sent.
#[tokio::test(flavor = "multi_thread")]
async fn m09_a_reused_id_of_a_row_that_was_never_sent_loses_no_recipient() {
    let mut installation = Installation::new();
    let (url, sql) = database::fresh(Kind::Sqlite, "withdrawn", &installation.sandbox).await;
    let relay = Relay::shared();
    let more = "attempts.max = 9\nretry.base = \"10m\"\n";
    without_results(&installation, &url, &sql, &relay.address, more).await;
    let three = ThreeRecipients::new("withdrawn");
    let mut ids = Vec::new();
    for subject in ["withdrawn", "second"] {
        ids.push(send(&installation, &three, subject, &three.later));
        let worker = installation.start_worker();
        wait_until("one recipient has it", TIMEOUT, || async {
            (sql.count("mail_outbox WHERE status = 'queued' AND retry_count = 1").await == Some(1))
                .then_some(())
        })
        .await;
        installation.stop(worker).await;
        assert_eq!(deliveries(&relay, &three.subject(subject)), [(three.good.clone(), 1)], "{subject}");
        sql.must("DELETE FROM mail_outbox").await;
        sql.must("DELETE FROM sqlite_sequence").await;
    }
    assert_eq!(ids[0], ids[1]);
    sql.close().await;
}

/// Without a column for the results, the mail is neither marked sent nor sent twice.
#[tokio::test(flavor = "multi_thread")]
async fn m09_without_recorded_results_a_partly_refused_mail_fails_and_names_who_has_it() {
    let mut installation = Installation::new();
    let (url, sql) = database::fresh(Kind::Sqlite, "forgetful", &installation.sandbox).await;
    let relay = Relay::shared();
    without_results(&installation, &url, &sql, &relay.address, THREE_ATTEMPTS).await;
    sql.must("DROP TABLE postrider_recipients").await;
    let output = installation.sandbox.run(&["check", "mail"]);
    assert!(
        output.stdout.contains("no table or column records which recipients received a mail"),
        "{}{}",
        output.stdout,
        output.stderr
    );
    let three = ThreeRecipients::new("forgetful");
    let worker = installation.start_worker();
    let (status, attempts, error) =
        final_row(&sql, &send(&installation, &three, "later", &three.later)).await;
    assert_eq!((status.as_str(), attempts.as_str()), ("failed", "1"));
    assert!(error.contains(&three.later) && error.contains("accepted by 1 of 2 recipients"), "{error}");
    let (status, _, error) = final_row(&sql, &send(&installation, &three, "never", &three.never)).await;
    assert_eq!(status, "sent");
    assert!(error.contains(&three.never), "{error}");
    assert_eq!(deliveries(&relay, &three.subject("later")), [(three.good.clone(), 1)]);
    installation.stop(worker).await;
    sql.close().await;
}
