//! Compares files with rows: finds files without a row and rows without a file. `check` lists them, and an optional
//! sweep removes the files.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use postrider_seams::inspect::{Finding, Level, Query, RowView};
use postrider_seams::store::Error;

use super::{EML_PATH, PAYLOAD_PATH, PAYLOADS, column, composer, files_of_row};
use crate::settings::LaneSettings;
use crate::wiring::{ComposerKind, LaneTable};

/// Files and rows that `check` lists by name; it only counts the rest.
const MAX_LISTED: usize = 20;
/// Rows per page, and pages per scan of the whole table.
const PAGE: u32 = 500;
const MAX_PAGES: usize = 400;
/// Time between two sweeps.
const SWEEP_EVERY: Duration = Duration::from_hours(1);

/// Reports a missing base folder, and files or rows of intake whose counterpart is missing; empty for other lanes.
pub async fn findings(lane: &LaneSettings, table: &dyn LaneTable) -> Vec<Finding> {
    let Some(base) = lane.emails.base.as_ref() else { return Vec::new() };
    let kind = composer(lane);
    if matches!(kind, Ok(ComposerKind::Eml | ComposerKind::RawEml)) && !base.is_dir() {
        let text = format!(
            "the base folder {} does not exist: check that its file system is mounted",
            base.display()
        );
        return vec![Finding { level: Level::Error, text, fix: None }];
    }
    if kind != Ok(ComposerKind::Eml) {
        return Vec::new();
    }
    let warning = |text: String| Finding { level: Level::Warning, text, fix: None };
    let mut found = Vec::new();
    match files_without_row(lane, base, table, Duration::ZERO).await {
        Ok(files_without_row) => {
            let text = |path: &PathBuf| format!("file {} has no row", path.display());
            found.extend(
                shortened("files have no row", files_without_row.iter().map(text).collect())
                    .into_iter()
                    .map(warning),
            );
        }
        Err(error) => found.push(warning(format!("cannot compare files with rows: {error}"))),
    }
    match rows_without_file(lane, base, table).await {
        Ok(rows_without_file) => {
            let text = |(id, path): &(String, PathBuf)| format!("row {id} has no file {}", path.display());
            found.extend(
                shortened("rows have no file", rows_without_file.iter().map(text).collect())
                    .into_iter()
                    .map(warning),
            );
        }
        Err(error) => found.push(warning(format!("cannot compare rows with files: {error}"))),
    }
    found
}

/// Shortens the list to its first entries and the number of the rest.
fn shortened(more: &str, mut texts: Vec<String>) -> Vec<String> {
    let count = texts.len();
    texts.truncate(MAX_LISTED);
    if count > MAX_LISTED {
        texts.push(format!("{} more {more}", count - MAX_LISTED));
    }
    texts
}

/// Files of our two folders that are older than `age` and that no row names.
async fn files_without_row(
    lane: &LaneSettings,
    base: &Path,
    table: &dyn LaneTable,
    age: Duration,
) -> Result<BTreeSet<PathBuf>, Error> {
    let mut suspects = BTreeSet::new();
    let folders = [(Some(base.join(PAYLOADS)), "json"), (lane.emails.eml_folder(), "eml")];
    for (folder, end) in folders.into_iter().filter_map(|(folder, end)| Some((folder?, end))) {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if is_candidate(&path, end, age) && !is_named(lane, table, &path).await? {
                suspects.insert(path);
            }
        }
    }
    // Applications choose their file names freely, so any row may name a suspect.
    if !suspects.is_empty() && !remove_named(lane, table, &mut suspects).await? {
        return Ok(BTreeSet::new());
    }
    Ok(suspects)
}

fn is_candidate(path: &Path, end: &str, age: Duration) -> bool {
    let hidden = path.file_name().and_then(|name| name.to_str()).is_none_or(|name| name.starts_with('.'));
    let ours = path.extension().is_some_and(|own| own == end) && !hidden;
    let old = || path.metadata().and_then(|about| about.modified());
    ours && (age.is_zero() || old().is_ok_and(|time| time.elapsed().is_ok_and(|since| since > age)))
}

/// Whether the row names the file; its id is the start of the file's name: `ID.eml`, or `ID.x.json`.
async fn is_named(lane: &LaneSettings, table: &dyn LaneTable, path: &Path) -> Result<bool, Error> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let ids = [Some(stem), stem.rsplit_once('.').map(|(id, _)| id)];
    for id in ids.into_iter().flatten() {
        if let Some(row) = table.show(id).await?
            && names(lane, &row).any(|known| path.file_name() == Some(&known))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The file names that a row holds, without folders: those can be written in many ways, for example with links to the
/// base. A file whose name occurs in any row is kept.
fn names(lane: &LaneSettings, row: &RowView) -> impl Iterator<Item = OsString> {
    files_of_row(lane, Path::new(""), row).into_iter().filter_map(|path| path.file_name().map(OsString::from))
}

/// Removes from `suspects` what any row names. Returns false if the table is too large to scan.
async fn remove_named(
    lane: &LaneSettings,
    table: &dyn LaneTable,
    suspects: &mut BTreeSet<PathBuf>,
) -> Result<bool, Error> {
    let mut left: HashMap<OsString, Vec<PathBuf>> = HashMap::new();
    for path in std::mem::take(suspects) {
        left.entry(path.file_name().unwrap_or_default().to_owned()).or_default().push(path);
    }
    let mut after = None;
    for _ in 0..MAX_PAGES {
        let page = table.list(&Query { limit: PAGE, after, ..Query::default() }).await?;
        for name in page.rows.iter().flat_map(|row| names(lane, row)) {
            left.remove(&name);
        }
        after = page.next;
        if after.is_none() {
            suspects.extend(left.into_values().flatten());
            return Ok(true);
        }
    }
    Ok(false)
}

/// Rows that wait for intake or for sending, and whose file is missing.
async fn rows_without_file(
    lane: &LaneSettings,
    base: &Path,
    table: &dyn LaneTable,
) -> Result<Vec<(String, PathBuf)>, Error> {
    let mut found = Vec::new();
    for (stage, field) in [("intake", PAYLOAD_PATH), ("send", EML_PATH)] {
        let (Some(stage), Some(column)) = (lane.contract.stage(stage), column(lane, field)) else { continue };
        let state = lane.contract.state(stage.ready[0]).name.clone();
        let mut after = None;
        for _ in 0..MAX_PAGES {
            let page = table
                .list(&Query { state: Some(state.clone()), limit: PAGE, after, ..Query::default() })
                .await?;
            for row in page.rows {
                let path =
                    row.columns.iter().find(|(known, _)| *known == column).and_then(|(_, path)| path.clone());
                let path = base.join(path.unwrap_or_else(|| "(none named)".to_owned()));
                if !path.exists() {
                    found.push((row.id, path));
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(found)
}

/// Starts a task that removes files without a row, for as long as the process lives.
pub fn sweep(lane: LaneSettings, table: Arc<dyn LaneTable>, age: Duration) {
    tokio::spawn(async move {
        loop {
            match remove(&lane, &*table, age).await {
                Ok(0) => {}
                Ok(removed) => tracing::info!(lane = lane.name, removed, "files without a row were removed"),
                Err(error) => tracing::warn!(lane = lane.name, %error, "cannot compare files with rows"),
            }
            tokio::time::sleep(SWEEP_EVERY.min(age)).await;
        }
    });
}

/// Removes files older than `age` that have no row; returns how many.
async fn remove(lane: &LaneSettings, table: &dyn LaneTable, age: Duration) -> Result<u64, Error> {
    let Some(base) = &lane.emails.base else { return Ok(0) };
    let mut removed = 0;
    for file in files_without_row(lane, base, table, age).await? {
        removed += u64::from(std::fs::remove_file(&file).is_ok());
    }
    Ok(removed)
}
