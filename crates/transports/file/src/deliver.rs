//! Writes the files: a temporary one, fsync, rename; then the folder itself, once for the batch.

use std::fs;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::message_tail::MessageTail;
use postrider_seams::{Content, Envelope, Failure, Mail, Outcome, Receipt, Transport, Value, transport};
use tokio::time::Instant;

use crate::{Error, Settings, classify, encode, folder};

/// Wait of rows that were not written before the deadline.
const NOT_WRITTEN_DELAY: Duration = Duration::from_secs(1);

/// Writes mails and records to one folder.
#[derive(Debug, Clone)]
pub struct FileTransport {
    settings: Arc<Settings>,
}

impl FileTransport {
    /// Creates the folder if it is missing, and removes temporary files that killed writers left behind.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        folder::create_folder(&settings.folder)?;
        folder::remove_abandoned(&settings.folder)?;
        Ok(Self { settings: Arc::new(settings) })
    }
}

#[async_trait]
impl Transport for FileTransport {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(64, 4).with_probe(transport::Probe::Folder)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let settings = Arc::clone(&self.settings);
        let envelopes = batch.to_vec(); // the messages are shared, not copied
        let task = tokio::task::spawn_blocking(move || write_all(&settings, &envelopes, deadline));
        match tokio::time::timeout_at(deadline, task).await {
            Ok(Ok(outcomes)) => outcomes,
            Ok(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {
                let failure = Failure::new("the disk did not answer in time");
                vec![Outcome::Uncertain(failure); batch.len()]
            }
        }
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let settings = Arc::clone(&self.settings);
        let task = tokio::task::spawn_blocking(move || {
            folder::create_folder(&settings.folder)?;
            folder::test_write(&settings.folder).map(drop)
        });
        match task.await {
            Ok(result) => result.map_err(Into::into),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

fn write_all(settings: &Settings, envelopes: &[Envelope], deadline: Instant) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> =
        envelopes.iter().map(|envelope| write(settings, envelope, deadline)).collect();
    // A rename is durable only once the folder is synced.
    if let Err(error) = sync(settings) {
        for outcome in outcomes.iter_mut().filter(|outcome| matches!(outcome, Outcome::Delivered(_))) {
            *outcome = classify::outcome(&error);
        }
    }
    outcomes
}

fn sync(settings: &Settings) -> Result<(), Error> {
    if settings.sync { folder::sync(&settings.folder) } else { Ok(()) }
}

fn write(settings: &Settings, envelope: &Envelope, deadline: Instant) -> Outcome {
    if Instant::now() >= deadline {
        let failure = Failure::new("no time was left to write the file");
        return Outcome::Deferred(Failure { after: Some(NOT_WRITTEN_DELAY), ..failure });
    }
    if let Err(outcome) = envelope.may_begin() {
        return outcome;
    }
    let written = match &envelope.content {
        Content::Mail(mail) => {
            let header = encode::envelope(mail);
            write_file(
                settings,
                encode::file_name(mail),
                header.as_bytes(),
                &mail.message,
                mail.rest.as_deref(),
            )
            .map(|name| receipt(mail, name))
        }
        Content::Record(record) => {
            let header = encode::record_line(record);
            let name = encode::record_name(record, &envelope.dedupe);
            write_file(settings, name, header.as_bytes(), &record.payload, None)
                .map(|name| Receipt { id: Some(name), ..Receipt::default() })
        }
        Content::Webhook(_) | Content::Nothing => {
            return Outcome::Rejected(Failure::new(
                "not a mail or a record: this transport writes only these",
            ));
        }
    };
    match written {
        Ok(receipt) => Outcome::Delivered(receipt),
        Err(error) => classify::outcome(&error),
    }
}

fn write_file(
    settings: &Settings,
    name: String,
    header: &[u8],
    content: &[u8],
    rest: Option<&dyn MessageTail>,
) -> Result<String, Error> {
    let temporary = folder::temporary_path(&settings.folder);
    let written = folder::create(&temporary).and_then(|mut file| {
        file.write_all(header)?;
        file.write_all(content)?;
        let mut blocks = rest.map(MessageTail::blocks);
        while let Some(block) = blocks.as_mut().map(|blocks| blocks.read()).transpose()?.flatten() {
            file.write_all(&block)?;
        }
        if settings.sync { file.sync_all() } else { Ok(()) }
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, settings.folder.join(&name)));
    if let Err(error) = renamed {
        // Best effort: the first error is the one that matters.
        let _ = fs::remove_file(&temporary);
        return Err(Error::at(settings.folder.join(&name))(error));
    }
    Ok(name)
}

fn receipt(mail: &Mail, name: String) -> Receipt {
    let accepted = |address: &String| Recipient {
        address: address.clone(),
        result: RecipientResult::Accepted,
        reply: String::new(),
    };
    let recipients: Vec<Recipient> =
        mail.settled.iter().cloned().chain(mail.to.iter().map(accepted)).collect();
    let json = serde_json::to_string(&recipients).expect("recipients are plain data");
    Receipt { id: Some(name), detail: [("recipients".to_owned(), Value::Text(json))].into() }
}
