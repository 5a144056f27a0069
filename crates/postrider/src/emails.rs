//! The e-mail pipeline's files: taking new e-mails in, and keeping files and rows in step.
//!
//! Owns: the two folders below the lane's base, and the order "file first, row second". Must not: compose or send.
//! Invariant: a file that a row names is never removed by us.

pub mod accept;
pub mod files;
pub mod mailroom;

use std::path::{Path, PathBuf};

use postrider_seams::inspect::RowView;

use crate::settings::LaneSettings;
use crate::wiring::ComposerKind;

/// Payloads that we write are here, below the base.
pub const PAYLOADS: &str = "payloads";

/// The field of the contract that names a payload file, and the one that names an .eml file.
pub const PAYLOAD_PATH: &str = "payload_path";
pub const EML_PATH: &str = "eml_path";

pub fn composer(lane: &LaneSettings) -> Result<ComposerKind, String> {
    ComposerKind::of(&lane.contract.stages[lane.stage].composer)
}

/// The column that a field is kept in.
fn column(lane: &LaneSettings, field: &str) -> Option<String> {
    let columns = lane.contract.message_columns();
    columns.into_iter().find(|(known, _)| known == field).map(|(_, column)| column)
}

/// The files that a row names, from the base on.
fn named(lane: &LaneSettings, base: &Path, row: &RowView) -> Vec<PathBuf> {
    let columns: Vec<String> =
        [PAYLOAD_PATH, EML_PATH].iter().filter_map(|field| column(lane, field)).collect();
    let mine = row.columns.iter().filter(|(name, _)| columns.contains(name));
    mine.filter_map(|(_, path)| path.as_ref()).map(|path| base.join(path)).collect()
}
