//! The traits between the engine and everything outside: stores, composers, transports, queues, randomness.
//!
//! Owns: these traits and the types that cross them. Must not: run anything. Stores and transports depend on this crate
//! and never on the engine; the engine depends on this crate and never on a store or a transport.

pub mod clock;
pub mod composer;
mod connect_error;
mod contract_memory;
pub mod dice;
pub mod envelope;
mod error_chain;
mod exhausted;
pub mod handoff;
pub mod hosts;
pub mod inspect;
mod lease_check;
pub mod message_tail;
pub mod migrate;
pub mod outcome;
pub mod produce;
pub mod queue;
pub mod recheck;
pub mod row;
pub mod scrub;
pub mod secret;
pub mod store;
pub mod suppression;
pub mod table;
pub mod tcp;
pub mod transport;
pub mod wake_ups;

pub use clock::ClockOffset;
pub use composer::Composer;
pub use connect_error::ConnectError;
pub use contract_memory::ContractMemory;
pub use dice::{Dice, ThreadDice};
pub use envelope::{Content, Envelope, Mail, Record, Webhook};
pub use error_chain::error_chain;
pub use exhausted::{is_caused_by_exhaustion, is_exhausted};
pub use handoff::Handoff;
pub use inspect::{Inspect, Page};
pub use lease_check::LeaseCheck;
pub use migrate::Migrate;
pub use outcome::{Failure, Outcome, Receipt};
pub use produce::Produce;
pub use queue::Queue;
pub use row::{ClaimedRow, Fields, Lease, RowId, Value};
pub use secret::{Secret, Secrets};
pub use store::Store;
pub use suppression::{Suppression, Suppressions};
pub use table::TableDescription;
pub use transport::Transport;
pub use wake_ups::{WakeUp, WakeUps};

/// A table on one database as one stage uses it: what the binary passes to the engine and the console.
pub trait Backend: Store + Inspect + Migrate {}
impl<T: Store + Inspect + Migrate> Backend for T {}
