//! The console in a real browser: every page and every action, on a database with rows in every state of all contracts.
//!
//! The scripts in `tests/console` return lists of what was wrong. The results of actions are checked with SQL.

mod fixtures;
mod outage;
mod setup;

use std::path::{Path, PathBuf};

use postrider_services::Browser;
use serde_json::{Value, json};

use self::setup::ConsoleSetup;
use crate::support::webhook_receiver::{Reply, WebhookReceiver};

/// The folder of the scripts.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/console");

/// The folder of screenshots that are not part of the guide.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("console");
    std::fs::create_dir_all(&folder).expect("cargo's own folder can be written to");
    folder
}

/// Runs a script and returns its result.
fn run_script(script: &str, input: &Value) -> Value {
    tokio::task::block_in_place(|| {
        let browser = Browser::find().expect("there is a browser");
        let text = |name: &str| {
            std::fs::read_to_string(format!("{SCRIPTS}/{name}.js")).expect("the script is there")
        };
        let output = browser.run(&format!("{}\n{}", text("prelude"), text(script)), &input.to_string());
        let output = output.unwrap_or_else(|error| panic!("{error}"));
        serde_json::from_str(&output).expect("a script returns JSON")
    })
}

async fn accepting_receiver() -> WebhookReceiver {
    WebhookReceiver::start(|_, _| Reply::status(204)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_shows_in_light_and_dark_on_desktop_and_phone() {
    let receiver = accepting_receiver().await;
    let setup = ConsoleSetup::open("console_pages", &receiver).await;
    setup.key("viewer", &["viewer"]);
    let docs = std::env::var_os("UPDATE_SCREENSHOTS")
        .map(|_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images"));
    let wrong = run_script("pages", &setup.input(json!({ "docs": docs })));
    assert_eq!(wrong, json!([]), "{}", setup.running.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actions_on_rows_take_effect() {
    let receiver = accepting_receiver().await;
    let setup = ConsoleSetup::open("console_rows", &receiver).await;
    let wrong = run_script("rows", &setup.input(json!({})));
    assert_eq!(wrong, json!([]), "{}", setup.running.log());
    let failed = setup.query_one("SELECT count(*)::text FROM mail_outbox WHERE status = 'failed'").await;
    assert_eq!(failed, "0", "every failed mail was requeued");
    assert_eq!(setup.job(&setup.fixtures.cancelled).await, "CANCELLED");
    let held =
        setup.query_one("SELECT count(*)::text FROM mail_outbox WHERE claimed_by = 'another worker'").await;
    assert_eq!(held, "1", "one of two claims was given up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actions_on_jobs_accounts_pools_subscriptions_events_and_keys_take_effect() {
    let receiver = accepting_receiver().await;
    let setup = ConsoleSetup::open("console_hub", &receiver).await;
    let wrong = run_script("hub", &setup.input(json!({ "receiver": receiver.url("stock") })));
    assert_eq!(wrong, json!([]), "{}", setup.running.log());
    assert_eq!(setup.job(&setup.fixtures.pending).await, "CANCELLED");
    assert_eq!(setup.job(&setup.fixtures.dead).await, "COMPLETED", "an operator vouched for it");
    let pool =
        setup.query_one("SELECT rate_per_minute::text FROM dispatch_pools WHERE code = 'gentle'").await;
    assert_eq!(pool, "600");
    let headers = setup.query_one("SELECT headers FROM dispatch_subscriptions WHERE code = 'stock'").await;
    assert!(headers.contains("X-Shop"), "{headers}");
    let account = setup.query_one("SELECT name FROM service_accounts WHERE code = 'billing'").await;
    assert_eq!(account, "Billing & co.");
    let log = setup.query_one("SELECT count(DISTINCT action || entity)::text FROM postrider_audit").await;
    assert!(log.parse::<u32>().expect("a count") >= 12, "the audit log has {log} kinds of changes");
}

/// Inserts rows with texts of the maximum length, and one in an unknown state.
async fn unusual_rows(setup: &ConsoleSetup) -> Value {
    let words = "'http://127.0.0.1:1/' || repeat('long/', 200)";
    setup
        .execute(&format!(
            "INSERT INTO dispatch_jobs (id, code, target_url, status, attempt_count, last_error) \
         VALUES ('0HZXEQ5Y8JE00', 'shop:orders:order:paid', {words}, 'ERROR', 3, repeat('busy', 900))"
        ))
        .await;
    setup.execute("UPDATE dispatch_pools SET code = repeat('p', 120), name = repeat('n', 250)").await;
    setup.execute("UPDATE dispatch_subscriptions SET code = repeat('s', 120), name = repeat('n', 250) WHERE code = 'crm'").await;
    setup
        .execute(
            "UPDATE dispatch_events SET code = 'a:b:c:' || repeat('d', 200), subject = repeat('<b>🎉', 50)",
        )
        .await;
    setup.execute(
        "INSERT INTO mail_outbox (to_addresses, subject, body_text, status, last_error) \
         VALUES (repeat('a', 300) || '@example.net', repeat('Subject', 100), 'text', 'on_fire', repeat('E', 4000))",
    )
    .await;
    let strange = setup.query_one("SELECT id::text FROM mail_outbox WHERE status = 'on_fire'").await;
    json!({ "strange": strange, "endless": "0HZXEQ5Y8JE00" })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unusual_rows_and_values_are_shown() {
    let receiver = accepting_receiver().await;
    let setup = ConsoleSetup::open("console_odd", &receiver).await;
    let odd = unusual_rows(&setup).await;
    let wrong = run_script("unusual", &setup.input(odd));
    assert_eq!(wrong, json!([]), "{}", setup.running.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_sees_only_its_actions_and_is_refused_the_others() {
    let receiver = accepting_receiver().await;
    let setup = ConsoleSetup::open("console_roles", &receiver).await;
    let viewer = setup.key("viewer", &["viewer"]);
    let viewer_id = setup.query_one("SELECT id FROM postrider_api_keys WHERE name = 'viewer'").await;
    let client = setup.key("acme", &["viewer", "--client", "acme"]);
    let producer = setup.key("producer", &["producer"]);
    let keys = json!({ "viewer": viewer, "viewerId": viewer_id, "client": client, "producer": producer });
    let wrong = run_script("roles", &setup.input(keys));
    assert_eq!(wrong, json!([]), "{}", setup.running.log());
    let paused = setup.query_one("SELECT count(*)::text FROM postrider_audit WHERE entity = 'lane'").await;
    assert_eq!(paused, "1", "only the admin's pause, with its token, is on record");
}
