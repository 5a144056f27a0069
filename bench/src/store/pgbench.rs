//! The baseline pgbench, PostgreSQL's load generator: claims and settles 100 rows per pair of transactions,
//! in SQL alone.

use std::io::Write;
use std::process::Stdio;

use crate::lane::rate;

/// The claim and the settle of the specification, 100 rows each; the client passes the keys.
const SCRIPT: &str = "\
WITH pick AS MATERIALIZED (SELECT id FROM mail_outbox WHERE status = 'queued' AND next_attempt_at <= now() AND retry_count < 5 \
ORDER BY next_attempt_at, id LIMIT 100 FOR UPDATE SKIP LOCKED), \
moved AS (UPDATE mail_outbox AS t SET status = 'dispatching', last_attempt_at = now() \
WHERE t.id = ANY (ARRAY(SELECT id FROM pick)) RETURNING t.id) \
SELECT COALESCE(array_agg(id), '{}') AS ids FROM moved \\gset\n\
UPDATE mail_outbox SET status = 'sent', last_error = NULL, sent_at = now() \
WHERE id = ANY (:ids::bigint[]) AND status = 'dispatching';\n";

/// Rows per second with two clients, the best number for two cores.
pub async fn run(url: &str, rows: u64) -> f64 {
    let mut script = tempfile::NamedTempFile::new().expect("a temporary file");
    script.write_all(SCRIPT.as_bytes()).expect("written");
    let clients = 2;
    let transactions = rows / 100 / clients;
    let started = tokio::time::Instant::now();
    let output = tokio::process::Command::new("pgbench")
        .args(["--no-vacuum", "--protocol=prepared", "--client=2", "--jobs=2"])
        .arg(format!("--transactions={transactions}"))
        .arg("--file")
        .arg(script.path())
        .arg(url)
        .env("PATH", search_path())
        .stdin(Stdio::null())
        .output()
        .await
        .expect("pgbench comes with PostgreSQL");
    assert!(output.status.success(), "pgbench failed: {}", String::from_utf8_lossy(&output.stderr));
    rate(transactions * clients * 100, started.elapsed())
}

/// A `PATH` with the server's folder, where Debian installs pgbench.
fn search_path() -> String {
    format!("{}:/usr/lib/postgresql/15/bin", std::env::var("PATH").unwrap_or_default())
}
