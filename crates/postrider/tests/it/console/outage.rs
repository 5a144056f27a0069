//! The database, the broker or a lane stops while the console is open: overview and readiness show it within ten
//! seconds, and recover automatically.

use std::sync::{Arc, Mutex};

use postrider_services::Nats;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{folder, look};
use crate::rig::database::{self, Kind, Server};
use crate::rig::hooks::{Receiver, Reply};
use crate::rig::wait::{PATIENCE, until};
use crate::shop::{Running, Shop, eventually};

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
fn open(settings: &str) -> (Shop, Running, String) {
    let shop = Shop::new(None);
    std::fs::write(shop.path("postrider.toml"), settings).expect("settings can be written");
    shop.run(&["migrate"]).fine();
    let admin = shop.run(&["key", "create", "first", "--role", "admin"]).fine().out.trim().to_owned();
    let running = shop.start();
    eventually("it is ready", || (running.get("/readyz").0 == 200).then_some(()));
    (shop, running, admin)
}

/// Watches the overview while `set(false)` stops something and `set(true)` restores it.
async fn is_told(
    (_shop, running, admin): (Shop, Running, String),
    badge: &str,
    words: &str,
    set: impl Fn(bool) + Send + Sync + 'static,
) {
    let control = Receiver::start(move |order, _| {
        set(order.path != "/stop");
        Reply::status(204)
    })
    .await;
    let base = format!("http://{}", running.address());
    let control = control.url("").trim_end_matches('/').to_owned();
    let input = json!({
        "base": base, "admin": admin, "control": control, "folder": folder(), "badge": badge, "words": words,
    });
    let told = look("outage", &input);
    eprintln!("{badge}: {told}");
    assert_eq!(told["wrong"], json!([]), "{}", running.log());
    for what in ["noticed", "unready"] {
        assert!(told[what].as_u64().expect("a time") < 10_000, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_database_is_told_within_ten_seconds_and_so_is_its_return() {
    let server = Server::start(Kind::Postgres);
    let (url, sql) = database::on_server(Kind::Postgres, &server.url(), "console", "").await;
    sql.close().await;
    let site = open(&MAIL.replace("URL", &url));
    let server = Mutex::new(server);
    is_told(site, "store away", "mail", move |up| {
        let mut server = server.lock().expect("no panic holds it");
        if up { server.start_again() } else { server.stop() }
    })
    .await;
}

/// The lane's own probe must find out, as nothing is sent meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_broker_is_told_within_ten_seconds_and_so_is_its_return() {
    let broker = tokio::task::block_in_place(|| Nats::start("").expect("NATS starts"));
    let site = open(&EVENTS.replace("URL", &broker.url()));
    let broker = Mutex::new(broker);
    is_told(site, "unreachable", "cannot be reached", move |up| {
        let mut broker = broker.lock().expect("no panic holds it");
        tokio::task::block_in_place(|| {
            if up { broker.start_again().expect("NATS starts again") } else { broker.kill() }
        });
    })
    .await;
}

/// Holds the lock of a statement from each `false` to the next `true`.
async fn hold(url: String, lock: &'static str, mut orders: UnboundedReceiver<bool>) {
    let mut session = PgConnection::connect(&url).await.expect("the database is there");
    while let Some(up) = orders.recv().await {
        let statement = if up { "COMMIT".to_owned() } else { format!("BEGIN; {lock}") };
        session.execute(AssertSqlSafe(statement)).await.expect("the lock is taken or given back");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_lane_is_told_within_ten_seconds_and_so_is_its_return() {
    let shop = Shop::new(None);
    let (url, sql) = database::fresh(Kind::Postgres, "stalled", &shop).await;
    sql.close().await;
    let site = open(&MAIL.replace("URL", &url));
    let (send, orders) = unbounded_channel();
    tokio::spawn(hold(url, "LOCK TABLE mail_outbox IN ACCESS EXCLUSIVE MODE", orders));
    is_told(site, "stalled", "stalled", move |up| send.send(up).expect("the session lives")).await;
}

/// A row is due, but another transaction locks it forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_another_transaction_holds_stall_their_lane() {
    let shop = Shop::new(None);
    let (url, sql) = database::fresh(Kind::Postgres, "held", &shop).await;
    let (shop, running, _) = open(&MAIL.replace("URL", &url));
    let running = Arc::new(running);
    let readiness = |code: u16, word: &'static str| {
        let running = Arc::clone(&running);
        until(word, PATIENCE, move || {
            let (said, body) = tokio::task::block_in_place(|| running.get("/readyz"));
            async move { (said == code && body.contains(word)).then_some(body) }
        })
    };
    // Pause the lane, so that it does not claim the row before it is locked.
    shop.run(&["pause", "mail"]).fine();
    readiness(200, "paused").await;
    sql.must(
        "INSERT INTO mail_outbox (to_addresses, subject, body_text) VALUES ('a@example.net', 'Held', 'Held')",
    )
    .await;
    let (send, orders) = unbounded_channel();
    tokio::spawn(hold(url, "SELECT 1 FROM mail_outbox FOR UPDATE", orders));
    send.send(false).expect("the session lives");
    until("the row is held", PATIENCE, || async {
        let free = sql.rows("SELECT id::text FROM mail_outbox FOR UPDATE SKIP LOCKED").await.ok()?;
        free.is_empty().then_some(())
    })
    .await;
    shop.run(&["resume", "mail"]).fine();
    let told = readiness(503, "stalled").await;
    assert!(told.contains("another transaction"), "{told}");
    send.send(true).expect("the session lives");
    readiness(200, "running").await;
    let sent = || async { (sql.count("mail_outbox WHERE status = 'sent'").await == Some(1)).then_some(()) };
    until("the mail is sent", PATIENCE, sent).await;
}
