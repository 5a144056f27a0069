//! `send`: what a row may be made of.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum SendCommand {
    /// A mail
    Mail(MailArgs),
    /// A record for a broker
    Record(RecordArgs),
    /// A webhook
    Webhook(WebhookArgs),
}

#[derive(Debug, Args)]
pub struct MailArgs {
    /// The lane to write to [default: the only one that sends mail]
    #[arg(long)]
    pub lane: Option<String>,
    #[arg(long, required = true, value_name = "ADDRESS")]
    pub to: Vec<String>,
    #[arg(long, value_name = "ADDRESS")]
    pub cc: Vec<String>,
    #[arg(long, value_name = "ADDRESS")]
    pub bcc: Vec<String>,
    #[arg(long, value_name = "ADDRESS")]
    pub from: Option<String>,
    #[arg(long)]
    pub subject: String,
    /// The text body; `-` reads it from stdin
    #[arg(long, required_unless_present = "html")]
    pub text: Option<String>,
    /// The HTML body
    #[arg(long)]
    pub html: Option<String>,
    /// The same key twice is one mail
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The lane to write to [default: the only one that publishes records]
    #[arg(long)]
    pub lane: Option<String>,
    /// The topic, subject, routing key or queue
    #[arg(long)]
    pub topic: String,
    /// Records of one key stay in order
    #[arg(long)]
    pub key: Option<String>,
    /// The payload; `-` reads it from stdin
    #[arg(long)]
    pub payload: String,
    /// The W3C trace that the record belongs to
    #[arg(long, value_name = "TRACE")]
    pub traceparent: Option<String>,
    /// The same key twice is one record
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WebhookArgs {
    /// Where it is posted
    pub url: String,
    /// The body; `-` reads it from stdin
    #[arg(long)]
    pub payload: String,
    /// What it is about, such as shop:orders:order:created
    #[arg(long)]
    pub code: String,
    /// The lane to write to [default: the only one that posts webhooks]
    #[arg(long)]
    pub lane: Option<String>,
    /// The body's type [default: application/json]
    #[arg(long, value_name = "TYPE")]
    pub content_type: Option<String>,
    /// A header, NAME=VALUE; may be repeated
    #[arg(long = "header", value_name = "NAME=VALUE")]
    pub headers: Vec<String>,
    /// The service account whose credentials it carries
    #[arg(long, value_name = "ID")]
    pub account: Option<String>,
    /// Seconds for one attempt [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub timeout: Option<u32>,
    /// A CloudEvents envelope around the payload
    #[arg(long)]
    pub envelope: bool,
    /// The aggregate that it is about
    #[arg(long)]
    pub subject: Option<String>,
    /// Where it comes from
    #[arg(long)]
    pub source: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}
