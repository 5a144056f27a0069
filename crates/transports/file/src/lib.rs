//! File transport: writes every mail to an .eml file and every record to a .record file, complete or not at all.
//!
//! Owns: names and contents of the files. Must not: remove one. Invariant: a second delivery replaces its own file, so
//! the folder never has two files of one row.

mod classify;
mod config;
mod deliver;
mod eml;
mod encode;
mod error;
mod folder;

pub use config::Settings;
pub use deliver::FileTransport;
pub use eml::EmlFolder;
pub use error::Error;
