use std::time::Duration;

use rustix::process::Signal;
use sqlx::Executor;

use crate::rig::wait::{PATIENCE, until};
use crate::shop::{SQLITE, Shop, count, eventually, eventually_count};

#[tokio::test]
async fn rows_become_mails_and_sigterm_drains() {
    let shop = Shop::ready();
    let pool = shop.sql().await;
    for number in 0..30 {
        shop.insert(&pool, &format!("c{number}@example.com")).await;
    }
    let bad = shop.insert(&pool, "no address").await;
    let mut running = shop.start();
    eventually_count(&pool, "sent", 30).await;
    eventually_count(&pool, "failed", 1).await;
    assert_eq!(shop.mails(), 30);
    let (reason,): (String,) = sqlx::query_as("SELECT last_error FROM mail_outbox WHERE id = ?")
        .bind(bad)
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(reason.contains("no address"), "m09: the reason names what is wrong: {reason}");

    let (code, body) = running.get("/readyz");
    assert_eq!(code, 200, "{body}");
    assert_eq!(running.get("/healthz").0, 200);
    let (_, figures) = running.get("/metrics");
    assert!(figures.contains("postrider_rows_claimed_total{lane=\"mail\"} 31"), "{figures}");
    let reference = include_str!("../../../../docs/reference/metrics.md");
    for name in figures.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
        assert!(reference.contains(&format!("| `{name}` |")), "{name} is not in docs/reference/metrics.md");
    }

    running.signal(Signal::TERM);
    assert_eq!(running.ended(Duration::from_secs(10)), Some(0), "{}", running.log());
    assert!(running.log().contains("drained"), "{}", running.log());
    assert_eq!(count(&pool, "dispatching").await, 0);
}

/// Starts a lane whose relay accepts connections and never replies.
async fn held_by_a_silent_relay(drain: &str) -> (Shop, crate::shop::Running, std::net::TcpListener) {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = format!("smtp://{}", silent.local_addr().unwrap());
    let shop =
        Shop::new(Some(&format!("{}[server]\ndrain = \"{drain}\"\n", SQLITE.replace("file:outbox", &relay))));
    shop.run(&["migrate"]).fine();
    let pool = shop.sql().await;
    shop.insert(&pool, "a@example.com").await;
    let running = shop.start();
    // A row that is only claimed is handed back at the signal; one that is recorded as begun is sent.
    until("the row is being sent", PATIENCE, || async {
        let lists = sqlx::query("SELECT 1 FROM postrider_begun").fetch_all(&pool).await.unwrap();
        (!lists.is_empty()).then_some(())
    })
    .await;
    (shop, running, silent)
}

#[tokio::test]
async fn a_drain_ends_at_its_limit_and_says_what_is_left() {
    let (_shop, mut running, _silent) = held_by_a_silent_relay("500ms").await;
    running.signal(Signal::TERM);
    assert_eq!(running.ended(Duration::from_secs(10)), Some(1), "{}", running.log());
    assert!(running.log().contains("left=1"), "{}", running.log());
    assert!(!running.log().contains("drained"), "it was not: {}", running.log());
}

#[tokio::test]
async fn a_second_signal_stops_at_once() {
    let (_shop, mut running, _silent) = held_by_a_silent_relay("10m").await;
    running.signal(Signal::TERM);
    eventually("it drains", || running.log().contains("draining").then_some(()));
    running.signal(Signal::TERM);
    assert_eq!(running.ended(Duration::from_secs(5)), Some(1), "{}", running.log());
    assert!(running.log().contains("stopped at once"), "{}", running.log());
}

#[tokio::test]
async fn g2_what_a_killed_worker_held_is_delivered_by_the_next() {
    let shop = Shop::new(Some(&format!("{SQLITE}[lanes.mail.lease]\nfor = \"1s\"\n")));
    shop.run(&["migrate"]).fine();
    let pool = shop.sql().await;
    let id = shop.insert(&pool, "a@example.com").await;
    // The row as a worker leaves it that died just after its claim.
    sqlx::query(
        "UPDATE mail_outbox SET status = 'dispatching', claimed_by = 'gone', \
         last_attempt_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 hour'), \
         lease_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 hour') WHERE id = ?",
    )
    .bind(id)
    .execute(&pool)
    .await
    .unwrap();
    let _running = shop.start();
    eventually_count(&pool, "sent", 1).await;
    let (spent,): (i64,) =
        sqlx::query_as("SELECT retry_count FROM mail_outbox").fetch_one(&pool).await.unwrap();
    assert_eq!(spent, 0, "m07: a claim whose delivery never began costs nothing");
}

#[tokio::test]
async fn killed_in_the_middle_and_started_again_nothing_is_lost() {
    let shop = Shop::new(Some(&format!(
        "{SQLITE}batch = 20\n[lanes.mail.lease]\nfor = \"1s\"\n[lanes.mail.attempts]\nmax = 20\n"
    )));
    shop.run(&["migrate"]).fine();
    let pool = shop.sql().await;
    for number in 0..400 {
        shop.insert(&pool, &format!("c{number}@example.com")).await;
    }
    for _ in 0..3 {
        let before = count(&pool, "sent").await;
        let mut running = shop.start();
        while count(&pool, "sent").await < (before + 20).min(400) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        running.child.kill().unwrap();
        running.child.wait().unwrap();
    }
    let _running = shop.start();
    eventually_count(&pool, "sent", 400).await;
    assert_eq!(shop.mails(), 400, "a mail that is delivered again replaces its own file");
}

#[tokio::test]
async fn a_paused_lane_claims_nothing_until_it_is_resumed() {
    let shop = Shop::ready();
    let pool = shop.sql().await;
    shop.run(&["pause", "mail"]).fine();
    let running = shop.start();
    eventually("the lane says that it is paused", || {
        running.get("/readyz").1.contains("\"paused\"").then_some(())
    });
    shop.insert(&pool, "a@example.com").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(count(&pool, "queued").await, 1);
    assert_eq!(running.get("/readyz").0, 200, "a paused lane is as it should be");
    shop.run(&["resume", "mail"]).fine();
    eventually_count(&pool, "sent", 1).await;
}

#[tokio::test]
async fn a_missing_table_is_an_error_at_the_start_with_exit_code_1() {
    let shop = Shop::new(Some(SQLITE));
    shop.sql_creating().await.execute("CREATE TABLE orders (id INTEGER)").await.unwrap();
    let said = shop.run(&["run", "--listen", "127.0.0.1:0"]).code(1);
    assert!(said.err.contains("mail_outbox") && said.err.contains("postrider migrate"), "{}", said.err);
    let tables: Vec<(String,)> =
        sqlx::query_as("SELECT name FROM sqlite_master").fetch_all(&shop.sql().await).await.unwrap();
    assert_eq!(tables, [("orders".to_owned(),)], "nothing was changed");
}

#[test]
fn a_database_that_is_away_is_waited_for_and_readyz_says_so() {
    let shop = Shop::new(Some(&SQLITE.replace("sqlite:app.db", "postgres://app:hunter2@127.0.0.1:1/app")));
    let mut running = shop.start();
    let body = eventually("the lane says that its store is away", || {
        let (code, body) = running.get("/readyz");
        (code == 503 && body.contains("store_away")).then_some(body)
    });
    assert!(!body.contains("hunter2") && !running.log().contains("hunter2"), "{body}\n{}", running.log());
    assert_eq!(running.get("/healthz").0, 200);
    running.signal(Signal::INT);
    assert_eq!(running.ended(Duration::from_secs(10)), Some(0), "{}", running.log());
}

#[test]
fn a_taken_port_is_an_error_that_says_what_to_do() {
    let shop = Shop::ready();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = shop.run(&["run", "--listen", &address]).code(1);
    assert!(said.err.contains("--listen"), "{}", said.err);
    let said = shop.run(&["run", "--listen", "everywhere"]).code(2);
    assert!(said.err.contains("127.0.0.1:8080"), "{}", said.err);
}

#[tokio::test]
async fn without_settings_it_runs_on_a_file_of_its_own() {
    let shop = Shop::new(None);
    let mut running = shop.start();
    eventually("the lane runs", || (running.get("/readyz").0 == 200).then_some(()));
    let sent =
        shop.run(&["send", "mail", "--to", "a@example.com", "--subject", "Hi", "--text", "There"]).fine();
    eventually("the mail is in the folder", || (shop.mails() == 1).then_some(()));
    let shown = shop.run(&["show", "mail_outbox", sent.out.trim(), "--json"]).fine();
    assert_eq!(shown.json()[0]["columns"]["subject"], "Hi");
    running.signal(Signal::TERM);
    assert_eq!(running.ended(Duration::from_secs(10)), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn an_idle_run_is_small() {
    let shop = Shop::ready();
    let running = shop.start();
    eventually("the lane runs", || (running.get("/readyz").0 == 200).then_some(()));
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.child.id())).unwrap();
    // Count private memory only: file pages are shared, and a debug build has many. `cargo xtask bench
    // memory` measures all.
    let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 16 * 1024, "{line}");
}
