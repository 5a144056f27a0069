//! Messages as files that later stages send: one for each row, under the row's name, and nothing added to it.
//!
//! Invariant: a file under its own name is whole. A second delivery of the same row replaces it by the like.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_seams::{Content, Envelope, Failure, Outcome, Receipt, Transport, Value, transport};
use tokio::time::Instant;

use crate::{Error, classify, encode, folder};

/// Writes `ROW.eml` into one folder, and tells its path as `eml_path`.
#[derive(Debug, Clone)]
pub struct EmlFolder {
    base: Arc<PathBuf>,
    folder: Arc<PathBuf>,
}

impl EmlFolder {
    /// The folder is made when it is first written to: it may be on a file system that is not there yet. `base` is where that
    /// file system begins.
    pub fn new(base: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self { base: Arc::new(base.into()), folder: Arc::new(folder.into()) }
    }

    /// The base is never made: where it is missing its file system is, and what is written would be on another disk.
    fn make(&self) -> Result<(), Error> {
        fs::metadata(&*self.base).map_err(Error::at(&*self.base))?;
        folder::make(&self.folder)
    }

    fn write(&self, envelope: &Envelope) -> Result<PathBuf, Error> {
        let Content::Mail(mail) = &envelope.content else {
            unreachable!("only composers of messages are wired to this transport")
        };
        let path = self.folder.join(encode::row_name(&envelope.row));
        let temporary = folder::temporary(&self.folder);
        let written = folder::create(&temporary).and_then(|mut file| {
            file.write_all(&mail.message)?;
            file.sync_all()
        });
        let moved = written.and_then(|()| fs::rename(&temporary, &path));
        if let Err(error) = moved {
            // Best effort: the error that matters is the first.
            let _ = fs::remove_file(&temporary);
            return Err(Error::at(&path)(error));
        }
        Ok(path)
    }

    fn write_all(&self, envelopes: &[Envelope]) -> Vec<Outcome> {
        if let Err(error) = self.make() {
            return vec![classify::outcome(&error); envelopes.len()];
        }
        let write = |one: &Envelope| {
            one.may_begin()?;
            self.write(one).map_err(|error| classify::outcome(&error))
        };
        let written: Vec<Result<PathBuf, Outcome>> = envelopes.iter().map(write).collect();
        // A rename is only certain once the folder is on the disk.
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
        transport::Capabilities::new(4, 4)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let (own, envelopes) = (self.clone(), batch.to_vec());
        let task = tokio::task::spawn_blocking(move || own.write_all(&envelopes));
        match tokio::time::timeout_at(deadline, task).await {
            Ok(Ok(outcomes)) => outcomes,
            Ok(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            // Written twice is written once.
            Err(_) => vec![Outcome::Retryable(Failure::new("the disk did not answer in time")); batch.len()],
        }
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let own = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            own.make()?;
            folder::try_out(&own.folder).map(drop)
        });
        match task.await {
            Ok(result) => result.map_err(Into::into),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
