//! A worker of the demo: the real `postrider run` in a separate process.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use crate::failure::Failure;

/// Time limit of a drain.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// A running `postrider run` process.
pub struct Worker {
    child: Child,
    log: PathBuf,
}

impl Worker {
    /// Starts the process in `folder`, where it writes `worker-NUMBER.log`.
    pub fn start(folder: &Path, number: u32) -> Result<Self, Failure> {
        let log = folder.join(format!("worker-{number}.log"));
        let child = Command::new(std::env::current_exe()?)
            .args(["run", "--listen", "127.0.0.1:0", "--config"])
            .arg(folder.join("postrider.toml"))
            // The user's own settings must not affect the worker.
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?)
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self { child, log })
    }

    /// Kills the process with SIGKILL: it hands back and finishes nothing.
    pub async fn kill(&mut self) -> Result<(), Failure> {
        Ok(self.child.kill().await?)
    }

    /// Stops the process with SIGTERM and waits for its drain.
    pub async fn stop(&mut self) -> Result<(), Failure> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            kill_process(id, Signal::TERM).map_err(std::io::Error::from)?;
        }
        match tokio::time::timeout(DRAIN_TIMEOUT, self.child.wait()).await {
            Ok(status) if status.as_ref().is_ok_and(std::process::ExitStatus::success) => Ok(()),
            Ok(status) => {
                Err(Failure::Failed(format!("the worker failed ({status:?}):\n{}", self.last_log_lines())))
            }
            Err(_) => Err(Failure::Failed(format!("the worker did not drain:\n{}", self.last_log_lines()))),
        }
    }

    /// The end of its log, for error messages.
    pub fn last_log_lines(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}
