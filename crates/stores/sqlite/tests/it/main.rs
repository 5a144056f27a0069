//! Tests of the SQLite store on real files. They check rows with their own SQL, never through the store.

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
