//! The telemetry of a run: traces at a collector, metrics at `/metrics`, log lines.

mod figures;
mod logs;
mod traces;
