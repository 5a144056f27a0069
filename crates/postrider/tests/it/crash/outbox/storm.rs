//! Kills workers while they hold rows, and stops the broker.

use std::time::Duration;

use rand::Rng as _;
use rand::rngs::StdRng;

use super::producer::Producer;
use super::site::Site;
use crate::crash::plan::Plan;
use crate::rig::wait::{PATIENCE, until};
use crate::rig::worker::Worker;

const WORKERS: usize = 4;
/// Rows that a worker must hold to be killed, so that some are still held a moment later.
const ENOUGH: u64 = 10;
/// Time after which an expired lease has been reclaimed, on a busy machine too.
const LEASE_AND_SWEEP: Duration = Duration::from_secs(15);
/// Kills beyond the plan's, if none of those hit a worker that held rows.
const MORE_KILLS: u32 = 8;

pub struct Storm<'a> {
    site: &'a mut Site,
    producer: Producer,
    dice: StdRng,
    workers: Vec<Worker>,
    kills: u32,
}

impl<'a> Storm<'a> {
    pub fn begin(site: &'a mut Site, plan: &Plan, producer: Producer) -> Self {
        let workers = (0..WORKERS).map(|_| site.home.start_worker()).collect();
        Self { site, producer, dice: plan.dice(2), workers, kills: 0 }
    }

    /// Kills one worker, stops and restarts the broker, then kills and replaces another worker.
    pub async fn rage(&mut self) {
        for worker in &self.workers {
            let log = || async { worker.log().contains("running").then_some(()) };
            until("a worker is running", PATIENCE, log).await;
        }
        self.producer.go_on(40);
        self.kill_one().await;
        self.producer.go_on(20);
        self.restart_broker().await;
        self.producer.go_on(15);
        self.replace_one().await;
        for _ in 0..MORE_KILLS {
            if self.has_cut_a_lease().await {
                break;
            }
            self.producer.go_on(2);
            self.replace_one().await;
        }
        self.workers.iter_mut().for_each(Worker::assert_alive);
    }

    /// Returns the remaining workers, all alive, and the number of kills.
    pub async fn calm(mut self) -> (Vec<Worker>, u32) {
        self.producer.finish().await;
        self.workers.iter_mut().for_each(Worker::assert_alive);
        (self.workers, self.kills)
    }

    async fn replace_one(&mut self) {
        self.kill_one().await;
        self.workers.push(self.site.home.start_worker());
    }

    /// Whether a lease was lost: a killed worker may have settled its last row just before, and nothing
    /// is reclaimed then.
    async fn has_cut_a_lease(&self) -> bool {
        let cut = until("rows are taken back", PATIENCE, || async {
            (super::taken_back(&self.site.home.logs()) > 0).then_some(())
        });
        tokio::time::timeout(LEASE_AND_SWEEP, cut).await.is_ok()
    }

    /// Kills the first worker that holds rows with SIGKILL.
    async fn kill_one(&mut self) {
        let first = self.dice.random_range(0..self.workers.len());
        self.workers.rotate_left(first);
        let victim = self.busy_worker().await;
        let worker = self.workers.swap_remove(victim);
        self.site.home.kill(worker);
        self.kills += 1;
    }

    async fn restart_broker(&mut self) {
        self.busy_worker().await;
        self.site.broker.take_away();
        let away = Duration::from_millis(self.dice.random_range(200..=2500));
        tokio::time::sleep(away).await;
        self.site.broker.bring_back();
    }

    /// Finds a worker that holds rows. Requests more rows if none are left; once all are written, any worker is chosen.
    async fn busy_worker(&self) -> usize {
        until("a worker is busy", PATIENCE, || async {
            let busy = self.workers.iter().position(|worker| worker.held() >= ENOUGH);
            if busy.is_none() && self.site.sql.count("outbox WHERE status = 'PENDING'").await? == 0 {
                return if self.producer.go_on(2) { None } else { Some(0) };
            }
            busy
        })
        .await
    }
}
