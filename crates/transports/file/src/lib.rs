//! The file transport: every mail becomes an .eml file in a folder, every record a .record file, whole or not at all.
//!
//! Owns: names and contents of the files. Must not: remove one. Invariant: what is delivered again replaces its
//! own file, so the folder never holds it twice.

mod classify;
mod config;
mod deliver;
mod eml;
mod encode;
mod error;
mod folder;

pub use config::Config;
pub use deliver::FileTransport;
pub use eml::EmlFolder;
pub use error::Error;
