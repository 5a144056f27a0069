//! `send` to the e-mail pipeline: writes the payload to a file, and inserts a row that names it.

use super::super::Desk;
use super::{body, written};
use crate::cli::MailArgs;
use crate::emails::accept::{Content, Refusal, accept, check_id, fresh_id};
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::LaneSettings;

/// Writes the file and the row, and prints the id; the idempotency key is the id if one is given.
pub async fn send(desk: &Desk, lane: &LaneSettings, args: &MailArgs) -> Result<(), Failure> {
    let id = args.idempotency_key.clone().unwrap_or_else(fresh_id);
    let told = |refusal: Refusal| match refusal {
        Refusal::Id => Failure::Misuse(format!("--idempotency-key is the e-mail's id there: {refusal}")),
        Refusal::Store(error) => error.into(),
        other => Failure::Failed(other.to_string()),
    };
    check_id(&id).map_err(told)?;
    let payload = payload(&id, args)?;
    let table = desk.wiring.open(lane).await?;
    accept(lane, &*table, &id, Content::Payload, payload.as_bytes(), None).await.map_err(told)?;
    written(Output::new(args.json), lane, "e-mail", &id)
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
