//! G1: a process without free file descriptors charges no attempt, and its lanes continue when it has some again.

use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use super::{SETTINGS, receiver};
use crate::sandbox::{RunningBinary, Sandbox, eventually, eventually_count};

const MAIL: &str = r#"
[transports.out]
url = "file:outbox"
[mail]
from = "shop@example.com"
[lanes.mail]
contract = "mail_outbox"
transport = "out"
poll = "50ms"
"#;
const JOBS: usize = 20;

/// Sets the soft limit of file descriptors of a process.
fn set_descriptor_limit(running: &RunningBinary, current: u64) {
    let id = Pid::from_raw(i32::try_from(running.child.id()).unwrap()).unwrap();
    let maximum = getrlimit(Resource::Nofile).maximum;
    prlimit(Some(id), Resource::Nofile, Rlimit { current: Some(current), maximum }).unwrap();
}

#[tokio::test]
async fn g01_a_lack_of_file_descriptors_costs_no_attempt() {
    let lane = "[lanes.jobs]\ntransport = \"hooks\"";
    let sandbox = Sandbox::new(Some(&format!("{}{MAIL}", SETTINGS.replace("[lanes.jobs]", lane))));
    sandbox.run(&["migrate"]).success();
    let (url, _received) = receiver();
    let running = sandbox.start();
    let pool = sandbox.sql().await;
    // Wait until both lanes have opened their permanent connections.
    let send = |path: &str| {
        sandbox
            .run(&["send", "webhook", &format!("{url}/{path}"), "--code", "a:b:c:d", "--payload", "{}"])
            .success()
    };
    let jobs = async |condition: &str| -> i64 {
        let query = format!("SELECT COUNT(*) FROM dispatch_jobs WHERE {condition}");
        let (found,): (i64,) = sqlx::query_as(sqlx::AssertSqlSafe(query)).fetch_one(&pool).await.unwrap();
        found
    };
    send("200");
    sandbox.insert(&pool, "first@example.com").await;
    eventually_count(&pool, "sent", 1).await;
    while jobs("status = 'COMPLETED'").await < 1 {
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    set_descriptor_limit(&running, 3);
    for _ in 0..JOBS {
        send("200");
    }
    sandbox.insert(&pool, "second@example.com").await;
    for _ in 0..800 {
        if jobs("last_error LIKE '%Too many open files%'").await > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(jobs("last_error LIKE '%Too many open files%'").await > 0, "{}", running.log());
    assert_eq!(jobs("attempt_count > 0 AND status <> 'COMPLETED'").await, 0, "{}", running.log());
    set_descriptor_limit(&running, 1024);
    eventually_count(&pool, "sent", 2).await;
    for _ in 0..2000 {
        if jobs("status = 'COMPLETED' AND attempt_count = 1").await == i64::try_from(JOBS + 1).unwrap() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let done = jobs("status = 'COMPLETED' AND attempt_count = 1").await;
    assert_eq!(done, i64::try_from(JOBS + 1).unwrap(), "{}", running.log());
    let (attempts,): (i64,) =
        sqlx::query_as("SELECT COUNT(*) FROM dispatch_attempts").fetch_one(&pool).await.unwrap();
    assert_eq!(attempts, i64::try_from(JOBS + 1).unwrap(), "every attempt was a request");
    let (retries,): (i64,) =
        sqlx::query_as("SELECT SUM(retry_count) FROM mail_outbox").fetch_one(&pool).await.unwrap();
    assert_eq!(retries, 0, "{}", running.log());
    eventually("the listener answers again", || (running.get("/healthz").0 == 200).then_some(()));
}
