//! A lane: contract + store + composer + transport + limits.

use std::sync::Arc;
use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::{Composer, Queue, Store, Transport};

/// Everything that one running stage needs.
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
    /// Hands over pointers to the rows that it can carry; without it the table alone is the queue. The contract must
    /// know of it ([`Contract::with_queue`]).
    pub queue: Option<Arc<dyn Queue>>,
    pub limits: Limits,
}

/// What bounds a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Deliveries (calls of the transport) at once.
    pub concurrency: usize,
    /// Rows per claim.
    pub batch: u32,
    /// Rows per claim while the lane is fast; no more than `batch` where that was chosen with care.
    pub stretch: u32,
    /// Rows held at once, waiting and in flight together.
    pub held: usize,
    /// Bytes of large rows held at once.
    pub bytes: u64,
    /// The longest that one delivery may take.
    pub timeout: Duration,
    /// Between two looks at an idle table when nothing notifies.
    pub poll: Duration,
    /// Between two runs of the safety nets.
    pub sweep: Duration,
    /// Only one worker at a time claims (a lock of the store's).
    pub single: bool,
}
