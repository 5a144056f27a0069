//! Shared parts of the tests of the real binary: workers, a folder with settings, separate SQL, and
//! the relay's journal.
//!
//! Nothing here uses Postrider's code, so that the code is not checked with itself.

pub mod database;
pub mod guardian;
pub mod home;
pub mod hooks;
pub mod journal;
pub mod receiver;
pub mod relay;
pub mod sql;
pub mod wait;
pub mod worker;
