//! Traces: what happened to one row, from the producer's span to the headers that the target gets, exported by OTLP.
//!
//! Owns: the trace context (W3C `traceparent`), the decorators that watch a lane's store, composer and transport, and the
//! exporter. Must not: delay or fail a lane: what can't be exported is dropped and counted. Invariant: without a
//! collector in the settings no lane is wrapped.

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
