//! `postrider run`: delivery, drain, signals, restart after a kill, pause, and errors at the start.

use std::time::Duration;

use rustix::process::Signal;
use sqlx::Executor;

use crate::sandbox::{SQLITE, Sandbox, count, eventually, eventually_count};
use crate::support::wait::{TIMEOUT, wait_until};

#[tokio::test]
async fn rows_become_mails_and_sigterm_drains() {
    let sandbox = Sandbox::ready();
    let pool = sandbox.sql().await;
    for number in 0..30 {
        sandbox.insert(&pool, &format!("c{number}@example.com")).await;
    }
    let bad = sandbox.insert(&pool, "no address").await;
    let mut running = sandbox.start();
    eventually_count(&pool, "sent", 30).await;
    eventually_count(&pool, "failed", 1).await;
    assert_eq!(sandbox.mails(), 30);
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
async fn held_by_a_silent_relay(
    drain: &str,
) -> (Sandbox, crate::sandbox::RunningBinary, std::net::TcpListener) {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = format!("smtp://{}", silent.local_addr().unwrap());
    let sandbox = Sandbox::new(Some(&format!(
        "{}[server]\ndrain = \"{drain}\"\n",
        SQLITE.replace("file:outbox", &relay)
    )));
    sandbox.run(&["migrate"]).success();
    let pool = sandbox.sql().await;
    sandbox.insert(&pool, "a@example.com").await;
    let running = sandbox.start();
    // A row that is only claimed is handed back at the signal; one that is recorded as begun is sent.
    wait_until("the row is being sent", TIMEOUT, || async {
        let lists = sqlx::query("SELECT 1 FROM postrider_begun").fetch_all(&pool).await.unwrap();
        (!lists.is_empty()).then_some(())
    })
    .await;
    (sandbox, running, silent)
}

#[tokio::test]
async fn a_drain_ends_at_its_limit_and_reports_the_remaining_rows() {
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
async fn g02_rows_of_a_killed_worker_are_delivered_by_the_next() {
    let sandbox = Sandbox::new(Some(&format!("{SQLITE}[lanes.mail.lease]\nfor = \"1s\"\n")));
    sandbox.run(&["migrate"]).success();
    let pool = sandbox.sql().await;
    let id = sandbox.insert(&pool, "a@example.com").await;
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
    let _running = sandbox.start();
    eventually_count(&pool, "sent", 1).await;
    let (spent,): (i64,) =
        sqlx::query_as("SELECT retry_count FROM mail_outbox").fetch_one(&pool).await.unwrap();
    assert_eq!(spent, 0, "m07: a claim whose delivery never began costs nothing");
}

#[tokio::test]
async fn nothing_is_lost_when_a_worker_is_killed_and_restarted() {
    let sandbox = Sandbox::new(Some(&format!(
        "{SQLITE}batch = 20\n[lanes.mail.lease]\nfor = \"1s\"\n[lanes.mail.attempts]\nmax = 20\n"
    )));
    sandbox.run(&["migrate"]).success();
    let pool = sandbox.sql().await;
    for number in 0..400 {
        sandbox.insert(&pool, &format!("c{number}@example.com")).await;
    }
    for _ in 0..3 {
        let before = count(&pool, "sent").await;
        let mut running = sandbox.start();
        while count(&pool, "sent").await < (before + 20).min(400) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        running.child.kill().unwrap();
        running.child.wait().unwrap();
    }
    let _running = sandbox.start();
    eventually_count(&pool, "sent", 400).await;
    assert_eq!(sandbox.mails(), 400, "a mail that is delivered again replaces its own file");
}

#[tokio::test]
async fn a_paused_lane_claims_nothing_until_it_is_resumed() {
    let sandbox = Sandbox::ready();
    let pool = sandbox.sql().await;
    sandbox.run(&["pause", "mail"]).success();
    let running = sandbox.start();
    eventually("the lane says that it is paused", || {
        running.get("/readyz").1.contains("\"paused\"").then_some(())
    });
    sandbox.insert(&pool, "a@example.com").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(count(&pool, "queued").await, 1);
    assert_eq!(running.get("/readyz").0, 200, "a paused lane is as it should be");
    sandbox.run(&["resume", "mail"]).success();
    eventually_count(&pool, "sent", 1).await;
}

#[tokio::test]
async fn a_missing_table_is_an_error_at_the_start_with_exit_code_1() {
    let sandbox = Sandbox::new(Some(SQLITE));
    sandbox.sql_creating().await.execute("CREATE TABLE orders (id INTEGER)").await.unwrap();
    let output = sandbox.run(&["run", "--listen", "127.0.0.1:0"]).code(1);
    assert!(
        output.stderr.contains("mail_outbox") && output.stderr.contains("postrider migrate"),
        "{}",
        output.stderr
    );
    let tables: Vec<(String,)> =
        sqlx::query_as("SELECT name FROM sqlite_master").fetch_all(&sandbox.sql().await).await.unwrap();
    assert_eq!(tables, [("orders".to_owned(),)], "nothing was changed");
}

#[test]
fn run_waits_for_an_unavailable_database_and_readyz_reports_it() {
    let sandbox =
        Sandbox::new(Some(&SQLITE.replace("sqlite:app.db", "postgres://app:hunter2@127.0.0.1:1/app")));
    let mut running = sandbox.start();
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
fn a_port_in_use_is_an_error_with_its_remedy() {
    let sandbox = Sandbox::ready();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = sandbox.run(&["run", "--listen", &address]).code(1);
    assert!(output.stderr.contains("--listen"), "{}", output.stderr);
    let output = sandbox.run(&["run", "--listen", "everywhere"]).code(2);
    assert!(output.stderr.contains("127.0.0.1:8080"), "{}", output.stderr);
}

#[tokio::test]
async fn without_settings_it_runs_on_a_new_sqlite_file() {
    let sandbox = Sandbox::new(None);
    let mut running = sandbox.start();
    eventually("the lane runs", || (running.get("/readyz").0 == 200).then_some(()));
    let sent = sandbox
        .run(&["send", "mail", "--to", "a@example.com", "--subject", "Hi", "--text", "There"])
        .success();
    eventually("the mail is in the folder", || (sandbox.mails() == 1).then_some(()));
    let shown = sandbox.run(&["show", "mail_outbox", sent.stdout.trim(), "--json"]).success();
    assert_eq!(shown.json()[0]["columns"]["subject"], "Hi");
    running.signal(Signal::TERM);
    assert_eq!(running.ended(Duration::from_secs(10)), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn an_idle_run_uses_little_memory() {
    let sandbox = Sandbox::ready();
    let running = sandbox.start();
    eventually("the lane runs", || (running.get("/readyz").0 == 200).then_some(()));
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.child.id())).unwrap();
    // Count private memory only: file pages are shared, and a debug build has many. `cargo xtask bench
    // memory` measures all.
    let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 16 * 1024, "{line}");
}
