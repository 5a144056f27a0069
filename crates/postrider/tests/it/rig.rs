//! What tests of the real binary share: workers, a folder with settings, SQL of their own, and the relay's journal.
//!
//! Nothing here uses Postrider's own code: what it checks must not be what it checks with.

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
