//! `send` to the e-mail pipeline: writes the payload to a file, and inserts a row that names it.

use super::super::CommandContext;
use super::{body, print_written};
use crate::cli::MailArgs;
use crate::emails::accept::{EmailFileKind, Refusal, accept, check_id, new_id};
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::LaneSettings;

/// Writes the file and the row, and prints the id; the idempotency key is the id if one is given.
pub async fn send(context: &CommandContext, lane: &LaneSettings, args: &MailArgs) -> Result<(), Failure> {
    let id = args.idempotency_key.clone().unwrap_or_else(new_id);
    let to_failure = |refusal: Refusal| match refusal {
        Refusal::Id => Failure::Misuse(format!("--idempotency-key becomes the e-mail's id: {refusal}")),
        Refusal::Store(error) => error.into(),
        other => Failure::Failed(other.to_string()),
    };
    check_id(&id).map_err(to_failure)?;
    let payload = payload(&id, args)?;
    let table = context.wiring.open(lane).await?;
    accept(lane, &*table, &id, EmailFileKind::Payload, payload.into(), None).await.map_err(to_failure)?;
    print_written(Output::new(args.json), lane, "e-mail", &id)
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
