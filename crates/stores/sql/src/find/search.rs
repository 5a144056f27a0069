//! Renders the condition of a search: by an index over all rows, or over the newest rows only.

use postrider_seams::inspect::{Matching, Search, SearchBy};

use crate::Dialect;
use crate::ddl::search::BEGINNING;
use crate::driver::execute::SqlBuilder;
use crate::render::table::Table;

/// The set of rows that a search covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchScope {
    /// All rows, by an index.
    All,
    /// Only the newest rows, or the newest of those that failed.
    Newest,
}

impl Table<'_> {
    /// Returns whether a search covers all rows or only the newest ones.
    pub fn search_scope(&self, by: SearchBy, matching: Matching) -> SearchScope {
        let column = by.column(self.contract);
        let indexed = column.as_ref().and_then(|column| self.shape.indexed.get(column));
        match (indexed, matching) {
            (Some(_), Matching::Exact) | (Some(true), Matching::Prefix) if by != SearchBy::Error => {
                SearchScope::All
            }
            _ if by != SearchBy::Error
                && column.is_some_and(|column| self.shape.prefix_indexed.contains(&column)) =>
            {
                SearchScope::All
            }
            _ => SearchScope::Newest,
        }
    }

    pub(super) fn matches(
        &self,
        builder: &mut SqlBuilder,
        search: &Search,
        scope: SearchScope,
    ) -> Option<String> {
        let column = search.by.column(self.contract)?;
        let col = self.col(&column);
        if search.by == SearchBy::Error || (search.by == SearchBy::Recipient && scope == SearchScope::Newest)
        {
            let pattern = builder.bind_text(format!("%{}%", escaped(&search.text.to_lowercase())));
            let like = if self.dialect == Dialect::Sqlite { " ESCAPE '\\'" } else { "" };
            return Some(format!("LOWER({}) LIKE {pattern}{like}", self.as_text(&col)));
        }
        if search.by == SearchBy::Recipient {
            return Some(self.received(builder, &column, search));
        }
        match search.matching {
            Matching::Exact if search.by == SearchBy::Id => {
                let key = self.typed_key(builder, &search.text)?;
                Some(format!("{col} = {key}"))
            }
            matching if scope == SearchScope::All => {
                Some(self.by_index(builder, &column, &search.text, matching))
            }
            Matching::Exact => Some(format!("{} = {}", self.as_text(&col), builder.bind_text(&search.text))),
            Matching::Prefix => Some(self.starts_with(builder, &self.as_text(&col), &search.text)),
        }
    }

    /// Finds candidates by the indexed prefix of the value, then compares the whole value.
    fn by_index(&self, builder: &mut SqlBuilder, column: &str, text: &str, matching: Matching) -> String {
        let col = self.col(column);
        let mut one = |held: &str, text: &str| match matching {
            Matching::Exact => format!("{held} = {}", builder.bind_text(text)),
            Matching::Prefix => self.starts_with(builder, held, text),
        };
        if !self.shape.prefix_indexed.contains(column) {
            return one(&col, text);
        }
        let beginning: String = text.chars().take(BEGINNING).collect();
        let found = one(&format!("left({col}, {BEGINNING})"), &beginning);
        format!("({found} AND {})", one(&col, text))
    }

    /// By the index: an address alone or as the first of a list: `a@example.net`, `["a@example.net", …]`.
    fn received(&self, builder: &mut SqlBuilder, column: &str, search: &Search) -> String {
        let text = &search.text;
        let listed = match search.matching {
            Matching::Exact => format!("[\"{text}\"]"),
            Matching::Prefix => format!("[\"{text}"),
        };
        let mut one = |text: &str| self.by_index(builder, column, text, search.matching);
        let (alone, first) = (one(text), one(&listed));
        if self.dialect != Dialect::Postgres {
            return format!("({alone} OR {first})");
        }
        // For an OR, PostgreSQL would read the whole table: our sessions switch off bitmap scans.
        let (id, name) = (self.id(), self.name());
        let by = |condition: &str| format!("SELECT {id} FROM {name} AS t WHERE {condition}");
        format!("{id} IN ({} UNION ALL {})", by(&alone), by(&first))
    }

    fn starts_with(&self, builder: &mut SqlBuilder, text: &str, prefix: &str) -> String {
        if self.dialect == Dialect::Sqlite {
            let (from, to) = (builder.bind_text(prefix), builder.bind_text(format!("{prefix}\u{10ffff}")));
            return format!("{text} >= {from} AND {text} < {to}");
        }
        let pattern = builder.bind_text(format!("{}%", escaped(prefix)));
        format!("{text} LIKE {pattern}")
    }
}

/// Escapes the wildcards of LIKE.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}
