//! The database, the broker or a lane stops while the console is open: overview and readiness show it within ten
//! seconds, and recover automatically.

use std::sync::{Arc, Mutex};

use postrider_services::Nats;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{folder, run_script};
use crate::sandbox::{RunningBinary, Sandbox, eventually};
use crate::support::database::{self, Kind, Server};
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::{Reply, WebhookReceiver};

const MAIL: &str = r#"
[stores.main]
url = "URL"
[transports.out]
url = "file:outbox"
[mail]
from = "shop@example.com"
[lanes.mail]
contract = "mail_outbox"
[server]
api = "main"
"#;

const EVENTS: &str = r#"
[stores.main]
url = "sqlite:app.db"
[transports.broker]
url = "URL"
[lanes.events]
contract = "outbox"
[server]
api = "main"
"#;

/// A running lane, and a key for the API.
fn open(settings: &str) -> (Sandbox, RunningBinary, String) {
    let sandbox = Sandbox::new(None);
    std::fs::write(sandbox.path("postrider.toml"), settings).expect("settings can be written");
    sandbox.run(&["migrate"]).success();
    let admin =
        sandbox.run(&["key", "create", "first", "--role", "admin"]).success().stdout.trim().to_owned();
    let running = sandbox.start();
    eventually("it is ready", || (running.get("/readyz").0 == 200).then_some(()));
    (sandbox, running, admin)
}

/// Watches the overview while `set(false)` stops something and `set(true)` restores it.
async fn assert_reported(
    (_shop, running, admin): (Sandbox, RunningBinary, String),
    badge: &str,
    words: &str,
    set: impl Fn(bool) + Send + Sync + 'static,
) {
    let control = WebhookReceiver::start(move |order, _| {
        set(order.path != "/stop");
        Reply::status(204)
    })
    .await;
    let base = format!("http://{}", running.address());
    let control = control.url("").trim_end_matches('/').to_owned();
    let input = json!({
        "base": base, "admin": admin, "control": control, "folder": folder(), "badge": badge, "words": words,
    });
    let seen = run_script("outage", &input);
    eprintln!("{badge}: {seen}");
    assert_eq!(seen["wrong"], json!([]), "{}", running.log());
    for what in ["noticed", "unready"] {
        assert!(seen[what].as_u64().expect("a time") < 10_000, "{seen}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_database_and_its_return_are_shown_within_ten_seconds() {
    let server = Server::start(Kind::Postgres);
    let (url, sql) = database::on_server(Kind::Postgres, &server.url(), "console", "").await;
    sql.close().await;
    let setup = open(&MAIL.replace("URL", &url));
    let server = Mutex::new(server);
    assert_reported(setup, "store away", "mail", move |up| {
        let mut server = server.lock().expect("no panic holds it");
        if up { server.restart() } else { server.stop() }
    })
    .await;
}

/// The lane's own probe must find out, as nothing is sent meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_broker_and_its_return_are_shown_within_ten_seconds() {
    let broker = tokio::task::block_in_place(|| Nats::start("").expect("NATS starts"));
    let setup = open(&EVENTS.replace("URL", &broker.url()));
    let broker = Mutex::new(broker);
    assert_reported(setup, "unreachable", "cannot be reached", move |up| {
        let mut broker = broker.lock().expect("no panic holds it");
        tokio::task::block_in_place(|| {
            if up { broker.restart().expect("NATS starts again") } else { broker.kill() }
        });
    })
    .await;
}

/// Holds the lock of a statement from each `false` to the next `true`.
async fn hold_lock(url: String, lock: &'static str, mut commands: UnboundedReceiver<bool>) {
    let mut session = PgConnection::connect(&url).await.expect("the database is there");
    while let Some(up) = commands.recv().await {
        let statement = if up { "COMMIT".to_owned() } else { format!("BEGIN; {lock}") };
        session.execute(AssertSqlSafe(statement)).await.expect("the lock is taken or given back");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_lane_and_its_recovery_are_shown_within_ten_seconds() {
    let sandbox = Sandbox::new(None);
    let (url, sql) = database::fresh(Kind::Postgres, "stalled", &sandbox).await;
    sql.close().await;
    let setup = open(&MAIL.replace("URL", &url));
    let (send, commands) = unbounded_channel();
    tokio::spawn(hold_lock(url, "LOCK TABLE mail_outbox IN ACCESS EXCLUSIVE MODE", commands));
    assert_reported(setup, "stalled", "stalled", move |up| send.send(up).expect("the session lives")).await;
}

/// A row is due, but another transaction locks it forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_locked_by_another_transaction_stall_their_lane() {
    let sandbox = Sandbox::new(None);
    let (url, sql) = database::fresh(Kind::Postgres, "held", &sandbox).await;
    let (sandbox, running, _) = open(&MAIL.replace("URL", &url));
    let running = Arc::new(running);
    let readiness = |code: u16, word: &'static str| {
        let running = Arc::clone(&running);
        wait_until(word, TIMEOUT, move || {
            let (status, body) = tokio::task::block_in_place(|| running.get("/readyz"));
            async move { (status == code && body.contains(word)).then_some(body) }
        })
    };
    // Pause the lane, so that it does not claim the row before it is locked.
    sandbox.run(&["pause", "mail"]).success();
    readiness(200, "paused").await;
    sql.must(
        "INSERT INTO mail_outbox (to_addresses, subject, body_text) VALUES ('a@example.net', 'Held', 'Held')",
    )
    .await;
    let (send, commands) = unbounded_channel();
    tokio::spawn(hold_lock(url, "SELECT 1 FROM mail_outbox FOR UPDATE", commands));
    send.send(false).expect("the session lives");
    wait_until("the row is held", TIMEOUT, || async {
        let free = sql.rows("SELECT id::text FROM mail_outbox FOR UPDATE SKIP LOCKED").await.ok()?;
        free.is_empty().then_some(())
    })
    .await;
    sandbox.run(&["resume", "mail"]).success();
    let seen = readiness(503, "stalled").await;
    assert!(seen.contains("another transaction"), "{seen}");
    send.send(true).expect("the session lives");
    readiness(200, "running").await;
    let sent = || async { (sql.count("mail_outbox WHERE status = 'sent'").await == Some(1)).then_some(()) };
    wait_until("the mail is sent", TIMEOUT, sent).await;
}
