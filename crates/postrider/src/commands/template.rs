//! `template`: lists, checks and renders the shipped templates and those of a folder, as a lane would.

use std::io::Read;
use std::path::{Path, PathBuf};

use postrider_mail::Templates;
use postrider_mail::templates::SAMPLE;
use serde_json::{Value, json};

use crate::cli::{RenderArgs, TemplateCommand, TemplatePart};
use crate::failure::Failure;
use crate::output::{Output, line};
use crate::settings::{Settings, Sources};

/// The fields that every job must have by its schema.
const REQUIRED_FIELDS: [&str; 6] =
    ["courseTitle", "courseString", "sectionIndex", "sectionNumber", "meetingSummary", "manageUrl"];

/// Runs a `template` command.
pub fn run(config: Option<PathBuf>, command: &TemplateCommand) -> Result<(), Failure> {
    match command {
        TemplateCommand::Check { folder, json } => {
            check(&open(config, folder.as_deref())?, Output::new(*json))
        }
        TemplateCommand::Render(args) => render(&open(config, args.templates.as_deref())?, args),
    }
}

/// Opens the templates of the named folder, or of the first lane that has one, on top of the shipped templates.
fn open(config: Option<PathBuf>, folder: Option<&Path>) -> Result<Templates, Failure> {
    let settings = Settings::load(&Sources::of_process(config))?;
    let lane = settings.lanes.iter().find(|lane| lane.mail.templates.is_some());
    let of_lane = lane.and_then(|lane| lane.mail.templates.clone());
    let locale = lane.and_then(|lane| lane.mail.locale.clone()).unwrap_or_else(|| "en-US".to_owned());
    let folder = folder.map(Path::to_owned).or(of_lane);
    Templates::with_shipped(folder.as_deref(), &locale).map_err(|error| Failure::Failed(error.to_string()))
}

fn check(templates: &Templates, output: Output) -> Result<(), Failure> {
    let mut mistakes = Vec::new();
    for listed in templates.list() {
        let name = format!("{}/{}/{}", listed.id, listed.version, listed.locale);
        let object = json!({
            "id": listed.id, "version": listed.version, "locale": listed.locale,
            "parts": listed.parts, "variables": listed.variables,
        });
        let (parts, variables) = (listed.parts.join(", "), listed.variables.join(", "));
        output.data(object, format_args!("{name}: {parts}; variables: {variables}"))?;
        if !listed.parts.contains(&"subject.txt") {
            mistakes.push(format!("{name}: no subject.txt, so its mails have no subject"));
        }
        if listed.id == "open-seat" {
            let least: Value = REQUIRED_FIELDS
                .iter()
                .map(|name| ((*name).to_owned(), json!("")))
                .collect::<serde_json::Map<_, _>>()
                .into();
            let template = format!("{}@{}", listed.id, listed.version);
            if let Err(error) = templates.render(&template, Some(&listed.locale), &least) {
                mistakes
                    .push(format!("{name}: fails if only the variables that every job has are set: {error}"));
            }
        }
    }
    if mistakes.is_empty() { Ok(()) } else { Err(Failure::Failed(mistakes.join("\n"))) }
}

#[expect(clippy::print_stdout, reason = "data")]
fn render(templates: &Templates, args: &RenderArgs) -> Result<(), Failure> {
    let text = match args.variables.as_deref() {
        None => SAMPLE.to_owned(),
        Some(path) if path == Path::new("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| Failure::Failed(format!("cannot read {}: {error}", path.display())))?,
    };
    let variables: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::Misuse(format!("the variables are not JSON: {error}")))?;
    let rendered = templates
        .render(&args.template, args.locale.as_deref(), &variables)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    if args.json {
        return line(json!({ "subject": rendered.subject, "text": rendered.text, "html": rendered.html }));
    }
    let (subject, html) = (rendered.subject.unwrap_or_default(), rendered.html.unwrap_or_default());
    match args.part {
        Some(TemplatePart::Subject) => println!("{subject}"),
        Some(TemplatePart::Html) => print!("{html}"),
        Some(TemplatePart::Text) => print!("{}", rendered.text),
        None => println!("Subject: {subject}\n\n{}", rendered.text.trim_end()),
    }
    Ok(())
}
