//! Finds duplicate values in columns that should be unique: an existing table may lack the constraints of a new one.

use postrider_seams::inspect::COUNT_LIMIT;
use postrider_seams::store::Error;

use crate::driver::execute::{SqlBuilder, Statement};
use crate::driver::{Access, Driver};
use crate::open_table::OpenTable;
use crate::typed::Columns;
use crate::{Dialect, ddl};

/// Counting stops at this number.
const MOST: u32 = 1000;

impl OpenTable {
    /// Returns the columns that a table of ours keeps unique, and how many values occur more than once among the newest
    /// rows.
    ///
    /// Only the newest rows are read: the table may hold millions, and `check` must be fast.
    pub async fn duplicates(&self, on: &impl Driver) -> Result<Vec<(String, u64)>, Error> {
        let dialect = on.dialect();
        let create = ddl::create(&self.contract, dialect).unwrap_or_default();
        let mut found = Vec::new();
        for columns in
            create.iter().filter(|text| self.is_own_table(dialect, text)).flat_map(|text| uniques(text))
        {
            if columns.iter().any(|column| self.shape.column(column).is_none()) {
                continue;
            }
            let rows = on.rows("find duplicates", Access::Read, self.counting(dialect, &columns)).await?;
            let values = rows.into_iter().next().map_or(0, |row| Columns::new(row).count());
            if values > 0 {
                found.push((columns.join(" and "), values));
            }
        }
        Ok(found)
    }

    fn is_own_table(&self, dialect: Dialect, create: &str) -> bool {
        let table = dialect.quoted(&self.contract.table.name);
        let table =
            create.strip_prefix("CREATE TABLE IF NOT EXISTS ").is_some_and(|rest| rest.starts_with(&table));
        table && self.contract.table.schema.is_none()
    }

    fn counting(&self, dialect: Dialect, columns: &[String]) -> Statement {
        let quoted: Vec<String> = columns.iter().map(|column| dialect.quoted(column)).collect();
        let there: Vec<String> = quoted.iter().map(|column| format!("{column} IS NOT NULL")).collect();
        let (list, there) = (quoted.join(", "), there.join(" AND "));
        let table = dialect.quoted(&self.contract.table.name);
        let id = dialect.quoted(&self.contract.table.id);
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT 1 AS n FROM (SELECT {list} FROM {table} ORDER BY {id} DESC LIMIT {COUNT_LIMIT}) AS t \
             WHERE {there} GROUP BY {list} HAVING COUNT(*) > 1 LIMIT {MOST}) AS d"
        );
        SqlBuilder::new(dialect, sql).finish()
    }
}

/// The unique keys of a `CREATE TABLE` with one definition per line.
fn uniques(create: &str) -> Vec<Vec<String>> {
    let plain = |name: &str| name.trim().trim_matches(['"', '`']).to_owned();
    create
        .lines()
        .filter_map(|line| {
            let line = line.trim().trim_end_matches(',');
            match line.strip_prefix("UNIQUE (") {
                Some(list) => Some(list.trim_end_matches(')').split(',').map(plain).collect()),
                None => line
                    .split(' ')
                    .any(|word| word == "UNIQUE")
                    .then(|| line.split(' ').take(1).map(plain).collect()),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::uniques;

    #[test]
    fn unique_keys_are_read_from_the_reference_table() {
        let create = "CREATE TABLE t (\n    id bigint PRIMARY KEY,\n    \"key\" varchar(255) UNIQUE,\n    a text,\n    UNIQUE (a, `b`)\n)";
        assert_eq!(uniques(create), [vec!["key"], vec!["a", "b"]]);
    }
}
