//! The console in a real browser: every page and every action, on a database with rows in every state of all contracts.
//!
//! The scripts in `tests/console` return lists of what was wrong. The results of actions are checked with SQL.

mod outage;
mod seed;
mod site;

use std::path::{Path, PathBuf};

use postrider_services::Browser;
use serde_json::{Value, json};

use self::site::Site;
use crate::rig::hooks::{Receiver, Reply};

/// The folder of the scripts.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/console");

/// The folder of screenshots that are not part of the guide.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("console");
    std::fs::create_dir_all(&folder).expect("cargo's own folder can be written to");
    folder
}

/// Runs a script and returns its result.
fn look(script: &str, input: &Value) -> Value {
    tokio::task::block_in_place(|| {
        let browser = Browser::find().expect("there is a browser");
        let text = |name: &str| {
            std::fs::read_to_string(format!("{SCRIPTS}/{name}.js")).expect("the script is there")
        };
        let said = browser.run(&format!("{}\n{}", text("prelude"), text(script)), &input.to_string());
        let said = said.unwrap_or_else(|error| panic!("{error}"));
        serde_json::from_str(&said).expect("a script returns JSON")
    })
}

async fn fine_receiver() -> Receiver {
    Receiver::start(|_, _| Reply::status(204)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_shows_in_light_and_dark_on_a_desk_and_on_a_phone() {
    let receiver = fine_receiver().await;
    let site = Site::open("console_pages", &receiver).await;
    site.key("viewer", &["viewer"]);
    let docs = std::env::var_os("UPDATE_SCREENSHOTS")
        .map(|_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images"));
    let wrong = look("pages", &site.input(json!({ "docs": docs })));
    assert_eq!(wrong, json!([]), "{}", site.running.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_with_rows_is_done() {
    let receiver = fine_receiver().await;
    let site = Site::open("console_rows", &receiver).await;
    let wrong = look("rows", &site.input(json!({})));
    assert_eq!(wrong, json!([]), "{}", site.running.log());
    let failed = site.one("SELECT count(*)::text FROM mail_outbox WHERE status = 'failed'").await;
    assert_eq!(failed, "0", "every failed mail was requeued");
    assert_eq!(site.job(&site.seeds.cancelled).await, "CANCELLED");
    let held = site.one("SELECT count(*)::text FROM mail_outbox WHERE claimed_by = 'another worker'").await;
    assert_eq!(held, "1", "one of two claims was given up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_with_jobs_accounts_pools_subscriptions_events_and_keys_is_done() {
    let receiver = fine_receiver().await;
    let site = Site::open("console_hub", &receiver).await;
    let wrong = look("hub", &site.input(json!({ "receiver": receiver.url("stock") })));
    assert_eq!(wrong, json!([]), "{}", site.running.log());
    assert_eq!(site.job(&site.seeds.pending).await, "CANCELLED");
    assert_eq!(site.job(&site.seeds.dead).await, "COMPLETED", "an operator vouched for it");
    let pool = site.one("SELECT rate_per_minute::text FROM dispatch_pools WHERE code = 'gentle'").await;
    assert_eq!(pool, "600");
    let headers = site.one("SELECT headers FROM dispatch_subscriptions WHERE code = 'stock'").await;
    assert!(headers.contains("X-Shop"), "{headers}");
    let account = site.one("SELECT name FROM service_accounts WHERE code = 'billing'").await;
    assert_eq!(account, "Billing & co.");
    let log = site.one("SELECT count(DISTINCT action || entity)::text FROM postrider_audit").await;
    assert!(log.parse::<u32>().expect("a count") >= 12, "the audit log has {log} kinds of changes");
}

/// Inserts rows with texts of the maximum length, and one in an unknown state.
async fn odd_things(site: &Site) -> Value {
    let words = "'http://127.0.0.1:1/' || repeat('long/', 200)";
    site.must(&format!(
        "INSERT INTO dispatch_jobs (id, code, target_url, status, attempt_count, last_error) \
         VALUES ('0HZXEQ5Y8JE00', 'shop:orders:order:paid', {words}, 'ERROR', 3, repeat('busy', 900))"
    ))
    .await;
    site.must("UPDATE dispatch_pools SET code = repeat('p', 120), name = repeat('n', 250)").await;
    site.must("UPDATE dispatch_subscriptions SET code = repeat('s', 120), name = repeat('n', 250) WHERE code = 'crm'").await;
    site.must(
        "UPDATE dispatch_events SET code = 'a:b:c:' || repeat('d', 200), subject = repeat('<b>🎉', 50)",
    )
    .await;
    site.must(
        "INSERT INTO mail_outbox (to_addresses, subject, body_text, status, last_error) \
         VALUES (repeat('a', 300) || '@example.net', repeat('Subject', 100), 'text', 'on_fire', repeat('E', 4000))",
    )
    .await;
    let strange = site.one("SELECT id::text FROM mail_outbox WHERE status = 'on_fire'").await;
    json!({ "strange": strange, "endless": "0HZXEQ5Y8JE00" })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_odd_is_shown_as_well() {
    let receiver = fine_receiver().await;
    let site = Site::open("console_odd", &receiver).await;
    let odd = odd_things(&site).await;
    let wrong = look("odd", &site.input(odd));
    assert_eq!(wrong, json!([]), "{}", site.running.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_is_offered_what_it_may_do_and_refused_the_rest() {
    let receiver = fine_receiver().await;
    let site = Site::open("console_roles", &receiver).await;
    let viewer = site.key("viewer", &["viewer"]);
    let viewer_id = site.one("SELECT id FROM postrider_api_keys WHERE name = 'viewer'").await;
    let client = site.key("acme", &["viewer", "--client", "acme"]);
    let producer = site.key("producer", &["producer"]);
    let keys = json!({ "viewer": viewer, "viewerId": viewer_id, "client": client, "producer": producer });
    let wrong = look("roles", &site.input(keys));
    assert_eq!(wrong, json!([]), "{}", site.running.log());
    let paused = site.one("SELECT count(*)::text FROM postrider_audit WHERE entity = 'lane'").await;
    assert_eq!(paused, "1", "only the admin's pause, with its token, is on record");
}
