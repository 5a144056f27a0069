//! Renders templates: constants, values of the row, and their filters.

use std::borrow::Cow;

use postrider_contract::{Filter, Part, Reference, Template};

use super::Reason;
use super::sources::{RowSources, name};

/// Renders a template. A value that is missing is an error: it never becomes an empty text.
pub(super) fn render(row: &RowSources<'_>, field: &str, template: &Template) -> Result<String, Reason> {
    let mut text = String::new();
    for part in &template.0 {
        match part {
            Part::Text(constant) => text.push_str(constant),
            Part::Value(reference) => {
                let value = referenced(row, field, reference)?;
                let missing = || Reason::NoValue { field: field.to_owned(), column: name(&reference.source) };
                text.push_str(&value.ok_or_else(missing)?);
            }
        }
    }
    Ok(text)
}

/// Returns a value with its filters applied; `None` if it is NULL or empty, and has no default.
pub(super) fn referenced(
    row: &RowSources<'_>,
    field: &str,
    reference: &Reference,
) -> Result<Option<String>, Reason> {
    let value = row.read(field, &reference.source)?;
    let text = crate::text::scalar(&value)
        .map_err(|_| Reason::NotUtf8 { field: field.to_owned(), column: name(&reference.source) })?;
    let text = text.map(Cow::into_owned).filter(|text| !text.is_empty());
    Ok(reference.filters.iter().fold(text, filtered))
}

fn filtered(text: Option<String>, filter: &Filter) -> Option<String> {
    match (text, filter) {
        (None, Filter::Default(default)) => Some(default.clone()),
        (Some(text), Filter::Lower) => Some(text.to_lowercase()),
        (Some(text), Filter::Upper) => Some(text.to_uppercase()),
        (Some(text), Filter::Trim) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        (Some(text), Filter::Replace(from, to)) => Some(text.replace(from, to)),
        (text, _) => text,
    }
}
