//! The engine: starts lanes, reports their status, drains them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_seams::{Dice, store};
use tokio::task::JoinHandle;

use crate::lane::Lane;
use crate::runner::Runner;
use crate::state::{LaneState, Phase, StoreTrouble};
use crate::status::LaneStatus;
use crate::suspect::Suspects;

/// Runs the lanes of one process.
pub struct Engine {
    dice: Arc<dyn Dice>,
    suspects: Arc<Suspects>,
    handle: Handle,
}

/// Reads the status of an engine's lanes; cheap to clone.
#[derive(Clone, Default)]
pub struct Handle {
    lanes: Arc<Mutex<Vec<Running>>>,
}

struct Running {
    state: Arc<LaneState>,
    ended: Option<JoinHandle<()>>,
}

/// A lane's place in the engine before its store is open: the lane appears in the status, with the reason.
pub struct AnnouncedLane {
    handle: Handle,
    state: Arc<LaneState>,
    dice: Arc<dyn Dice>,
    suspects: Arc<Suspects>,
}

/// The result of a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Rows still in flight at the time limit: their leases run out, and another worker claims them.
    pub left: u64,
    /// Whether every lane ended within the time limit. If one did not, its last claim may have fetched rows as well.
    pub in_time: bool,
    /// Lanes with a claim that the database did not answer, and whose rows, if it made the claim, were not found: they
    /// stay claimed until their leases run out.
    pub unanswered: u64,
}

impl Drained {
    /// Whether every row was settled or handed back.
    pub fn is_complete(self) -> bool {
        self.in_time && self.left == 0 && self.unanswered == 0
    }
}

impl Engine {
    /// Creates an engine without lanes. `dice` is the randomness of every wait.
    pub fn new(dice: Arc<dyn Dice>) -> Self {
        Self { dice, suspects: Arc::default(), handle: Handle::default() }
    }

    /// Returns a handle that reads the status of the lanes.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Adds a lane to the status while its store is being opened.
    pub fn announce(&self, lane: &str, contract: &str, stage: &str) -> AnnouncedLane {
        let state = Arc::new(LaneState::new(lane, contract, stage));
        self.handle.lock().push(Running { state: Arc::clone(&state), ended: None });
        let (dice, suspects) = (Arc::clone(&self.dice), Arc::clone(&self.suspects));
        AnnouncedLane { handle: self.handle(), state, dice, suspects }
    }

    /// Announces and starts a lane whose store is open.
    pub fn start(&self, lane: Lane) {
        let stage = lane.contract.stages[lane.stage].name.clone();
        self.announce(&lane.name, &lane.contract.name, &stage).start(lane);
    }

    /// Drains all lanes: claims no more, finishes what was begun within `limit`, and hands the rest back unspent.
    pub async fn drain(self, limit: Duration) -> Drained {
        let mut ended = Vec::new();
        for running in self.handle.lock().iter_mut() {
            running.state.set_phase(Phase::Draining);
            ended.extend(running.ended.take());
        }
        let aborts: Vec<_> = ended.iter().map(JoinHandle::abort_handle).collect();
        let all = futures::future::join_all(ended);
        let in_time = tokio::time::timeout(limit, all).await.is_ok();
        if !in_time {
            for abort in aborts {
                abort.abort();
            }
        }
        let lanes = self.handle.lock();
        let left = lanes.iter().map(|running| running.state.held() as u64).sum();
        let unanswered = lanes.iter().filter(|running| running.state.has_unanswered()).count() as u64;
        for running in lanes.iter() {
            running.state.set_phase(Phase::Stopped);
        }
        Drained { left, in_time, unanswered }
    }
}

impl Handle {
    fn lock(&self) -> MutexGuard<'_, Vec<Running>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the status of every lane, in the order in which they were announced.
    pub fn lanes(&self) -> Vec<LaneStatus> {
        self.lock().iter().map(|running| running.state.status()).collect()
    }

    /// Returns the status of one lane; `None` if there is no lane of that name.
    pub fn lane(&self, name: &str) -> Option<LaneStatus> {
        self.lock().iter().find(|running| running.state.name == name).map(|running| running.state.status())
    }
}

impl AnnouncedLane {
    /// Reports why the store cannot be opened yet.
    pub fn waiting_for(&self, error: &store::Error) {
        let trouble = match error.class {
            store::Class::Misconfigured => StoreTrouble::Misconfigured(error.to_string()),
            store::Class::Transient | store::Class::Permanent => StoreTrouble::Unavailable(error.to_string()),
        };
        self.state.set_store(Some(trouble));
    }

    /// Starts the lane once its store is open. A lane that was drained in the meantime stays stopped.
    pub fn start(self, lane: Lane) {
        let mut lanes = self.handle.lock();
        if self.state.phase() != Phase::Starting {
            return;
        }
        self.state.set_store(None);
        let ended = Runner::new(lane, Arc::clone(&self.state), self.dice, self.suspects).start();
        if let Some(running) = lanes.iter_mut().find(|running| Arc::ptr_eq(&running.state, &self.state)) {
            running.ended = Some(ended);
        }
    }
}
