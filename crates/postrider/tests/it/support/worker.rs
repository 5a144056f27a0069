//! One running `postrider run` process among several.

use rustix::process::Signal;

use super::wait::{TIMEOUT, wait_until};
use crate::sandbox::RunningBinary;

pub struct Worker {
    running: RunningBinary,
}

impl Worker {
    pub fn new(running: RunningBinary) -> Self {
        Self { running }
    }

    pub fn log(&self) -> String {
        self.running.log()
    }

    /// Status code and body of a GET.
    pub fn get(&self, path: &str) -> (u16, String) {
        tokio::task::block_in_place(|| self.running.get(path))
    }

    /// The address that it listens on; waits until it does.
    pub fn address(&self) -> String {
        tokio::task::block_in_place(|| self.running.address())
    }

    /// Asserts that the worker runs: none may end without a signal.
    pub fn assert_alive(&mut self) {
        if let Ok(Some(status)) = self.running.child.try_wait() {
            panic!("a worker ended unexpectedly with {status}:\n{}", self.log());
        }
    }

    /// The sum of a metric over all labels that begin with this name.
    pub fn metric(&self, name: &str) -> u64 {
        sum(&self.get("/metrics").1, name)
    }

    /// The status of `/readyz`, and what its first lane reports.
    pub fn health(&self) -> (u16, String) {
        let (code, body) = self.get("/readyz");
        let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        (code, body["lanes"][0]["health"].as_str().unwrap_or_default().to_owned())
    }

    /// The number of rows that it holds now: claimed and not settled.
    pub fn held(&self) -> u64 {
        let (_, metrics) = self.get("/metrics");
        let settled = sum(&metrics, "postrider_rows_settled_total{");
        sum(&metrics, "postrider_rows_claimed_total{").saturating_sub(settled)
    }

    pub(super) fn kill(&mut self) -> u32 {
        self.assert_alive();
        let child = &mut self.running.child;
        child.kill().expect("SIGKILL can be sent to a child");
        child.wait().expect("a killed child can be reaped");
        child.id()
    }

    pub(super) async fn stop(&mut self) -> u32 {
        self.assert_alive();
        self.running.signal(Signal::TERM);
        let child = &mut self.running.child;
        let status = wait_until("a worker ends after SIGTERM", TIMEOUT, || {
            let status = child.try_wait().expect("a child can be asked");
            async move { status }
        })
        .await;
        assert_eq!(status.code(), Some(0), "a drained worker ends with 0:\n{}", self.log());
        self.running.child.id()
    }
}

fn sum(metrics: &str, name: &str) -> u64 {
    let samples = metrics.lines().filter(|line| line.starts_with(name));
    samples.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}
