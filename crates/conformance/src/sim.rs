//! The simulator: the real engine on the memory store, under a paused clock and seeded faults.
//!
//! Owns: the faults, and the checks of the result. Must not: access internals of the engine; it only sees what a
//! database and a relay would see. Invariant: a run depends on its seed alone, so that a failure can be replayed.

mod group_order;
mod journal;
mod random;
mod run;
mod store;
mod target;
mod worker_life;

pub use journal::{Event, SimJournal};
pub use random::SimRandom;

use crate::subject::Subject;

/// The result of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimReport {
    pub seed: u64,
    pub subject: String,
    pub crashes: usize,
    /// Messages that the target accepted, including duplicates.
    pub accepted: usize,
    pub duplicates: usize,
    /// All events, in order.
    pub events: Vec<Event>,
}

/// Runs one seed; the error names the broken guarantee and the row.
pub fn run(subject: &Subject, seed: u64) -> Result<SimReport, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(run::simulate(subject.clone(), seed)).map_err(|broken| {
        let name = subject.name();
        format!("{name}, seed {seed}: {broken} (POSTRIDER_SIM_SEED={seed} replays it)")
    })
}
