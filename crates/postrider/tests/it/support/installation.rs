//! The folder of a test's workers; each start writes a separate log.

use super::guardian::Guardian;
use super::worker::Worker;
use crate::sandbox::Sandbox;

pub struct Installation {
    pub sandbox: Sandbox,
    guardian: Guardian,
    started: u32,
}

impl Installation {
    /// Creates the folder; its settings are written later, when its database and its relay are known.
    pub fn new() -> Self {
        Self { sandbox: Sandbox::new(None), guardian: Guardian::new(), started: 0 }
    }

    /// Writes the settings for the next start.
    pub fn write_settings(&self, settings: &str) {
        std::fs::write(self.sandbox.path("postrider.toml"), settings).expect("the settings can be written");
    }

    pub fn start_worker(&mut self) -> Worker {
        self.started += 1;
        let running = self.sandbox.start_with_log(&log_name(self.started));
        self.guardian.started(running.child.id());
        Worker::new(running)
    }

    /// The logs of all workers, dead ones included.
    pub fn logs(&self) -> String {
        (1..=self.started).map(|number| self.log(number)).collect()
    }

    fn log(&self, number: u32) -> String {
        let text = std::fs::read(self.sandbox.path(&log_name(number))).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Kills the worker with SIGKILL and waits for its end.
    pub fn kill(&mut self, mut worker: Worker) {
        self.guardian.ended(worker.kill());
    }

    /// Stops the worker with SIGTERM; it must drain and exit with 0.
    pub async fn stop(&mut self, mut worker: Worker) {
        let pid = worker.stop().await;
        self.guardian.ended(pid);
    }
}

impl Drop for Installation {
    /// Prints the ends of the logs if the test failed.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for number in 1..=self.started {
            let text = self.log(number);
            let lines: Vec<&str> = text.lines().collect();
            eprintln!("── {}\n{}", log_name(number), lines[lines.len().saturating_sub(15)..].join("\n"));
        }
    }
}

fn log_name(number: u32) -> String {
    format!("worker-{number:03}.log")
}
