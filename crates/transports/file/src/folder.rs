//! The target folder: created for its owner only, tested, synced, and cleaned of abandoned temporary files.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::Error;

/// Age from which a temporary file is abandoned: no write takes this long.
const ABANDONED_AFTER: Duration = Duration::from_hours(1);

/// Creates the folder with its parents, if it is missing.
pub fn create_folder(folder: &Path) -> Result<(), Error> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::at(folder))
}

/// Creates and removes a file; returns the time of the file system's clock.
pub fn test_write(folder: &Path) -> Result<SystemTime, Error> {
    let path = temporary_path(folder);
    let made = create(&path).and_then(|file| file.metadata()?.modified());
    let removed = fs::remove_file(&path);
    made.and_then(|time| removed.map(|()| time)).map_err(Error::at(folder))
}

/// Flushes the folder's entries to disk.
pub fn sync(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::at(folder))
}

/// Removes abandoned temporary files.
pub fn remove_abandoned(folder: &Path) -> Result<(), Error> {
    let now = test_write(folder)?;
    let old = |path: &Path| -> io::Result<bool> {
        Ok(now.duration_since(fs::metadata(path)?.modified()?).is_ok_and(|age| age > ABANDONED_AFTER))
    };
    for entry in fs::read_dir(folder).map_err(Error::at(folder))? {
        let path = entry.map_err(Error::at(folder))?.path();
        // Another instance may clean up at the same time: a missing file is not an error.
        if is_temporary(&path) && old(&path).unwrap_or(false) {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// Returns a temporary path that is unique for every write, also among machines that share the folder.
/// It is hidden, so that readers of `*.eml` never see a partial mail.
pub fn temporary_path(folder: &Path) -> PathBuf {
    folder.join(format!(".{:016x}.part", rand::random::<u64>()))
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
        && path.extension().is_some_and(|extension| extension == "part")
}

/// Creates a new file, readable by its owner only; fails if it exists.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}
