//! Joins that read several rows for each claimed row, such as the recipients or attachments of a mail. They reach the
//! composer as one JSON list of objects.
//!
//! Invariant: what is read at once is bounded. Sizes are read first; a row whose lists are too large for the claim
//! comes without its fields, and is loaded alone. One row more than the contract allows is read, so that the composer
//! sees that there are too many.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use postrider_contract::Join;
use postrider_seams::row::{ClaimedRow, RowId, Value};
use postrider_seams::store::{Error, INLINE_LIMIT};
use serde_json::{Map, Value as Json};

use crate::bind::Ids;
use crate::claim::join::has;
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::render::column::Kind;
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::typed::typed_script;
use crate::{Dialect, Param, Script, Yields};

/// The statements of one join of several rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListScripts {
    pub sizes: ListSizes,
    pub rows: ListRows,
}

typed_script! {
    /// Yields the bytes that the joined rows of each named row have together.
    pub ListSizes(Ids<'_>) -> (RowId, u64), Read, |_, mut row| Some((row.key()?, row.count()))
}

typed_script! {
    /// Yields the joined rows of the named rows, in their order, as JSON objects.
    pub ListRows { names: Vec<String> } (Ids<'_>) -> (RowId, Json), Read, |this, mut row| {
        let key = row.key()?;
        let members = this.names.iter().map(|name| (name.clone(), json(row.value())));
        Some((key, Json::Object(members.filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())))
    }
}

/// Returns a value as JSON; bytes are base64.
fn json(value: Value) -> Json {
    match value {
        Value::Bytes(bytes) => Json::String(STANDARD.encode(bytes)),
        other => crate::bind::json(other),
    }
}

impl Table<'_> {
    /// Returns the scripts of the joins of several rows, in their order; `None` for one whose table is absent.
    pub fn lists(&self) -> Vec<Option<ListScripts>> {
        let lists = self.contract.joins.iter().filter(|join| join.many.is_some());
        lists.map(|join| self.has_join(join).then(|| self.list_scripts(join))).collect()
    }

    fn list_scripts(&self, join: &Join) -> ListScripts {
        ListScripts { sizes: self.list_sizes(join), rows: self.list_rows(join) }
    }

    /// `FROM … JOIN …`, and the condition that names the rows.
    fn list_source(&self, builder: &StepBuilder<'_>, join: &Join) -> String {
        let single: String = self.joins().iter().map(|joined| joined.clause.as_str()).collect();
        let clause = self.join_clause(join).replacen("LEFT JOIN", "JOIN", 1);
        let among = builder.among(&self.id(), Param::Ids);
        format!("FROM {} AS t{single}{clause}\nWHERE {among}", self.name())
    }

    fn list_columns(&self, join: &Join) -> Vec<(String, Kind)> {
        let column = |name: &str| format!("{}.{}", self.alias(&join.alias), self.quote(name));
        let related = self.shape.related.get(&join.table);
        let kind = |name: &str| {
            let found = related.and_then(|columns| columns.iter().find(|known| known.name == *name));
            found.map_or(Kind::Other, |known| Kind::of(&known.sql_type))
        };
        let columns = join.columns.iter().map(|known| known.column.name.as_str());
        let present = columns.map(|name| {
            let is_there = has(self.shape, &join.table, name);
            if is_there { (column(name), kind(name)) } else { ("NULL".to_owned(), Kind::Other) }
        });
        present.collect()
    }

    fn list_sizes(&self, join: &Join) -> ListSizes {
        let builder = StepBuilder::plain(self);
        let size = |(column, kind): (String, Kind)| match (self.dialect, kind) {
            (Dialect::Postgres, Kind::Binary) => format!("COALESCE(octet_length({column}), 0)"),
            (Dialect::Postgres, _) => format!("COALESCE(octet_length(({column})::text), 0)"),
            (Dialect::Mysql, _) => format!("COALESCE(LENGTH({column}), 0)"),
            (Dialect::Sqlite, _) => format!("COALESCE(length(CAST({column} AS BLOB)), 0)"),
        };
        let sizes: Vec<String> = self.list_columns(join).into_iter().map(size).collect();
        let total = self.as_integer(&format!("SUM({})", sizes.join(" + ")));
        let source = self.list_source(&builder, join);
        let text = format!("SELECT {}, {total}\n{source}\nGROUP BY {}", self.key(), self.id());
        ListSizes { script: Script { steps: vec![builder.finish(&text, Yields::Other)] } }
    }

    fn list_rows(&self, join: &Join) -> ListRows {
        let many = join.many.as_ref().expect("the caller has found a join of several rows");
        let builder = StepBuilder::plain(self);
        let order: Vec<String> = many
            .order
            .iter()
            .map(|name| format!("{}.{}", self.alias(&join.alias), self.quote(name)))
            .collect();
        let order = if order.is_empty() { String::new() } else { format!(" ORDER BY {}", order.join(", ")) };
        let mut columns = vec![format!("{} AS k", self.key())];
        for (index, (column, kind)) in self.list_columns(join).into_iter().enumerate() {
            let value = match (kind, self.dialect) {
                // SQLite keeps text in such a column as text.
                (Kind::Binary, Dialect::Sqlite) => format!("CAST({column} AS BLOB)"),
                (Kind::Binary, _) => column,
                _ => self.as_text(&column),
            };
            columns.push(format!("{value} AS c{index}"));
        }
        columns.push(format!("ROW_NUMBER() OVER (PARTITION BY {}{order}) AS n", self.id()));
        let source = self.list_source(&builder, join);
        let read: Vec<String> = (0..join.columns.len()).map(|index| format!("r.c{index}")).collect();
        let text = format!(
            "SELECT r.k, {}\nFROM (SELECT {}\n{source}) AS r\nWHERE r.n <= {}\nORDER BY r.k, r.n",
            read.join(", "),
            columns.join(", "),
            many.at_most + 1
        );
        let names = join.columns.iter().map(|known| known.name.clone()).collect();
        ListRows { script: Script { steps: vec![builder.finish(&text, Yields::Other)] }, names }
    }
}

impl OpenTable {
    /// Reads the lists of these rows, each as the text of a JSON list; NULL for a list whose table is absent.
    pub(super) async fn lists(
        &self,
        on: &impl Driver,
        ids: &[RowId],
    ) -> Result<HashMap<RowId, Vec<Value>>, Error> {
        let mut found: HashMap<RowId, Vec<Value>> = HashMap::new();
        if self.statements.lists.is_empty() || ids.is_empty() {
            return Ok(found);
        }
        for scripts in &self.statements.lists {
            let Some(scripts) = scripts else {
                for id in ids {
                    found.entry(id.clone()).or_default().push(Value::Null);
                }
                continue;
            };
            let mut lists: HashMap<RowId, Vec<Json>> = HashMap::new();
            for (id, row) in on.fetch("read lists of joined rows", &scripts.rows, Ids(ids)).await? {
                lists.entry(id).or_default().push(row);
            }
            for id in ids {
                let list = Json::Array(lists.remove(id).unwrap_or_default());
                found.entry(id.clone()).or_default().push(Value::Text(list.to_string()));
            }
        }
        Ok(found)
    }

    /// Adds the sizes of their lists to claimed rows. Those that are too large for the claim lose their fields.
    pub(super) async fn measure_lists(
        &self,
        on: &impl Driver,
        claimed: &mut [ClaimedRow],
    ) -> Result<(), Error> {
        let ids: Vec<RowId> = claimed.iter().map(|row| row.lease.id.clone()).collect();
        for scripts in self.statements.lists.iter().flatten() {
            let sizes = on.fetch("measure lists of joined rows", &scripts.sizes, Ids(&ids)).await?;
            let sizes: HashMap<RowId, u64> = sizes.into_iter().collect();
            for row in claimed.iter_mut() {
                row.size += sizes.get(&row.lease.id).copied().unwrap_or(0);
                if row.size > INLINE_LIMIT {
                    row.fields = None;
                }
            }
        }
        Ok(())
    }
}
