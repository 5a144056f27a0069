//! Subject and bodies of a mail: taken from the row, or rendered from its template.

use std::borrow::Cow;

use postrider_seams::Fields;

use super::{Reason, Settings, fields};

/// The subject and the bodies of one mail; `None` where the row has none.
#[derive(Debug, Default)]
pub struct Bodies<'a> {
    pub subject: Option<Cow<'a, str>>,
    pub text: Option<Cow<'a, str>>,
    pub html: Option<Cow<'a, str>>,
}

/// Reads the subject and the bodies of a row. A row with both bodies and a template is rejected, as either could be
/// meant. The row's subject, if it has one, overrides the template's.
pub fn read<'a>(settings: &Settings, row: &'a Fields) -> Result<Bodies<'a>, Reason> {
    let subject = fields::text(row, "subject")?;
    let (text, html) =
        (fields::text(row, "text")?, fields::text(row, "html")?.filter(|html| !html.is_empty()));
    let Some(template) = fields::non_blank(row, "template")? else {
        // An empty text next to an HTML body is a column default, not a body.
        let text = text.filter(|text| !text.is_empty() || html.is_none());
        return Ok(Bodies {
            subject: subject.map(Into::into),
            text: text.map(Into::into),
            html: html.map(Into::into),
        });
    };
    if html.is_some() || text.is_some_and(|text| !text.is_empty()) {
        return Err(Reason::TemplateAndBodies);
    }
    let templates = settings.templates.as_ref().ok_or(Reason::NoTemplates)?;
    let rendered =
        templates.current().render(template.trim(), fields::non_blank(row, "locale")?, &variables(row)?)?;
    let row_subject = subject.filter(|subject| !subject.trim().is_empty()).map(Cow::Borrowed);
    Ok(Bodies {
        subject: row_subject.or(rendered.subject.map(Cow::Owned)),
        text: Some(Cow::Owned(rendered.text)),
        html: rendered.html.map(Cow::Owned),
    })
}

fn variables(row: &Fields) -> Result<serde_json::Value, Reason> {
    let Some(json) = fields::json(row, "variables")? else {
        return Ok(serde_json::Value::Object(serde_json::Map::new()));
    };
    let invalid = |error: serde_json::Error| Reason::Json { field: "variables", problem: error.to_string() };
    let variables: serde_json::Value = serde_json::from_str(json).map_err(invalid)?;
    if variables.is_object() { Ok(variables) } else { Err(Reason::Variables) }
}
