//! Traces: what became of one row, from the producer's own span to the target's headers, told to a collector by OTLP.
//!
//! Owns: the trace context (W3C `traceparent`), the decorators that watch a lane's store, composer and transport, and the
//! exporter. Must not: hold up a lane, or fail it: what can't be told is dropped and counted. Invariant: without a collector
//! in the settings nothing of this is in a lane's way.

mod context;
mod exporter;
mod lane;
mod otlp;
mod settings;
mod span;

pub use context::Context;
pub use exporter::Exporter;
pub use lane::{Seams, observe};
pub use settings::{Settings, Variables};
