//! An e-mail for the pipeline: its payload file first, its row second; a row that is refused takes its file with it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use postrider_seams::Value;
use postrider_seams::produce::KEY;
use postrider_seams::row::Detail;

use super::super::Desk;
use super::body;
use crate::cli::MailArgs;
use crate::failure::Failure;
use crate::settings::LaneSettings;

/// Below the base folder.
const PAYLOADS: &str = "payloads";
/// What the table's key column takes.
const LONGEST_ID: usize = 36;

pub async fn send(desk: &Desk, lane: &LaneSettings, args: &MailArgs) -> Result<(), Failure> {
    let id = match &args.idempotency_key {
        Some(id) => checked(id)?.to_owned(),
        None => fresh(),
    };
    let base = lane.emails.base.as_ref().expect("the settings were checked: intake has its base folder");
    let path = write(&base.join(PAYLOADS), &id, &payload(&id, args)?)?;
    let text = |text: String| Value::Text(text);
    let fields = Detail::from([
        (KEY.to_owned(), text(id.clone())),
        ("payload_path".to_owned(), text(path.display().to_string())),
    ]);
    let written = match desk.wiring.open(lane).await {
        Ok(table) => table.produce(&fields).await,
        Err(error) => Err(error),
    };
    if let Err(error) = written {
        // The error that matters is the first; `check` lists files without a row.
        let _ = std::fs::remove_file(&path);
        return Err(error.into());
    }
    writeln!(std::io::stdout(), "{id}")?;
    eprintln!("e-mail {id} waits in table `{}` of lane `{}`", lane.contract.table.name, lane.name);
    Ok(())
}

/// A key that is a file name too.
fn checked(id: &str) -> Result<&str, Failure> {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if id.is_empty() || id.len() > LONGEST_ID || id.starts_with('.') || !id.bytes().all(fine) {
        let text = format!(
            "--idempotency-key is the e-mail's id there: letters, digits, `.`, `_` and `-`, at most {LONGEST_ID}"
        );
        return Err(Failure::Misuse(text));
    }
    Ok(id)
}

fn payload(id: &str, args: &MailArgs) -> Result<String, Failure> {
    let payload = serde_json::json!({
        "id": id,
        "from": args.from,
        "to": args.to,
        "cc": args.cc,
        "bcc": args.bcc,
        "subject": args.subject,
        "body_text": args.text.as_deref().map(body).transpose()?,
        "body_html": args.html,
    });
    Ok(payload.to_string())
}

/// Whole or not at all, and never over another e-mail's.
fn write(folder: &Path, id: &str, payload: &str) -> Result<PathBuf, Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(payload.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    let path = folder.join(format!("{id}.json"));
    match file.persist_noclobber(&path) {
        Ok(_) => {
            std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
            Ok(path)
        }
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Failure::Failed(format!("there is an e-mail {id} already: {}", path.display())))
        }
        Err(error) => Err(failed(error.error)),
    }
}

/// A UUID, version 4, variant 1 (RFC 9562).
fn fresh() -> String {
    let random: u128 = rand::random();
    let bits = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
