//! `send`: writes a row into a lane's table, as an application would. The lane delivers it.

use std::io::{Read as _, Write as _};

use postrider_seams::Value;
use postrider_seams::row::Detail;

use super::Desk;
use crate::cli::{MailArgs, SendCommand};
use crate::failure::Failure;
use crate::settings::{LaneSettings, listed};
use crate::wiring::ComposerKind;

pub async fn run(desk: &Desk, command: &SendCommand) -> Result<(), Failure> {
    match command {
        SendCommand::Mail(args) => mail(desk, args).await,
    }
}

async fn mail(desk: &Desk, args: &MailArgs) -> Result<(), Failure> {
    let lane = mail_lane(desk, args.lane.as_deref())?;
    let fields = fields(lane, args)?;
    let key = desk.wiring.open(lane).await?.produce(&fields).await?;
    writeln!(std::io::stdout(), "{key}")?;
    eprintln!("row {key} waits in table `{}` of lane `{}`", lane.contract.table.name, lane.name);
    Ok(())
}

fn mail_lane<'a>(desk: &'a Desk, name: Option<&str>) -> Result<&'a LaneSettings, Failure> {
    let sends_mail = |lane: &&LaneSettings| {
        ComposerKind::of(&lane.contract.stages[lane.stage].composer) == Ok(ComposerKind::Email)
    };
    if let Some(name) = name {
        let lane = desk.lane(name)?;
        return if sends_mail(&lane) {
            Ok(lane)
        } else {
            Err(Failure::Misuse(format!("lane `{name}` sends no mail")))
        };
    }
    let lanes: Vec<&LaneSettings> = desk.settings.lanes.iter().filter(sends_mail).collect();
    match lanes.as_slice() {
        [only] => Ok(only),
        [] => Err(Failure::Misuse("no lane sends mail".to_owned())),
        several => {
            let names: Vec<&str> = several.iter().map(|lane| lane.name.as_str()).collect();
            Err(Failure::Misuse(format!("which lane? --lane takes one of {}", listed(&names))))
        }
    }
}

fn fields(lane: &LaneSettings, args: &MailArgs) -> Result<Detail, Failure> {
    let mut fields = Detail::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            fields.insert(name.to_owned(), Value::Text(value));
        }
    };
    put("to", addresses(&args.to));
    put("cc", addresses(&args.cc));
    put("bcc", addresses(&args.bcc));
    put("from", args.from.clone());
    put("subject", Some(args.subject.clone()));
    put("text", args.text.as_deref().map(body).transpose()?);
    put("html", args.html.clone());
    put("dedupe", args.idempotency_key.clone());
    let missing: Vec<&str> = fields
        .keys()
        .map(String::as_str)
        .filter(|field| !lane.contract.message.contains_key(*field))
        .collect();
    if missing.is_empty() {
        return Ok(fields);
    }
    let contract = &lane.contract.name;
    Err(Failure::Misuse(format!("contract `{contract}` has no column for {}", listed(&missing))))
}

/// A JSON list: right for text columns and JSON columns alike.
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
