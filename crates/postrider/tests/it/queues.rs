//! Jobs of an external queue with the real binary: the table, the broker and the receiver must agree.

mod groups_and_pools;
mod handoff;
mod maintenance;
mod settings;
mod setup;
mod small_lanes;
mod unavailable;
