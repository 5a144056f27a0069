//! Names of the e-mail pipeline's folders and fields; submodules accept mails (`accept`), serve the API (`api`) and
//! clean up files (`files`).
//!
//! Owns: the two folders below the lane's base, and the order "file first, row second". Must not: compose or send.
//! Invariant: this process never removes a file that a row names.

pub mod accept;
pub mod api;
pub mod files;

use std::path::{Path, PathBuf};

use postrider_seams::inspect::RowView;

use crate::settings::LaneSettings;
use crate::wiring::ComposerKind;

/// The folder, below the base, of the payloads that this process writes.
pub const PAYLOADS: &str = "payloads";

/// The contract field that names a payload file.
pub const PAYLOAD_PATH: &str = "payload_path";
/// The contract field that names an .eml file.
pub const EML_PATH: &str = "eml_path";

/// Returns the composer of the lane's stage; an error if the contract names an unknown one.
pub fn composer(lane: &LaneSettings) -> Result<ComposerKind, String> {
    ComposerKind::of(&lane.contract.stages[lane.stage].composer)
}

/// The column that holds a field.
fn column(lane: &LaneSettings, field: &str) -> Option<String> {
    let columns = lane.contract.message_columns();
    columns.into_iter().find(|(known, _)| known == field).map(|(_, column)| column)
}

/// The files that a row names, resolved against the base.
fn files_of_row(lane: &LaneSettings, base: &Path, row: &RowView) -> Vec<PathBuf> {
    let columns: Vec<String> =
        [PAYLOAD_PATH, EML_PATH].iter().filter_map(|field| column(lane, field)).collect();
    let mine = row.columns.iter().filter(|(name, _)| columns.contains(name));
    mine.filter_map(|(_, path)| path.as_ref()).map(|path| base.join(path)).collect()
}
