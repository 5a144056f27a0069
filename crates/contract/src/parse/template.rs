//! Parses the texts of message values: `outbox.{kind|lower}`, and what stands between the braces.

use postrider_config::suggestion;

use crate::{Column, Filter, Part, Reference, Source, SourceColumn, Template};

/// What is wrong, and how to fix it.
pub(super) type Problem = (String, String);

/// Finds the columns that a text names.
pub(super) trait Find {
    /// Returns the column of the contract's table of that name, under its name in this lane.
    fn column(&self, name: &str, optional: bool) -> Result<Column, Problem>;

    /// Returns the columns of the join of that name, if there is one.
    fn join(&self, name: &str) -> Option<Vec<&str>>;

    /// Whether the join of that name reads several rows.
    fn is_list(&self, name: &str) -> bool;
}

const FILTERS: [&str; 5] = ["lower", "upper", "trim", "replace", "default"];

/// Parses a constant or a template. `{{` and `}}` are braces.
pub(super) fn template(text: &str, find: &impl Find) -> Result<Template, Problem> {
    let mut parts = Vec::new();
    let mut constant = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        constant.push_str(&rest[..at]);
        let (brace, after) = rest[at..].split_at(1);
        rest = after;
        if let Some(after) = rest.strip_prefix(brace) {
            constant.push_str(brace);
            rest = after;
        } else if brace == "}" {
            return Err(("`}` without `{`".to_owned(), "write `}}` for a brace".to_owned()));
        } else {
            let Some(end) = end_of(rest) else {
                let what = format!("`{{{rest}` is not closed");
                return Err((what, "add `}`, or write `{{` for a brace".to_owned()));
            };
            if !constant.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut constant)));
            }
            parts.push(Part::Value(reference(&rest[..end], find)?));
            rest = &rest[end + 1..];
        }
    }
    constant.push_str(rest);
    if !constant.is_empty() {
        parts.push(Part::Text(constant));
    }
    Ok(Template(parts))
}

/// Returns where the reference ends: at the first closing brace outside quotes.
fn end_of(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(at, c)| {
        quoted ^= c == '\'';
        (c == '}' && !quoted).then_some(at)
    })
}

/// Parses a source and its filters: `payload.customer.id|lower|default:'none'`.
pub(super) fn reference(text: &str, find: &impl Find) -> Result<Reference, Problem> {
    let mut parts = outside_quotes(text, '|').into_iter();
    let first = parts.next().unwrap_or_default().trim();
    let source = source(first, find)?;
    let filters = parts.map(|part| filter(part.trim())).collect::<Result<_, _>>()?;
    Ok(Reference { source, filters })
}

/// Parses a column, `COLUMN.MEMBER`, or `JOIN.COLUMN`; a join wins over a column of its name.
pub(super) fn source(text: &str, find: &impl Find) -> Result<Source, Problem> {
    let mut names = text.split('.');
    let first = names.next().unwrap_or_default();
    let mut path: Vec<String> = names.map(str::to_owned).collect();
    if text.is_empty() || path.iter().any(String::is_empty) {
        let what = format!("{text:?} does not name a column");
        return Err((what, "write COLUMN, COLUMN.MEMBER or JOIN.COLUMN".to_owned()));
    }
    let Some(columns) = find.join(first) else {
        let (name, optional) = first.strip_suffix('?').map_or((first, false), |name| (name, true));
        return Ok(Source { column: SourceColumn::Own(find.column(name, optional)?), path });
    };
    match (find.is_list(first), path.is_empty()) {
        (true, true) => return Ok(Source { column: SourceColumn::Rows { alias: first.to_owned() }, path }),
        (true, false) => {
            let what = format!("`{first}` is a join of several rows, which have no single value");
            return Err((what, format!("write \"{first}\": the list of its rows")));
        }
        (false, true) => {
            let what = format!("`{first}` is a join, and has several columns");
            return Err((what, format!("write \"{first}.COLUMN\"")));
        }
        (false, false) => {}
    }
    let column = path.remove(0);
    if !columns.contains(&column.as_str()) {
        let what = format!("the join `{first}` does not read the column `{column}`");
        return Err((what, suggestion(&column, columns)));
    }
    Ok(Source { column: SourceColumn::Joined { alias: first.to_owned(), column }, path })
}

fn filter(text: &str) -> Result<Filter, Problem> {
    let mut parts = outside_quotes(text, ':').into_iter();
    let name = parts.next().unwrap_or_default().trim();
    let texts = parts.map(|part| quoted(part.trim())).collect::<Result<Vec<_>, _>>()?;
    let found = match (name, texts.as_slice()) {
        ("lower", []) => Filter::Lower,
        ("upper", []) => Filter::Upper,
        ("trim", []) => Filter::Trim,
        ("replace", [from, to]) if !from.is_empty() => Filter::Replace(from.clone(), to.clone()),
        ("default", [text]) => Filter::Default(text.clone()),
        ("lower" | "upper" | "trim", _) => return Err(usage(name, name)),
        ("replace", _) => return Err(usage(name, "replace:'a':'b'")),
        ("default", _) => return Err(usage(name, "default:'x'")),
        _ => return Err((format!("unknown filter `{name}`"), suggestion(name, FILTERS))),
    };
    Ok(found)
}

fn usage(name: &str, example: &str) -> Problem {
    (format!("wrong arguments of the filter `{name}`"), format!("write `|{example}`"))
}

/// Reads a text in single quotes, in which two quotes are one.
fn quoted(text: &str) -> Result<String, Problem> {
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    let inner = inner.filter(|inner| !inner.replace("''", "").contains('\''));
    inner.map(|inner| inner.replace("''", "'")).ok_or_else(|| {
        let remedy = "write 'text'; a single quote in it is ''".to_owned();
        (format!("the argument {text:?} of a filter is not in single quotes"), remedy)
    })
}

/// Splits at a character that is not between single quotes.
fn outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '\'';
        c == separator && !quoted
    })
    .collect()
}
