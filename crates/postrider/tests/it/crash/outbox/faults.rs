//! Kills workers while they hold rows, and stops the broker.

use std::time::Duration;

use rand::Rng as _;
use rand::rngs::StdRng;

use super::producer::Producer;
use super::setup::OutboxSetup;
use crate::crash::parameters::CrashParameters;
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::worker::Worker;

const WORKERS: usize = 4;
/// Rows that a worker must hold to be killed, so that some are still held a moment later.
const ENOUGH: u64 = 10;
/// Time after which an expired lease has been reclaimed, on a busy machine too.
const LEASE_AND_SWEEP: Duration = Duration::from_secs(15);
/// Kills beyond the plan's, if none of those hit a worker that held rows.
const MORE_KILLS: u32 = 8;

pub struct FaultInjector<'a> {
    setup: &'a mut OutboxSetup,
    producer: Producer,
    rng: StdRng,
    workers: Vec<Worker>,
    kills: u32,
}

impl<'a> FaultInjector<'a> {
    pub fn start(setup: &'a mut OutboxSetup, parameters: &CrashParameters, producer: Producer) -> Self {
        let workers = (0..WORKERS).map(|_| setup.installation.start_worker()).collect();
        Self { setup, producer, rng: parameters.rng(2), workers, kills: 0 }
    }

    /// Kills one worker, stops and restarts the broker, then kills and replaces another worker.
    pub async fn inject(&mut self) {
        for worker in &self.workers {
            let log = || async { worker.log().contains("running").then_some(()) };
            wait_until("a worker is running", TIMEOUT, log).await;
        }
        self.producer.allow(40);
        self.kill_one().await;
        self.producer.allow(20);
        self.restart_broker().await;
        self.producer.allow(15);
        self.replace_one().await;
        for _ in 0..MORE_KILLS {
            if self.has_cut_a_lease().await {
                break;
            }
            self.producer.allow(2);
            self.replace_one().await;
        }
        self.workers.iter_mut().for_each(Worker::assert_alive);
    }

    /// Returns the remaining workers, all alive, and the number of kills.
    pub async fn finish(mut self) -> (Vec<Worker>, u32) {
        self.producer.finish().await;
        self.workers.iter_mut().for_each(Worker::assert_alive);
        (self.workers, self.kills)
    }

    async fn replace_one(&mut self) {
        self.kill_one().await;
        self.workers.push(self.setup.installation.start_worker());
    }

    /// Whether a lease was lost: a killed worker may have settled its last row just before, and nothing
    /// is reclaimed then.
    async fn has_cut_a_lease(&self) -> bool {
        let cut = wait_until("rows are taken back", TIMEOUT, || async {
            (super::reclaimed_rows(&self.setup.installation.logs()) > 0).then_some(())
        });
        tokio::time::timeout(LEASE_AND_SWEEP, cut).await.is_ok()
    }

    /// Kills the first worker that holds rows with SIGKILL.
    async fn kill_one(&mut self) {
        let first = self.rng.random_range(0..self.workers.len());
        self.workers.rotate_left(first);
        let victim = self.busy_worker().await;
        let worker = self.workers.swap_remove(victim);
        self.setup.installation.kill(worker);
        self.kills += 1;
    }

    async fn restart_broker(&mut self) {
        self.busy_worker().await;
        self.setup.broker.stop();
        let away = Duration::from_millis(self.rng.random_range(200..=2500));
        tokio::time::sleep(away).await;
        self.setup.broker.restart();
    }

    /// Finds a worker that holds rows. Requests more rows if none are left; once all are written, any worker is chosen.
    async fn busy_worker(&self) -> usize {
        wait_until("a worker is busy", TIMEOUT, || async {
            let busy = self.workers.iter().position(|worker| worker.held() >= ENOUGH);
            if busy.is_none() && self.setup.sql.count("outbox WHERE status = 'PENDING'").await? == 0 {
                return if self.producer.allow(2) { None } else { Some(0) };
            }
            busy
        })
        .await
    }
}
