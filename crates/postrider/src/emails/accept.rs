//! Accepts an e-mail: writes its file first, then its row. If the row is refused, the file is removed.
//!
//! Every attempt uses a new file name, so that two attempts with one id never overwrite each other; the row names the
//! file of the attempt that succeeded.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use postrider_seams::Value;
use postrider_seams::produce::KEY;
use postrider_seams::row::Detail;
use postrider_seams::store::Error;

use super::{EML_PATH, PAYLOAD_PATH, PAYLOADS, files_of_row};
use crate::settings::LaneSettings;
use crate::wiring::LaneTable;

/// The contract field that holds the producer's trace context.
const TRACE: &str = "traceparent";

/// Longest id that the table's key column holds.
const MAX_ID_LENGTH: usize = 36;

/// The content of the file, which decides in which stage the e-mail starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailFileKind {
    /// A payload, for the stage intake.
    Payload,
    /// A finished message, for the stage send.
    Eml,
}

/// The reason why an e-mail was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("there is already an e-mail {0}")]
    Duplicate(String),
    #[error(
        "an id has at most {MAX_ID_LENGTH} letters, digits, `.`, `_` and `-`, and does not start with a dot"
    )]
    Id,
    #[error("{0}")]
    Disk(String),
    #[error(transparent)]
    Store(#[from] Error),
}

/// Checks that the id is usable as a key and as a file name.
pub fn check_id(id: &str) -> Result<(), Refusal> {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let good = !id.is_empty() && id.len() <= MAX_ID_LENGTH && !id.starts_with('.') && id.bytes().all(fine);
    if good { Ok(()) } else { Err(Refusal::Id) }
}

/// Writes the file and the row. `lane` must be the one whose stage starts from such a file; `trace` is written into the
/// row if the lane has a column for it.
pub async fn accept(
    lane: &LaneSettings,
    table: &dyn LaneTable,
    id: &str,
    content: EmailFileKind,
    bytes: Bytes,
    trace: Option<String>,
) -> Result<(), Refusal> {
    check_id(id)?;
    // Query first, so that no file is written while the database is unavailable.
    if table.show(id).await?.is_some() {
        return Err(Refusal::Duplicate(id.to_owned()));
    }
    let base = lane.emails.base.clone().unwrap_or_default();
    let (folder, end, field) = match content {
        EmailFileKind::Payload => (base.join(PAYLOADS), "json", PAYLOAD_PATH),
        EmailFileKind::Eml => (lane.emails.eml_folder().unwrap_or_default(), "eml", EML_PATH),
    };
    let path = write_apart(folder, id, end, bytes).await?;
    let mut fields = Detail::from([
        (KEY.to_owned(), Value::Text(id.to_owned())),
        (field.to_owned(), Value::Text(path.display().to_string())),
    ]);
    let keeps = lane.contract.message_columns().iter().any(|(field, _)| field == TRACE);
    fields.extend(trace.filter(|_| keeps).map(|trace| (TRACE.to_owned(), Value::Text(trace))));
    match table.produce(&fields).await {
        Ok(_) => Ok(()),
        Err(error) => resolve_failed_insert(lane, table, id, &base, &path, error).await,
    }
}

/// Finds out whether the row was refused or its answer was lost, by reading it from the table.
async fn resolve_failed_insert(
    lane: &LaneSettings,
    table: &dyn LaneTable,
    id: &str,
    base: &Path,
    path: &Path,
    error: Error,
) -> Result<(), Refusal> {
    // If the table cannot be read, keep the file: `check` finds a surplus file, but a missing one loses a mail.
    let Ok(row) = table.show(id).await else { return Err(error.into()) };
    if row.as_ref().is_some_and(|row| files_of_row(lane, base, row).iter().any(|known| known == path)) {
        return Ok(());
    }
    if let Err(error) = std::fs::remove_file(path) {
        tracing::warn!(file = %path.display(), %error, "cannot remove a file without a row");
    }
    Err(if row.is_some() { Refusal::Duplicate(id.to_owned()) } else { error.into() })
}

/// Writes the file on a thread for blocking calls: flushing it to the disk takes milliseconds, and requests that flush
/// at the same time share the work of the disk.
async fn write_apart(folder: PathBuf, id: &str, end: &'static str, bytes: Bytes) -> Result<PathBuf, Refusal> {
    let id = id.to_owned();
    let task = tokio::task::spawn_blocking(move || write(&folder, &id, end, &bytes));
    task.await.unwrap_or_else(|error| Err(Refusal::Disk(error.to_string())))
}

/// Writes a file completely or not at all.
fn write(folder: &Path, id: &str, end: &str, bytes: &[u8]) -> Result<PathBuf, Refusal> {
    let failed = |error: std::io::Error| Refusal::Disk(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    let path = folder.join(format!("{id}.{:08x}.{end}", rand::random::<u32>()));
    let file = file.persist_noclobber(&path).map_err(|error| failed(error.error))?;
    drop(file);
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(path)
}

/// Makes a UUID, version 4, variant 1 (RFC 9562).
pub fn new_id() -> String {
    let random: u128 = rand::random();
    let bits = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_the_folder() {
        for id in ["a", "7f3a.b_c-D", &new_id()] {
            assert!(check_id(id).is_ok(), "{id}");
        }
        for id in ["", ".hidden", "..", "a/b", "a\\b", "ä", "a b", &"x".repeat(37)] {
            assert!(check_id(id).is_err(), "{id}");
        }
    }

    #[test]
    fn attempts_with_one_id_use_separate_files() {
        let folder = tempfile::tempdir().unwrap();
        let one = write(folder.path(), "a", "json", b"1").unwrap();
        let two = write(folder.path(), "a", "json", b"2").unwrap();
        assert_ne!(one, two);
        assert_eq!(
            (std::fs::read(one).unwrap(), std::fs::read(two).unwrap()),
            (b"1".to_vec(), b"2".to_vec())
        );
    }
}
