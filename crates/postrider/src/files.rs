//! The files of the e-mail pipeline against its rows: what has lost its other half.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use postrider_seams::Inspect as _;
use postrider_seams::inspect::{Finding, Level, Query};

use crate::settings::LaneSettings;
use crate::wiring::{ComposerKind, Table};

/// Files and rows that are looked at: a folder may have millions.
const LOOKED_AT: usize = 1000;
/// A file is written before its row: a younger one may only be early.
const GRACE: Duration = Duration::from_hours(1);

/// What intake's files and rows lack; nothing for other lanes.
pub async fn findings(lane: &LaneSettings, table: &dyn Table) -> Vec<Finding> {
    let is_intake = ComposerKind::of(&lane.contract.stages[lane.stage].composer) == Ok(ComposerKind::Eml);
    let Some(base) = lane.emails.base.as_ref().filter(|_| is_intake) else { return Vec::new() };
    let warning = |text: String| Finding { level: Level::Warning, text, mend: None };
    let mut found = Vec::new();
    let folders = [Some(base.join("payloads")), lane.emails.eml_folder()];
    for folder in folders.into_iter().flatten() {
        for file in orphans(&folder, table, GRACE).await {
            found.push(warning(format!("file {} has no row", file.display())));
        }
    }
    for (id, path) in bereft(lane, base, table).await {
        found.push(warning(format!("row {id} has lost its file {}", path.display())));
    }
    found
}

/// Files older than `age` whose row is gone.
pub async fn orphans(folder: &Path, table: &dyn Table, age: Duration) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).take(LOOKED_AT) {
        let old = path.metadata().and_then(|about| about.modified());
        let old = old.is_ok_and(|time| time.elapsed().is_ok_and(|since| since > age));
        let id = path.file_stem().and_then(|stem| stem.to_str()).filter(|id| !id.starts_with('.'));
        if let (true, Some(id)) = (old, id)
            && matches!(table.show(id).await, Ok(None))
        {
            found.push(path);
        }
    }
    found
}

/// Rows that wait for intake or to be sent, and whose file is not there.
async fn bereft(lane: &LaneSettings, base: &Path, table: &dyn Table) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for (stage, field) in [("intake", "payload_path"), ("send", "eml_path")] {
        let column = lane.contract.message_columns().into_iter().find(|(known, _)| known == field);
        let (Some(stage), Some((_, column))) = (lane.contract.stage(stage), column) else { continue };
        let state = Some(lane.contract.state(stage.ready[0]).name.clone());
        let query = Query { state, limit: u32::try_from(LOOKED_AT).unwrap_or(u32::MAX), after: None };
        let Ok(page) = table.browse(&query).await else { continue };
        for row in page.rows {
            let path =
                row.columns.iter().find(|(known, _)| *known == column).and_then(|(_, path)| path.clone());
            match path.map(|path| base.join(path)) {
                Some(path) if !path.exists() => found.push((row.id, path)),
                _ => {}
            }
        }
    }
    found
}

/// Removes them for as long as the process lives, once in a while.
pub fn sweep(lane: LaneSettings, table: Arc<dyn Table>, age: Duration) {
    tokio::spawn(async move {
        loop {
            match remove(&lane, &*table, age).await {
                0 => {}
                removed => tracing::info!(lane = lane.name, removed, "files without a row were removed"),
            }
            tokio::time::sleep(GRACE).await;
        }
    });
}

/// Removes what has had no row for `age`; answers how many files that were.
pub async fn remove(lane: &LaneSettings, table: &dyn Table, age: Duration) -> u64 {
    let Some(base) = &lane.emails.base else { return 0 };
    let mut removed = 0;
    for folder in [Some(base.join("payloads")), lane.emails.eml_folder()].into_iter().flatten() {
        for file in orphans(&folder, table, age).await {
            removed += u64::from(std::fs::remove_file(&file).is_ok());
        }
    }
    removed
}
