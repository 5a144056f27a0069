//! Hands out the first admin key: on a terminal, otherwise in a file that only its owner can read. It never appears in
//! a log, because logs are kept, shipped and read by many people.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use postrider_hub::{Error, Hub};

use crate::logs;

/// The file with the key, in the folder of the settings or in the working directory.
const FILE: &str = "postrider-admin.key";

/// Creates the first admin key, if there has never been one, and hands it out.
pub async fn hand_out(hub: &Hub, base: &Path) -> Result<(), Error> {
    if io::stderr().is_terminal() && !logs::are_json() {
        if let Some(first) = hub.create_first_key().await? {
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
    // Create the file first: a key that cannot be written anywhere would be lost.
    let Some(pending) =
        [base, Path::new(".")].into_iter().find_map(|folder| PendingKeyFile::create(folder).ok())
    else {
        tracing::warn!(
            folder = %base.display(),
            "no admin key was created, because no file can be written here; run `postrider key create NAME --role admin`"
        );
        return Ok(());
    };
    let Some(first) = hub.create_first_key().await? else { return Ok(()) };
    match pending.finish(&first.key) {
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

/// A file with a temporary name until it is complete; removed unless it is finished.
struct PendingKeyFile {
    file: File,
    path: PathBuf,
    folder: PathBuf,
}

impl PendingKeyFile {
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

impl Drop for PendingKeyFile {
    fn drop(&mut self) {
        // After `finish` the file has its final name, and this removes nothing.
        let _ = fs::remove_file(&self.path);
    }
}
