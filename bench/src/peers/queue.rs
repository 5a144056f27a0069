//! The other queues on PostgreSQL, with the settings that were fastest on two cores: their tables are filled in their own
//! way, and drained by tasks that do nothing.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use super::program::Program;
use crate::lane::rate;
use crate::postgres::query_float;
use crate::servers::{SUBJECT, variable};

const DATABASE: &str = "bench_peers";

/// A queue of another project.
pub struct Queue {
    pub name: &'static str,
    program: Program,
    processes: usize,
    /// Counts the jobs that are not finished.
    unfinished: &'static str,
}

/// All queues that are compared.
pub const QUEUES: [Queue; 3] = [
    Queue {
        name: "graphile-worker",
        program: Program::JavaScript(concat!(
            include_str!("../../peers/protocol.js"),
            include_str!("../../peers/graphile-worker.js")
        )),
        processes: 2,
        unfinished: "SELECT count(*)::float8 FROM graphile_worker._private_jobs",
    },
    Queue {
        name: "pg-boss",
        program: Program::JavaScript(concat!(
            include_str!("../../peers/protocol.js"),
            include_str!("../../peers/pg-boss.js")
        )),
        processes: 1,
        unfinished: "SELECT count(*)::float8 FROM pgboss.job WHERE state < 'completed'",
    },
    Queue {
        name: "PgQueuer",
        program: Program::Python(include_str!("../../peers/pg_queuer.py")),
        processes: 2,
        unfinished: "SELECT count(*)::float8 FROM pgqueuer",
    },
];

impl Queue {
    /// Fills a new database with this many jobs and drains it; returns jobs per second, from the start of the workers
    /// until the database has no unfinished job.
    pub async fn run(&self, jobs: u64) -> f64 {
        let url = new_database().await;
        let payload =
            serde_json::json!({"to": "to@example.org", "from": "from@example.org", "subject": SUBJECT});
        let environment = [("DATABASE_URL", url.clone()), ("PAYLOAD", payload.to_string())];
        self.program.fill(jobs, &environment).await;
        let mut connection = PgConnection::connect(&url).await.expect("connected");
        for statement in ["VACUUM ANALYZE", "CHECKPOINT"] {
            connection.execute(statement).await.expect("vacuumed");
        }
        let filled = query_float(&mut connection, self.unfinished).await;
        assert!(
            (filled - crate::postgres::number(jobs)).abs() < 0.5,
            "{}: {filled} jobs were made",
            self.name
        );
        let mut running = self.program.start(self.processes, &environment).await.begin().await;
        running.wait_for(jobs).await;
        while query_float(&mut connection, self.unfinished).await > 0.0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        rate(jobs, running.started.elapsed())
    }
}

/// Creates the database; returns its URL.
async fn new_database() -> String {
    let server = variable("POSTRIDER_TEST_POSTGRES");
    let mut admin = PgConnection::connect(&server).await.expect("PostgreSQL answers");
    for statement in
        [format!("DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)"), format!("CREATE DATABASE {DATABASE}")]
    {
        admin.execute(AssertSqlSafe(statement)).await.expect("a new database");
    }
    let (address, _) = server.rsplit_once('/').expect("a URL has a path");
    format!("{address}/{DATABASE}")
}
