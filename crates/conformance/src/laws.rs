//! The conformance tests ("laws"), by theme. Each function is one test, with its name in the table.

pub(crate) mod attempts;
pub(crate) mod claim;
pub(crate) mod content;
pub(crate) mod due;
pub(crate) mod effects;
pub(crate) mod fence;
pub(crate) mod foreign;
pub(crate) mod group_ends;
pub(crate) mod group_keys;
mod group_rows;
pub(crate) mod group_stress;
pub(crate) mod groups;
pub(crate) mod handoff;
pub(crate) mod locks;
pub(crate) mod operator;
pub(crate) mod pools;
pub(crate) mod purge;
pub(crate) mod recovery;
pub(crate) mod settle;
pub(crate) mod sweeps;
pub(crate) mod unanswered;
