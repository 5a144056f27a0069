//! Jobs of an external queue with the real binary: the table, the broker and the receiver must agree.

mod away;
mod handoff;
mod kept;
mod nets;
mod settings;
mod site;
mod small;
