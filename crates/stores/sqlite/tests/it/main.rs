//! The SQLite store on real files. Rows are checked by SQL of the tests' own, never through the store.

mod disk;
mod file;
mod groups;
mod lane;
mod locking;
mod migrate;
mod plans;
mod rendered;
mod unreadable;
mod values;
mod wake;
