//! Arguments of `send`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum SendCommand {
    /// Write a mail
    Mail(MailArgs),
    /// Write a record for a message broker
    Record(RecordArgs),
    /// Write a webhook
    Webhook(WebhookArgs),
}

#[derive(Debug, Args)]
pub struct MailArgs {
    /// Lane to write to [default: the only one that sends mail]
    #[arg(long)]
    pub lane: Option<String>,
    /// Recipient; may be repeated
    #[arg(long, required = true, value_name = "ADDRESS")]
    pub to: Vec<String>,
    /// Recipient of a copy; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub cc: Vec<String>,
    /// Recipient of a blind copy; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub bcc: Vec<String>,
    /// Sender [default: the one in the settings]
    #[arg(long, value_name = "ADDRESS")]
    pub from: Option<String>,
    /// Subject of the mail
    #[arg(long)]
    pub subject: String,
    /// Text body; `-` reads it from stdin
    #[arg(long, required_unless_present = "html")]
    pub text: Option<String>,
    /// HTML body
    #[arg(long)]
    pub html: Option<String>,
    /// Idempotency key; a second mail with the same key is not written
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Lane to write to [default: the only one that publishes records]
    #[arg(long)]
    pub lane: Option<String>,
    /// Topic, subject, routing key or queue
    #[arg(long)]
    pub topic: String,
    /// Key of the record; records with the same key stay in order
    #[arg(long)]
    pub key: Option<String>,
    /// Payload; `-` reads it from stdin
    #[arg(long)]
    pub payload: String,
    /// W3C trace context (traceparent) of the record
    #[arg(long, value_name = "TRACE")]
    pub traceparent: Option<String>,
    /// Idempotency key; a second record with the same key is not written
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WebhookArgs {
    /// URL that the payload is posted to
    pub url: String,
    /// Body of the request; `-` reads it from stdin
    #[arg(long)]
    pub payload: String,
    /// Type of the event or task, such as shop:orders:order:created
    #[arg(long)]
    pub code: String,
    /// Lane to write to [default: the only one that sends webhooks]
    #[arg(long)]
    pub lane: Option<String>,
    /// Media type of the body [default: application/json]
    #[arg(long, value_name = "TYPE")]
    pub content_type: Option<String>,
    /// Additional header, NAME=VALUE; may be repeated
    #[arg(long = "header", value_name = "NAME=VALUE")]
    pub headers: Vec<String>,
    /// Service account that authenticates and signs the request
    #[arg(long, value_name = "ID")]
    pub account: Option<String>,
    /// Time limit of one attempt, in seconds [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub timeout: Option<u32>,
    /// Send the payload in a CloudEvents envelope
    #[arg(long)]
    pub envelope: bool,
    /// Subject of the event, such as the id of the order
    #[arg(long)]
    pub subject: Option<String>,
    /// Source of the event, such as the name of the application
    #[arg(long)]
    pub source: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}
