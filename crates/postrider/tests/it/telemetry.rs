//! The telemetry of a run: traces at a collector, metrics at `/metrics`, log lines.

mod logs;
mod metrics;
mod traces;
