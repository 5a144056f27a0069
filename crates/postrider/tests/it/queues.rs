//! Jobs that an external queue hands over, by the real binary: the table, the broker and the receiver must agree.

mod away;
mod handoff;
mod kept;
mod nets;
mod settings;
mod site;
mod small;
