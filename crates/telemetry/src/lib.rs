//! Traces of rows: from the producer's span to the headers that the target receives, exported over OTLP.
//!
//! Owns: the trace context (W3C `traceparent`), the decorators around a lane's store, composer and transport, and the
//! exporter. Must not: delay or fail a lane; spans that cannot be exported are dropped and counted. Invariant: if no
//! collector is configured, no lane is wrapped.

mod context;
mod exporter;
mod lane;
mod otlp;
mod settings;
mod span;

pub use context::TraceContext;
pub use exporter::Exporter;
pub use lane::{LaneParts, observe};
pub use settings::{Settings, Variables};
