//! Where the fields of a message come from: columns, members of JSON columns, templates, and maps.

use std::collections::BTreeMap;

use super::Column;

/// The source of a composer field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageValue {
    /// A column of the table, as it is.
    Column(Column),
    /// A member of a JSON column, or a column of a join.
    Member(Source),
    /// A constant, or a template over columns.
    Text(Template),
    /// One template for each value of a column.
    Map(ValueMap),
}

/// Texts by the value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueMap {
    pub by: Reference,
    pub values: BTreeMap<String, Template>,
    /// The text for every other value, and for NULL.
    pub otherwise: Option<Template>,
}

/// Constant texts and references to columns, one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(pub Vec<Part>);

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(String),
    Value(Reference),
}

/// A value of the row in a template: its source, and the filters that are applied in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub source: Source,
    pub filters: Vec<Filter>,
}

/// A column, or a member of the JSON in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub column: SourceColumn,
    /// The names of the members that lead to the value; empty for the whole column.
    pub path: Vec<String>,
}

/// The column that a source reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceColumn {
    /// A column of the contract's table.
    Own(Column),
    /// A column of a join.
    Joined { alias: String, column: String },
    /// All rows of a join that reads several, as a JSON list of objects.
    Rows { alias: String },
    /// An optional column that the table lacks: always NULL.
    Absent,
}

/// A change of a text in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    Lower,
    Upper,
    Trim,
    /// Replaces every occurrence of the first text by the second.
    Replace(String, String),
    /// The text that is used instead of NULL and of empty text.
    Default(String),
}

impl MessageValue {
    /// Returns what the value reads of the row.
    pub fn sources(&self) -> Vec<&Source> {
        match self {
            Self::Column(_) => Vec::new(),
            Self::Member(source) => vec![source],
            Self::Text(template) => template.references().map(|reference| &reference.source).collect(),
            Self::Map(map) => {
                let templates = map.values.values().chain(&map.otherwise);
                let read = templates.flat_map(Template::references).map(|reference| &reference.source);
                std::iter::once(&map.by.source).chain(read).collect()
            }
        }
    }

    /// Returns the columns of the contract's table that the value reads.
    pub fn columns(&self) -> Vec<&Column> {
        match self {
            Self::Column(column) => vec![column],
            _ => self.sources().into_iter().filter_map(Source::own_column).collect(),
        }
    }

    /// Replaces the columns that are `gone` by NULL; whether anything is left to read.
    pub(crate) fn without(&mut self, gone: &impl Fn(&Column) -> bool) -> bool {
        match self {
            Self::Column(column) => !gone(column),
            Self::Member(source) => source.own_column().is_none_or(|column| !gone(column)),
            Self::Text(template) => {
                template.without(gone);
                true
            }
            Self::Map(map) => {
                map.by.source.without(gone);
                map.values.values_mut().chain(&mut map.otherwise).for_each(|text| text.without(gone));
                true
            }
        }
    }
}

impl Template {
    /// Returns the references to columns.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value(reference) => Some(reference),
        })
    }

    fn without(&mut self, gone: &impl Fn(&Column) -> bool) {
        for part in &mut self.0 {
            if let Part::Value(reference) = part {
                reference.source.without(gone);
            }
        }
    }
}

impl Source {
    /// Returns the column of the contract's table, if it reads one.
    pub fn own_column(&self) -> Option<&Column> {
        match &self.column {
            SourceColumn::Own(column) => Some(column),
            SourceColumn::Joined { .. } | SourceColumn::Rows { .. } | SourceColumn::Absent => None,
        }
    }

    fn without(&mut self, gone: &impl Fn(&Column) -> bool) {
        if self.own_column().is_some_and(gone) {
            self.column = SourceColumn::Absent;
        }
    }
}

impl Reference {
    /// Whether a filter replaces a value that is missing.
    pub fn has_default(&self) -> bool {
        self.filters.iter().any(|filter| matches!(filter, Filter::Default(_)))
    }
}
