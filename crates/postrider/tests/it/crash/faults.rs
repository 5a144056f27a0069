//! Kills workers and stops the database.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rand::Rng as _;
use rand::rngs::StdRng;
use sqlx::{Connection as _, SqliteConnection};

use super::parameters::CrashParameters;
use super::setup::CrashSetup;
use super::webhook::broker::Broker;
use crate::support::database::Kind;
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::worker::Worker;

const WORKERS: usize = 3;
/// Time for which another process locks a SQLite file.
const LOCKED_FOR: Duration = Duration::from_secs(10);

pub struct FaultInjector<'a> {
    setup: &'a mut CrashSetup,
    parameters: &'a CrashParameters,
    rng: StdRng,
    workers: Vec<Worker>,
    broker: Option<&'a mut Broker>,
}

impl<'a> FaultInjector<'a> {
    pub fn start(setup: &'a mut CrashSetup, parameters: &'a CrashParameters) -> Self {
        let workers = (0..WORKERS).map(|_| setup.installation.start_worker()).collect();
        Self { setup, parameters, rng: parameters.rng(2), workers, broker: None }
    }

    /// Makes the run stop this broker as well.
    pub fn with_broker(&mut self, broker: &'a mut Broker) {
        self.broker = Some(broker);
    }

    /// Runs all kills, with an outage after each third.
    pub async fn inject(&mut self, done: &AtomicU32) {
        for kill in 0..self.parameters.kills {
            if kill == self.parameters.kills / 3 {
                self.outage(Outage::Stop).await;
            }
            if kill == self.parameters.kills * 2 / 3 {
                self.outage(Outage::Kill).await;
            }
            if kill == self.parameters.kills / 2 {
                self.queue_outage().await;
            }
            self.kill_one().await;
            done.store(kill + 1, Ordering::Relaxed);
        }
    }

    /// Returns the remaining workers, all alive.
    pub fn finish(mut self) -> Vec<Worker> {
        self.workers.iter_mut().for_each(Worker::assert_alive);
        self.workers
    }

    /// Kills one worker with SIGKILL, some time after it started to deliver; one in four even during its start.
    async fn kill_one(&mut self) {
        let victim = self.rng.random_range(0..WORKERS);
        let moment = Duration::from_millis(self.rng.random_range(50..=800));
        if self.rng.random_range(0..4) > 0 {
            let worker = &self.workers[victim];
            wait_until("a worker is running", TIMEOUT, || async {
                worker.log().contains("running").then_some(())
            })
            .await;
        }
        tokio::time::sleep(moment).await;
        self.replace(victim);
    }

    fn replace(&mut self, victim: usize) {
        let worker = self.workers.swap_remove(victim);
        self.setup.installation.kill(worker);
        self.workers.push(self.setup.installation.start_worker());
        self.workers.iter_mut().for_each(Worker::assert_alive);
    }

    /// Stops and restarts the database; meanwhile a worker is killed, and another starts without the database.
    async fn outage(&mut self, outage: Outage) {
        if self.parameters.kind == Kind::Sqlite {
            return self.lock_file(outage).await;
        }
        let server = self.setup.server.as_mut().expect("only SQLite has no server");
        match outage {
            Outage::Stop => server.stop(),
            Outage::Kill => server.kill(),
        }
        tokio::time::sleep(Duration::from_millis(700)).await;
        let victim = self.rng.random_range(0..WORKERS);
        self.replace(victim);
        tokio::time::sleep(Duration::from_millis(700)).await;
        self.setup.server.as_mut().expect("it was there").restart();
        self.workers.iter_mut().for_each(Worker::assert_alive);
    }

    /// Kills and restarts the queue's broker; meanwhile a worker is killed, and another starts without the broker.
    async fn queue_outage(&mut self) {
        let Some(broker) = self.broker.take() else { return };
        broker.stop();
        tokio::time::sleep(Duration::from_millis(700)).await;
        let victim = self.rng.random_range(0..WORKERS);
        self.replace(victim);
        tokio::time::sleep(Duration::from_millis(700)).await;
        broker.restart();
        self.workers.iter_mut().for_each(Worker::assert_alive);
        self.broker = Some(broker);
    }

    /// Holds the write lock of the file in this process: once longer than any lease, once briefly.
    async fn lock_file(&mut self, outage: Outage) {
        let url = format!("sqlite:{}", self.setup.installation.sandbox.path("app.db").display());
        let mut other = SqliteConnection::connect(&url).await.expect("the file is there");
        sqlx::query("PRAGMA busy_timeout = 60000").execute(&mut other).await.expect("a pragma");
        sqlx::query("BEGIN EXCLUSIVE").execute(&mut other).await.expect("the lock can be had");
        let held = match outage {
            Outage::Stop => LOCKED_FOR,
            Outage::Kill => LOCKED_FOR / 5,
        };
        tokio::time::sleep(held / 2).await;
        let victim = self.rng.random_range(0..WORKERS);
        self.replace(victim);
        tokio::time::sleep(held / 2).await;
        sqlx::query("COMMIT").execute(&mut other).await.expect("the lock can be given back");
        other.close().await.expect("the connection can be closed");
    }
}

enum Outage {
    /// An orderly shutdown: sessions are notified, all data is flushed.
    Stop,
    /// SIGKILL to every process of the server.
    Kill,
}
