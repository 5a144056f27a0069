//! `send`: inserts a row into a lane's table as an application would. The lane delivers it.

mod emails;

use std::io::Read as _;

use postrider_composers::webhook::check_header;
use postrider_contract::MessageValue;
use postrider_seams::Value;
use postrider_seams::row::Detail;

use super::CommandContext;
use crate::cli::{MailArgs, RecordArgs, SendCommand, WebhookArgs};
use crate::emails::composer;
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::{LaneSettings, listed};
use crate::wiring::ComposerKind;

/// Inserts the row and prints its id.
pub async fn run(context: &CommandContext, command: &SendCommand) -> Result<(), Failure> {
    let (lane, fields, json) = match command {
        SendCommand::Mail(args) => {
            let lane = lane(context, args.lane.as_deref(), MAIL, "sends mail")?;
            if composer(lane) == Ok(ComposerKind::Eml) {
                return emails::send(context, lane, args).await;
            }
            (lane, mail(args)?, args.json)
        }
        SendCommand::Record(args) => {
            let records = &[ComposerKind::Record];
            (lane(context, args.lane.as_deref(), records, "publishes records")?, record(args)?, args.json)
        }
        SendCommand::Webhook(args) => {
            let webhooks = &[ComposerKind::Webhook];
            (lane(context, args.lane.as_deref(), webhooks, "sends webhooks")?, webhook(args)?, args.json)
        }
    };
    has_columns(lane, &fields)?;
    let key = context.wiring.open(lane).await?.produce(&fields).await?;
    context.wiring.publish_ready_rows(lane).await;
    print_written(Output::new(json), lane, "row", &key)
}

/// Prints the id and the lane of the new row; `what` names its kind.
fn print_written(output: Output, lane: &LaneSettings, what: &str, id: &str) -> Result<(), Failure> {
    let table = &lane.contract.table.name;
    output.data(serde_json::json!({ "id": id, "lane": lane.name, "table": table }), id)?;
    output.note(format_args!("{what} {id} is in table `{table}` of lane `{}`", lane.name));
    Ok(())
}

/// The composers that make mails.
const MAIL: &[ComposerKind] = &[ComposerKind::Email, ComposerKind::Eml];

/// The named lane, or the only one with such a composer; `does` describes such a lane in the error.
fn lane<'a>(
    context: &'a CommandContext,
    name: Option<&str>,
    composers: &[ComposerKind],
    does: &str,
) -> Result<&'a LaneSettings, Failure> {
    let fits = |lane: &&LaneSettings| composer(lane).is_ok_and(|kind| composers.contains(&kind));
    let lanes: Vec<&LaneSettings> = context.settings.lanes.iter().filter(fits).collect();
    let names: Vec<&str> = lanes.iter().map(|lane| lane.name.as_str()).collect();
    let misuse = |text: String| Err(Failure::Misuse(text));
    match (name.map(|name| context.lane(name)).transpose()?, lanes.as_slice()) {
        (Some(named), _) if fits(&named) => Ok(named),
        (Some(named), []) => misuse(format!("lane `{}` is not a lane that {does}", named.name)),
        // A lane of the stage `send` does send mail, but its input is a finished message.
        (Some(named), _) => misuse(format!(
            "lane `{}` does not accept it; use --lane with one of {}",
            named.name,
            listed(&names)
        )),
        (None, [only]) => Ok(only),
        (None, []) => misuse(format!("no lane {does}")),
        (None, _) => misuse(format!("several lanes are possible: use --lane with one of {}", listed(&names))),
    }
}

fn mail(args: &MailArgs) -> Result<Detail, Failure> {
    Ok(detail([
        ("to", addresses(&args.to)),
        ("cc", addresses(&args.cc)),
        ("bcc", addresses(&args.bcc)),
        ("from", args.from.clone()),
        ("subject", Some(args.subject.clone())),
        ("text", args.text.as_deref().map(body).transpose()?),
        ("html", args.html.clone()),
        ("dedupe", args.idempotency_key.clone()),
    ]))
}

fn record(args: &RecordArgs) -> Result<Detail, Failure> {
    Ok(detail([
        ("topic", Some(args.topic.clone())),
        ("key", args.key.clone()),
        ("payload", Some(body(&args.payload)?)),
        ("traceparent", args.traceparent.clone()),
        ("dedupe", args.idempotency_key.clone()),
    ]))
}

fn webhook(args: &WebhookArgs) -> Result<Detail, Failure> {
    let mut fields = detail([
        ("url", Some(args.url.clone())),
        ("payload", Some(body(&args.payload)?)),
        ("code", Some(args.code.clone())),
        ("content_type", args.content_type.clone()),
        ("headers", headers(&args.headers)?),
        ("account", args.account.clone()),
        ("subject", args.subject.clone()),
        ("source", args.source.clone()),
    ]);
    fields.extend(args.timeout.map(|seconds| ("timeout".to_owned(), Value::Int(seconds.into()))));
    fields.extend(args.envelope.then(|| ("data_only".to_owned(), Value::Bool(false))));
    Ok(fields)
}

/// Builds the JSON object of the headers column.
fn headers(written: &[String]) -> Result<Option<String>, Failure> {
    let mut object = serde_json::Map::new();
    for header in written {
        let pair = header.split_once('=');
        let (name, value) =
            pair.ok_or_else(|| Failure::Misuse(format!("--header {header}: write NAME=VALUE")))?;
        check_header(name, value).map_err(|reason| Failure::Misuse(format!("--header: {reason}")))?;
        object.insert(name.to_owned(), value.into());
    }
    Ok((!object.is_empty()).then(|| serde_json::Value::Object(object).to_string()))
}

fn detail<const N: usize>(fields: [(&str, Option<String>); N]) -> Detail {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::Text(value?)))).collect()
}

fn has_columns(lane: &LaneSettings, fields: &Detail) -> Result<(), Failure> {
    let message = &lane.contract.message;
    let unknown = |field: &&str| !matches!(message.get(*field), Some(MessageValue::Column(_)));
    let missing: Vec<&str> = fields.keys().map(String::as_str).filter(unknown).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let contract = &lane.contract.name;
    Err(Failure::Misuse(format!("contract `{contract}` has no column for {}", listed(&missing))))
}

/// Builds a JSON list, valid in text columns and JSON columns alike.
fn addresses(list: &[String]) -> Option<String> {
    (!list.is_empty()).then(|| serde_json::Value::from(list).to_string())
}

fn body(text: &str) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut read = String::new();
    std::io::stdin().read_to_string(&mut read)?;
    Ok(read)
}
