//! The first admin key: shown on a terminal, else written to a file that only its owner can read. Never in a log: logs are
//! kept, shipped and read by many.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use postrider_hub::{Error, Hub};

use crate::logs;

/// The file beside the settings, or where the process was started.
const FILE: &str = "postrider-admin.key";

/// Makes the first admin key, where there has never been one, and hands it out.
pub async fn hand_out(hub: &Hub, base: &Path) -> Result<(), Error> {
    if io::stderr().is_terminal() && !logs::are_json() {
        if let Some(first) = hub.first_key().await? {
            eprintln!(
                "\nThe first admin key of the API. Store it now: it is shown only once.\n\n    {}\n",
                first.key
            );
        }
        return Ok(());
    }
    if hub.has_first_key().await? {
        return Ok(());
    }
    // The file comes first: a key that could not be handed out would be lost.
    let Some(draft) = [base, Path::new(".")].into_iter().find_map(|folder| Draft::create(folder).ok()) else {
        tracing::warn!(
            folder = %base.display(),
            "no admin key was created, because no file can be written here; run `postrider key create NAME --role admin`"
        );
        return Ok(());
    };
    let Some(first) = hub.first_key().await? else { return Ok(()) };
    match draft.finish(&first.key) {
        Ok(file) => tracing::info!(
            file = %file.display(),
            "the first admin key of the API was written to a file: read it, then delete the file"
        ),
        Err(error) => tracing::error!(
            %error,
            "the first admin key could not be written: run `postrider key create NAME --role admin`"
        ),
    }
    Ok(())
}

/// A file under a name of its own until it is complete; removed unless it is finished.
struct Draft {
    file: File,
    path: PathBuf,
    folder: PathBuf,
}

impl Draft {
    fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!(".{FILE}.{}", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { file, path, folder: folder.to_owned() })
    }

    fn finish(mut self, key: &str) -> io::Result<PathBuf> {
        writeln!(self.file, "{key}")?;
        self.file.sync_all()?;
        let file = self.folder.join(FILE);
        fs::rename(&self.path, &file)?;
        Ok(file)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After `finish` it has another name, and there is nothing to remove.
        let _ = fs::remove_file(&self.path);
    }
}
