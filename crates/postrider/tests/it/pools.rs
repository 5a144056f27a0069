//! Pools with the real binary: two processes on one database share a limit, and a flood of one client delays no other.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::database::{Kind, fresh};
use crate::support::installation::Installation;
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};

/// A slow receiver that counts its concurrent requests.
#[derive(Default)]
struct SlowReceiver {
    in_progress: AtomicUsize,
    highest: AtomicUsize,
    served: AtomicUsize,
    /// The ids of the requests, in the order of their arrival.
    ids: Mutex<Vec<String>>,
}

impl SlowReceiver {
    fn start(pause: Duration) -> (String, Arc<Self>) {
        // Any address of 127.0.0.0/8 reaches this listener, each as a separate host.
        let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
        let url = format!("http://127.0.0.1:{}/", listener.local_addr().expect("an address").port());
        let slow = Arc::new(Self::default());
        let shared = Arc::clone(&slow);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let slow = Arc::clone(&shared);
                std::thread::spawn(move || slow.serve(stream, pause));
            }
        });
        (url, slow)
    }

    #[expect(clippy::disallowed_methods, reason = "a receiver in a thread of its own takes its time")]
    fn serve(&self, mut stream: TcpStream, pause: Duration) {
        let mut text = String::new();
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            text.push_str(&String::from_utf8_lossy(&buffer[..read]));
            if !text.ends_with("{}") {
                continue;
            }
            let id = text.split("webhook-id: ").nth(1).and_then(|rest| rest.split("\r\n").next());
            self.ids.lock().expect("no panic holds it").extend(id.map(str::to_owned));
            text.clear();
            let now = self.in_progress.fetch_add(1, SeqCst) + 1;
            self.highest.fetch_max(now, SeqCst);
            std::thread::sleep(pause);
            self.in_progress.fetch_sub(1, SeqCst);
            self.served.fetch_add(1, SeqCst);
            if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_err() {
                return;
            }
        }
    }
}

async fn installation(kind: Kind, name: &str) -> (Installation, Sql) {
    installation_with(kind, name, "").await
}

async fn installation_with(kind: Kind, name: &str, options: &str) -> (Installation, Sql) {
    let installation = Installation::new();
    let (url, sql) = fresh(kind, name, &installation.sandbox).await;
    installation.write_settings(&format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[stores.main]\nurl = \"{url}\"\n\
         [transports.hooks]\nurl = \"webhook://?allow=127.0.0.0/8&plain_http=allowed{options}\"\n\
         [lanes.jobs]\ncontract = \"dispatch_jobs\"\npoll = \"200ms\"\n"
    ));
    installation.sandbox.run(&["migrate"]).success();
    (installation, sql)
}

async fn insert_jobs(sql: &Sql, from: usize, count: usize, url: &str, client: &str, pool: Option<&str>) {
    let pool = pool.map_or_else(|| "NULL".to_owned(), |pool| format!("'{pool}'"));
    for chunk in (from..from + count).collect::<Vec<_>>().chunks(500) {
        let rows: Vec<String> = chunk
            .iter()
            .map(|n| format!("('{n:013}', 'a:b:c:d', '{url}', '{{}}', '{client}', {pool})"))
            .collect();
        let columns =
            format!("(id, {}, target_url, payload, client_id, dispatch_pool_id)", sql.quoted("code"));
        sql.must(&format!("INSERT INTO dispatch_jobs {columns} VALUES {}", rows.join(", "))).await;
    }
}

async fn completed(sql: &Sql, condition: &str, wanted: usize) {
    wait_until(&format!("{wanted} jobs are done ({condition})"), TIMEOUT, || async {
        let done = sql.count(&format!("dispatch_jobs WHERE {condition} AND status = 'COMPLETED'")).await;
        (done == Some(wanted as u64)).then_some(())
    })
    .await;
}

async fn two_processes_share_one_limit(kind: Kind) {
    let (mut installation, sql) = installation(kind, "pools").await;
    sql.must(&format!(
        "INSERT INTO dispatch_pools (id, {}, name, concurrency, paused) VALUES ('0000000000PP1', 'p', 'P', 3, false)",
        sql.quoted("code")
    ))
    .await;
    let (narrow, seen) = SlowReceiver::start(Duration::from_millis(40));
    let (free, others) = SlowReceiver::start(Duration::from_millis(1));
    insert_jobs(&sql, 1, 90, &narrow, "a", Some("0000000000PP1")).await;
    insert_jobs(&sql, 1000, 60, &free, "a", None).await;
    let workers = [installation.start_worker(), installation.start_worker()];
    completed(&sql, "dispatch_pool_id IS NULL", 60).await;
    assert_eq!(others.served.load(SeqCst), 60);
    let in_flight = "dispatch_jobs WHERE dispatch_pool_id = '0000000000PP1' AND status = 'IN_PROGRESS'";
    let done = "dispatch_jobs WHERE dispatch_pool_id = '0000000000PP1' AND status = 'COMPLETED'";
    let began = Instant::now();
    while sql.count(done).await != Some(90) {
        let flying = sql.count(in_flight).await.unwrap_or(0);
        assert!(flying <= 3, "{flying} in flight");
        assert!(began.elapsed() < TIMEOUT, "{:?} done\n{}", sql.count(done).await, installation.logs());
    }
    assert!(seen.highest.load(SeqCst) <= 3, "{} at once, with a limit of 3", seen.highest.load(SeqCst));
    let spent = sql.count("dispatch_jobs WHERE attempt_count <> 1").await;
    assert_eq!(spent, Some(0), "who waits for a pool spends nothing");
    for worker in workers {
        installation.stop(worker).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn j09_two_processes_share_one_limit_on_postgres() {
    two_processes_share_one_limit(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn j09_two_processes_share_one_limit_on_mariadb() {
    two_processes_share_one_limit(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn j09_two_processes_share_one_limit_on_sqlite() {
    two_processes_share_one_limit(Kind::Sqlite).await;
}

/// A lane without a pools table has no limits; a table that is created while it runs takes effect within seconds.
async fn a_pool_table_may_be_created_later(kind: Kind) {
    let (mut installation, sql) = installation(kind, "pools").await;
    for table in ["dispatch_pools", "postrider_pools"] {
        sql.must(&format!("DROP TABLE {table}")).await;
    }
    let (url, seen) = SlowReceiver::start(Duration::from_millis(100));
    insert_jobs(&sql, 1, 5, &url, "a", Some("0000000000PP1")).await;
    let worker = installation.start_worker();
    completed(&sql, "dispatch_pool_id IS NOT NULL", 5).await;
    installation.sandbox.run(&["migrate"]).success();
    let pool = format!(
        "INSERT INTO dispatch_pools (id, {}, name, paused) VALUES ('0000000000PP1', 'p', 'P', true)",
        sql.quoted("code")
    );
    sql.must(&pool).await;
    // Only jobs make the lane read their pool; those before the limit takes effect are delivered without it.
    let mut next = 100;
    wait_until("the lane has seen the pool", TIMEOUT, || {
        next += 1;
        let (sql, url, id) = (sql.clone(), url.clone(), next);
        async move {
            insert_jobs(&sql, id, 1, &url, "a", Some("0000000000PP1")).await;
            (sql.count("postrider_pools WHERE pool = '0000000000PP1'").await == Some(1)).then_some(())
        }
    })
    .await;
    wait_until("what the lane took before is over", TIMEOUT, || async {
        (sql.count("dispatch_jobs WHERE status = 'IN_PROGRESS'").await == Some(0)).then_some(())
    })
    .await;
    insert_jobs(&sql, 1000, 20, &url, "a", Some("0000000000PP1")).await;
    seen.highest.store(0, SeqCst);
    sql.must("UPDATE dispatch_pools SET paused = false, concurrency = 2").await;
    completed(&sql, "id >= '0000000001000'", 20).await;
    assert!(seen.highest.load(SeqCst) <= 2, "{} at once, with a limit of 2", seen.highest.load(SeqCst));
    installation.stop(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn j09_a_pool_table_created_later_is_used_on_postgres() {
    a_pool_table_may_be_created_later(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn j09_a_pool_table_created_later_is_used_on_mariadb() {
    a_pool_table_may_be_created_later(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn j09_a_pool_table_created_later_is_used_on_sqlite() {
    a_pool_table_may_be_created_later(Kind::Sqlite).await;
}

/// The number of the first job of client `b`; those of the flood are lower.
const LATER: usize = 5_000_000;

/// The jobs of both clients go to one slow receiver, and `a` has thousands waiting. The ten jobs of `b` are among the
/// next few hundred deliveries: the order is asserted, not the time.
async fn a_flood_delays_no_other(kind: Kind) {
    let (mut installation, sql) = installation_with(kind, "flood", "&per_host=8").await;
    let (url, seen) = SlowReceiver::start(Duration::from_millis(50));
    insert_jobs(&sql, 1, 20_000, &url, "a", None).await;
    let worker = installation.start_worker();
    let ids = || seen.ids.lock().expect("no panic holds it").clone();
    wait_until("the flood is under way", TIMEOUT, || async { (ids().len() > 100).then_some(()) }).await;
    insert_jobs(&sql, LATER, 10, &url, "b", None).await;
    let before = ids().len();
    completed(&sql, "client_id = 'b'", 10).await;
    let is_late = |id: &String| id.parse::<usize>().is_ok_and(|id| id >= LATER);
    let last = ids().iter().rposition(is_late).expect("they came");
    assert!(last < before + 1000, "{} deliveries of the other client came before", last - before);
    assert!(ids().len() < 15_000, "the flood was over before");
    let left = sql.count("dispatch_jobs WHERE client_id = 'a' AND status = 'QUEUED'").await;
    assert!(left > Some(0), "the flood was over before");
    installation.kill(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn j09_a_flood_of_one_client_delays_no_other_on_postgres() {
    a_flood_delays_no_other(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn j09_a_flood_of_one_client_delays_no_other_on_mariadb() {
    a_flood_delays_no_other(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn j09_a_flood_of_one_client_delays_no_other_on_sqlite() {
    a_flood_delays_no_other(Kind::Sqlite).await;
}

/// Two thousand jobs of `a`, each for a separate host that does not answer: more than the lane's concurrency.
#[tokio::test(flavor = "multi_thread")]
async fn j09_a_client_whose_receivers_hang_delays_no_other() {
    let (mut installation, sql) = installation(Kind::Postgres, "hanging").await;
    let (url, seen) = SlowReceiver::start(Duration::from_mins(2));
    let port = url.rsplit(':').next().expect("a port").to_owned();
    let hosts = "lpad(g::text, 13, '0'), 'a:b:c:d', 'http://127.1.' || g / 200 || '.' || g % 200 + 1";
    sql.must(&format!(
        "INSERT INTO dispatch_jobs (id, code, target_url, payload, client_id) \
         SELECT {hosts} || ':{port}', '{{}}', 'a' FROM generate_series(1, 2000) g"
    ))
    .await;
    let worker = installation.start_worker();
    wait_until("they hang", TIMEOUT, || async { (seen.in_progress.load(SeqCst) >= 448).then_some(()) }).await;
    let (free, _) = SlowReceiver::start(Duration::from_millis(1));
    insert_jobs(&sql, LATER, 10, &free, "b", None).await;
    completed(&sql, "client_id = 'b'", 10).await;
    assert_eq!(seen.served.load(SeqCst), 0, "none of the others came to an end meanwhile");
    assert!(seen.highest.load(SeqCst) <= 448, "an eighth of 512 is left to others");
    installation.kill(worker);
}
