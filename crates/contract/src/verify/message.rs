//! Checks that message values do not miss a column that the table may lack.

use crate::{Join, MessageValue, Reference, SourceColumn, Template, ValueMap};

use super::Verifier;

impl Verifier<'_> {
    /// Checks that a template or a map says what an optional column that is absent becomes.
    pub(super) fn message(&self) {
        for (field, value) in &self.contract.message {
            match value {
                MessageValue::Column(_) | MessageValue::Member(_) => {}
                MessageValue::Text(template) => self.template(field, template),
                MessageValue::Map(map) => self.map(field, map),
            }
        }
    }

    fn template(&self, field: &str, template: &Template) {
        for reference in template.references() {
            if let Some(column) = self.may_lack(reference).filter(|_| !reference.has_default()) {
                let what =
                    format!("{column} may be absent, and then every row without a default is rejected");
                self.report.add_for_key(&format!("message.{field}"), what, "add `|default:'TEXT'`");
            }
        }
    }

    fn map(&self, field: &str, map: &ValueMap) {
        if let Some(column) = self.may_lack(&map.by)
            && map.otherwise.is_none()
            && !map.by.has_default()
        {
            let what = format!("{column} may be absent, and the map has no value for that");
            self.report.add_for_key(&format!("message.{field}.map"), what, "add else = \"TEXT\"");
        }
        map.values.values().chain(&map.otherwise).for_each(|template| self.template(field, template));
    }

    /// Returns the column that a database may lack.
    fn may_lack(&self, reference: &Reference) -> Option<String> {
        match &reference.source.column {
            SourceColumn::Own(column) => column.optional.then(|| column.name.clone()),
            SourceColumn::Joined { alias, column } => {
                let lacks = |join: &&Join| {
                    let optional =
                        |known: &crate::JoinedColumn| known.name == *column && known.column.optional;
                    join.alias == *alias && (join.optional || join.columns.iter().any(optional))
                };
                self.contract.joins.iter().find(lacks).map(|_| format!("{alias}.{column}"))
            }
            SourceColumn::Rows { .. } | SourceColumn::Absent => None,
        }
    }
}
