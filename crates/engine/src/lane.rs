//! A lane: a contract, store, composer, transport and limits that run together.

use std::sync::Arc;
use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::{Composer, ContractMemory, Queue, Store, Transport};

/// The parts of one running stage.
#[derive(Clone)]
pub struct Lane {
    /// Unique among the lanes of a process; names it in logs, metrics and commands.
    pub name: String,
    pub contract: Arc<Contract>,
    /// An index into `contract.stages`.
    pub stage: usize,
    pub store: Arc<dyn Store>,
    pub composer: Arc<dyn Composer>,
    pub transport: Arc<dyn Transport>,
    /// The external queue that delivers pointers to rows; `None` if the table alone is the queue. The contract must be
    /// prepared for it ([`Contract::with_queue`]).
    pub queue: Option<Arc<dyn Queue>>,
    /// Remembers whether the contract is known to be good; until then the lane stops if most of its first rows are
    /// rejected. `None`: it is.
    pub contract_memory: Option<Arc<dyn ContractMemory>>,
    pub limits: Limits,
}

/// The limits of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Concurrent deliveries (calls of the transport).
    pub concurrency: usize,
    /// Rows per claim.
    pub batch: u32,
    /// Maximum rows per claim while the lane is fast; equal to `batch` if the operator set that.
    pub max_batch: u32,
    /// Maximum rows per claim while the lane is fast and the database distant: each claim takes a round trip. Equal to
    /// `max_batch` if the operator set `batch` or `held`. More than `max_held` rows are then held, as far as they fit
    /// into `large_row_bytes`.
    pub max_batch_distant: u32,
    /// Rows held at once: waiting, in flight and not yet settled.
    pub max_held: usize,
    /// Bytes of large rows in memory at once.
    pub large_row_bytes: u64,
    /// Time limit of one delivery.
    pub timeout: Duration,
    /// Time between two polls of an idle table, if no notification arrives.
    pub poll_interval: Duration,
    /// Time between two runs of the maintenance tasks.
    pub maintenance_interval: Duration,
    /// Whether only one worker at a time claims, under a lock in the store.
    pub single_claimer: bool,
}
