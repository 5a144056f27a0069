//! A folder of its own for each test: its settings file, its SQLite file, its logs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::guardian::Guardian;
use super::worker::Worker;

pub struct Home {
    folder: tempfile::TempDir,
    guardian: Guardian,
    started: u32,
}

impl Home {
    pub fn new(settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let home = Self { folder, guardian: Guardian::new(), started: 0 };
        home.rewrite(settings);
        home
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn config(&self) -> PathBuf {
        self.path().join("postrider.toml")
    }

    /// Other settings, for the next start.
    pub fn rewrite(&self, settings: &str) {
        std::fs::write(self.config(), settings).expect("the settings can be written");
    }

    /// The binary with these settings, and nothing of the tests' own environment that it would take for a setting.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_postrider"));
        command.arg("--config").arg(self.config()).args(arguments).current_dir(self.path());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("POSTRIDER_") || name.starts_with("DISPATCH_") || name == "RUST_LOG" {
                command.env_remove(&*name);
            }
        }
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary can be run")
    }

    /// Runs a command that must succeed.
    pub fn must(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "postrider {}: {}\n{errors}", arguments.join(" "), output.status);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// `postrider run`, its log in a file of its own.
    pub fn start_worker(&mut self) -> Worker {
        self.started += 1;
        let log = self.path().join(format!("worker-{:03}.log", self.started));
        let file = std::fs::File::create(&log).expect("a log can be made");
        let child = self.command(&["run"]).stdout(Stdio::null()).stderr(file).spawn().expect("a worker");
        self.guardian.started(child.id());
        Worker::new(child, log)
    }

    /// SIGKILL, and it is gone.
    pub fn kill(&mut self, mut worker: Worker) {
        self.guardian.ended(worker.kill());
    }

    /// SIGTERM; it must drain and end with 0.
    pub async fn stop(&mut self, mut worker: Worker) {
        let pid = worker.stop().await;
        self.guardian.ended(pid);
    }

    /// All logs, in the order of their starts.
    pub fn logs(&self) -> Vec<(String, String)> {
        let mut logs: Vec<_> = std::fs::read_dir(self.path())
            .expect("the folder is there")
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "log"))
            .map(|entry| {
                let text = std::fs::read(entry.path()).unwrap_or_default();
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, String::from_utf8_lossy(&text).into_owned())
            })
            .collect();
        logs.sort();
        logs
    }
}

impl Drop for Home {
    /// A failed test shows the ends of its logs.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for (name, text) in self.logs() {
            let lines: Vec<&str> = text.lines().collect();
            eprintln!("── {name}\n{}", lines[lines.len().saturating_sub(15)..].join("\n"));
        }
    }
}
