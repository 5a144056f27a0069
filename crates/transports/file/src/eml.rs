//! Writes messages as files for later stages to send: one per row, named after the row, with nothing added.
//!
//! Invariant: a file under its final name is complete. A second delivery of the same row replaces it with equal
//! content.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_seams::{Content, Envelope, Failure, Outcome, Receipt, Transport, Value, transport};
use tokio::time::Instant;

use crate::{Error, classify, encode, folder};

/// Writes `ROW.eml` into one folder, and returns its path as `eml_path`.
#[derive(Debug, Clone)]
pub struct EmlFolder {
    base: Arc<PathBuf>,
    folder: Arc<PathBuf>,
}

impl EmlFolder {
    /// Creates the transport without touching the disk.
    /// The folder is created at the first write: its file system may not be mounted yet. `base` is the mount point.
    pub fn new(base: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self { base: Arc::new(base.into()), folder: Arc::new(folder.into()) }
    }

    /// Creates the folder, but never the base: if that is missing, its file system is not mounted, and files would go
    /// to another disk.
    fn create_folder(&self) -> Result<(), Error> {
        fs::metadata(&*self.base).map_err(Error::at(&*self.base))?;
        folder::create_folder(&self.folder)
    }

    fn write(&self, envelope: &Envelope) -> Result<PathBuf, Error> {
        let Content::Mail(mail) = &envelope.content else {
            unreachable!("only composers of messages are wired to this transport")
        };
        let path = self.folder.join(encode::row_name(&envelope.row));
        let temporary = folder::temporary_path(&self.folder);
        let written = folder::create(&temporary).and_then(|mut file| {
            file.write_all(&mail.message)?;
            file.sync_all()
        });
        let moved = written.and_then(|()| fs::rename(&temporary, &path));
        if let Err(error) = moved {
            // Best effort: the first error is the one that matters.
            let _ = fs::remove_file(&temporary);
            return Err(Error::at(&path)(error));
        }
        Ok(path)
    }

    fn write_all(&self, envelopes: &[Envelope]) -> Vec<Outcome> {
        if let Err(error) = self.create_folder() {
            return vec![classify::outcome(&error); envelopes.len()];
        }
        let write = |one: &Envelope| {
            one.may_begin()?;
            self.write(one).map_err(|error| classify::outcome(&error))
        };
        let written: Vec<Result<PathBuf, Outcome>> = envelopes.iter().map(write).collect();
        // A rename is durable only once the folder is synced.
        let synced = folder::sync(&self.folder);
        let outcome = |written: Result<PathBuf, Outcome>| match (written, &synced) {
            (Ok(path), Ok(())) => {
                let path = path.display().to_string();
                let detail = [("eml_path".to_owned(), Value::Text(path.clone()))].into();
                Outcome::Delivered(Receipt { id: Some(path), detail })
            }
            (Err(outcome), _) => outcome,
            (Ok(_), Err(error)) => classify::outcome(error),
        };
        written.into_iter().map(outcome).collect()
    }
}

#[async_trait]
impl Transport for EmlFolder {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(4, 4).with_probe(transport::Probe::Folder)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let (transport, envelopes) = (self.clone(), batch.to_vec());
        let task = tokio::task::spawn_blocking(move || transport.write_all(&envelopes));
        match tokio::time::timeout_at(deadline, task).await {
            Ok(Ok(outcomes)) => outcomes,
            Ok(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            // Writing the same file twice is harmless.
            Err(_) => vec![Outcome::Retryable(Failure::new("the disk did not answer in time")); batch.len()],
        }
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let transport = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            transport.create_folder()?;
            folder::test_write(&transport.folder).map(drop)
        });
        match task.await {
            Ok(result) => result.map_err(Into::into),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
