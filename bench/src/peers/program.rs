//! Runs the programs of `bench/peers` with the interpreters that `cargo xtask bench` installed.
//!
//! A program that drains prints `ready` when it is connected, and waits for a line. Then it prints how many jobs its task
//! has seen, whenever that has changed. So the start of the process is not measured, and several processes start at once.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::servers::variable;

/// A program, as its whole text.
#[derive(Debug, Clone, Copy)]
pub enum Program {
    JavaScript(&'static str),
    Python(&'static str),
}

impl Program {
    fn command(self, words: &[&str], environment: &[(&str, String)]) -> Command {
        let mut command = match self {
            Self::JavaScript(text) => {
                let mut node = Command::new(variable("POSTRIDER_BENCH_NODE"));
                node.args(["--eval", text, "--"]).env("NODE_PATH", variable("POSTRIDER_BENCH_NODE_MODULES"));
                node
            }
            Self::Python(text) => {
                let mut python = Command::new(variable("POSTRIDER_BENCH_PYTHON"));
                python.args(["-c", text]).env("PYTHONPATH", variable("POSTRIDER_BENCH_PYTHON_PACKAGES"));
                python
            }
        };
        command.args(words).envs(environment.iter().map(|(name, value)| (name, value))).kill_on_drop(true);
        command
    }

    /// Runs `fill ROWS` to its end.
    pub async fn fill(self, rows: u64, environment: &[(&str, String)]) {
        let mut command = self.command(&["fill", &rows.to_string()], environment);
        let status = command.stdin(Stdio::null()).status().await.expect("the interpreter is installed");
        assert!(status.success(), "the program failed to fill its queue: {status}");
    }

    /// Starts `drain` in this many processes, and waits until all are connected.
    pub async fn start(self, processes: usize, environment: &[(&str, String)]) -> Waiting {
        let mut waiting = Vec::new();
        for _ in 0..processes {
            let mut command = self.command(&["drain"], environment);
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().expect("the interpreter is installed");
            let mut lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
            let line = lines.next_line().await.expect("its output is text");
            assert_eq!(line.as_deref(), Some("ready"), "the program ended before it was ready");
            waiting.push((child, lines));
        }
        Waiting(waiting)
    }
}

/// Processes that wait for the start.
pub struct Waiting(Vec<(Child, Lines<BufReader<ChildStdout>>)>);

impl Waiting {
    /// Starts all processes.
    pub async fn begin(self) -> Running {
        let (sender, counts) = mpsc::unbounded_channel();
        let started = Instant::now();
        let mut children = Vec::new();
        for (number, (mut child, lines)) in self.0.into_iter().enumerate() {
            child
                .stdin
                .as_mut()
                .expect("stdin is a pipe")
                .write_all(b"go\n")
                .await
                .expect("the program reads");
            tokio::spawn(read_counts(number, lines, sender.clone()));
            children.push(child);
        }
        Running { counts, seen: vec![0; children.len()], started, _children: children }
    }
}

/// Sends each printed count with the number of its process, until the process ends.
async fn read_counts(
    number: usize,
    mut lines: Lines<BufReader<ChildStdout>>,
    sender: mpsc::UnboundedSender<(usize, u64)>,
) {
    while let Ok(Some(line)) = lines.next_line().await {
        let count = line.parse().expect("the program prints counts");
        if sender.send((number, count)).is_err() {
            return;
        }
    }
}

/// Processes that drain; they are killed on drop.
pub struct Running {
    counts: mpsc::UnboundedReceiver<(usize, u64)>,
    seen: Vec<u64>,
    /// The time of the start.
    pub started: Instant,
    _children: Vec<Child>,
}

impl Running {
    /// Waits until all processes together have seen this many jobs.
    pub async fn wait_for(&mut self, jobs: u64) {
        while self.seen.iter().sum::<u64>() < jobs {
            let (number, count) = self.counts.recv().await.expect("the programs run until they are stopped");
            self.seen[number] = count;
        }
    }
}
