//! Shared parts of the tests of the real binary: workers, a folder with settings, separate SQL, and
//! the relay's journal.
//!
//! Nothing here uses Postrider's code, so that the code is not checked with itself.

pub mod callback_receiver;
pub mod database;
pub mod guardian;
pub mod installation;
pub mod journal;
pub mod relay;
pub mod slow_relay;
pub mod sql;
pub mod wait;
pub mod webhook_receiver;
pub mod worker;
