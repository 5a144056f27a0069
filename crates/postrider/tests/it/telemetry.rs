//! What operators see of a run: traces at a collector, figures at `/metrics`, lines in the log.

mod figures;
mod logs;
mod traces;
