//! A folder with settings and a database, and the binary run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};

pub const SQLITE: &str = r#"
[stores.main]
url = "sqlite:app.db"
[transports.out]
url = "file:outbox"
[mail]
from = "shop@example.com"
[lanes.mail]
contract = "mail_outbox"
poll = "50ms"
sweep = "200ms"
"#;

pub struct Sandbox {
    folder: tempfile::TempDir,
}

/// The output of the binary.
pub struct CommandOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandOutput {
    /// Asserts exit code 0; otherwise panics with the whole output.
    #[track_caller]
    pub fn success(self) -> Self {
        self.code(0)
    }

    #[track_caller]
    pub fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Parses every line of stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> Vec<serde_json::Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

impl Sandbox {
    /// Creates a folder with these settings; `None`: without a file.
    pub fn new(settings: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        if let Some(settings) = settings {
            std::fs::write(folder.path().join("postrider.toml"), settings).unwrap();
        }
        Self { folder }
    }

    /// Creates a folder with a migrated SQLite file.
    pub fn ready() -> Self {
        let sandbox = Self::new(Some(SQLITE));
        sandbox.run(&["migrate"]).success();
        sandbox
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_postrider"));
        // The environment of the person who runs the tests may contain settings.
        command.env_clear().current_dir(self.folder.path()).args(arguments).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_with(arguments, &[])
    }

    pub fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> CommandOutput {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        let Output { status, stdout, stderr } = command.output().unwrap();
        CommandOutput {
            code: status.code(),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Starts `postrider run` on a free port.
    pub fn start(&self) -> RunningBinary {
        self.start_with_log("run.log")
    }

    /// Starts one of several processes, each with a separate log.
    pub fn start_with_log(&self, log: &str) -> RunningBinary {
        self.start_with(log, &[])
    }

    /// Starts a process with these variables.
    pub fn start_with(&self, log: &str, variables: &[(&str, &str)]) -> RunningBinary {
        let mut command = self.command(&["run", "--listen", "127.0.0.1:0"]);
        RunningBinary::spawn(command.envs(variables.iter().copied()), self.path(log))
    }

    /// Connects to the database, as an application or to check rows.
    pub async fn sql(&self) -> SqlitePool {
        let options =
            SqliteConnectOptions::new().filename(self.path("app.db")).busy_timeout(Duration::from_secs(20));
        SqlitePool::connect_with(options).await.unwrap()
    }

    /// Connects to the database, and creates the file.
    pub async fn sql_creating(&self) -> SqlitePool {
        let options = SqliteConnectOptions::new().filename(self.path("app.db")).create_if_missing(true);
        SqlitePool::connect_with(options).await.unwrap()
    }

    /// Inserts one row as an application does.
    pub async fn insert(&self, pool: &SqlitePool, to: &str) -> i64 {
        let row: (i64,) = sqlx::query_as(
            "INSERT INTO mail_outbox (to_addresses, subject, body_text, status, retry_count, next_attempt_at, created_at) \
             VALUES (?, 'Hello', 'Text', 'queued', 0, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), \
             strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) RETURNING id",
        )
        .bind(to)
        .fetch_one(pool)
        .await
        .unwrap();
        row.0
    }

    pub fn mails(&self) -> usize {
        mails(&self.path("outbox"))
    }
}

fn mails(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "eml")).count()
}

pub async fn count(pool: &SqlitePool, status: &str) -> i64 {
    let row: (i64,) = sqlx::query_as("SELECT COUNT(*) FROM mail_outbox WHERE status = ?")
        .bind(status)
        .fetch_one(pool)
        .await
        .unwrap();
    row.0
}

/// A running `postrider run`, killed at the end of the test.
pub struct RunningBinary {
    pub child: std::process::Child,
    log: PathBuf,
}

impl RunningBinary {
    /// Runs a command that logs to this file.
    pub fn spawn(command: &mut Command, log: PathBuf) -> Self {
        let child = command.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
        Self { child, log }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// The first admin key; waits for its file.
    pub fn first_key(&self) -> String {
        let file = self.log.with_file_name("postrider-admin.key");
        eventually("the first admin key is in its file", || {
            std::fs::read_to_string(&file).ok().map(|text| text.trim().to_owned())
        })
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// The address that it listens on; waits until it does.
    pub fn address(&self) -> String {
        eventually("the listener's address is in the log", || {
            let log = self.log();
            let (_, rest) = log.split_once("address=127.0.0.1:")?;
            let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
            Some(format!("127.0.0.1:{port}"))
        })
    }

    /// The status code and the body of a GET.
    pub fn get(&self, path: &str) -> (u16, String) {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(self.address()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Waits for its end; returns the exit code.
    #[track_caller]
    pub fn ended(&mut self, within: Duration) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < within, "still running after {within:?}:\n{}", self.log());
            pause();
        }
    }
}

impl Drop for RunningBinary {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Calls `ask` until it returns a value; panics with `what` after the time limit.
#[track_caller]
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "not within 20 s: {what}");
        pause();
    }
}

/// Waits until this many rows have the status.
pub async fn eventually_count(pool: &SqlitePool, status: &str, wanted: i64) {
    for _ in 0..800 {
        if count(pool, status).await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{} rows are {status} after 20 s, not {wanted}", count(pool, status).await);
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test that watches a process from outside has no clock to pause"
)]
pub fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}
