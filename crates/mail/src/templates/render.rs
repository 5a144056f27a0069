//! Renders one template with a row's variables, within limits.

use std::io;

use minijinja::value::{Serde, Value};
use minijinja::{Environment, ErrorKind};

use super::{Error, OUTPUT_LIMIT, TemplateParts};
use crate::plain_text;

/// A rendered template. There is always a text body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    pub subject: Option<String>,
    pub html: Option<String>,
    pub text: String,
}

/// Renders the parts of a template; without `body.txt`, the text is derived from the HTML.
pub fn render(
    environment: &Environment<'_>,
    parts: &TemplateParts,
    json: &serde_json::Value,
) -> Result<Rendered, Error> {
    let variables = Value::from(Serde(json));
    let part = |there: bool, file: &str| {
        there.then(|| render_part(environment, &parts.name, file, variables.clone())).transpose()
    };
    let subject = part(parts.subject, "subject.txt")?.map(|subject| subject.trim().to_owned());
    let html = part(parts.html, "body.html")?;
    let text = match part(parts.text, "body.txt")? {
        Some(text) => text,
        None => html.as_deref().map(plain_text::from_html).unwrap_or_default(),
    };
    Ok(Rendered { subject, html, text })
}

fn render_part(
    environment: &Environment<'_>,
    name: &str,
    file: &str,
    variables: Value,
) -> Result<String, Error> {
    let mut output = BoundedOutput(Vec::new());
    let template = environment.get_template(&format!("{name}/{file}"));
    let rendered =
        template.and_then(|template| template.render_captured_to(variables, &mut output).map(drop));
    match rendered {
        Ok(()) => Ok(String::from_utf8(output.0).expect("templates and variables are text")),
        Err(error) => Err(render_error(&error, format!("{name}/{file}"))),
    }
}

fn render_error(error: &minijinja::Error, template: String) -> Error {
    match error.kind() {
        ErrorKind::UndefinedError => Error::VariableMissing { template, variable: expression(error) },
        ErrorKind::OutOfFuel | ErrorKind::WriteFailure => Error::TooLarge(template),
        // Only line and kind: the error chain may quote the values of variables.
        kind => {
            let line = error.line().map(|line| format!(" in line {line}")).unwrap_or_default();
            Error::Invalid { template, reason: format!("{kind}{line}") }
        }
    }
}

/// Returns the undefined expression, as it is written in the template.
fn expression(error: &minijinja::Error) -> String {
    let source = error.template_source().zip(error.range());
    let written = source.and_then(|(source, range)| source.get(range)).unwrap_or("(unknown)");
    written.trim_matches(['{', '}', ' ']).to_owned()
}

/// A buffer that fails when it exceeds the output limit.
struct BoundedOutput(Vec<u8>);

impl io::Write for BoundedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > OUTPUT_LIMIT {
            return Err(io::Error::other("too much output"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
