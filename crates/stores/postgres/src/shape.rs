//! Reads the definition of a table from the catalog.

use std::collections::{BTreeMap, BTreeSet};

use postrider_contract::{Contract, Table};
use postrider_seams::store::{Class, Error};
use postrider_sql::ddl::Index;
use postrider_sql::ddl::migrate::ExistingTable;
use postrider_sql::internal::{BEGUN, RECIPIENTS};
use postrider_sql::verify::hazards::{Constraints, Reference};
use postrider_sql::{Shape, ShapeColumn, ddl, internal};

use crate::connect::Database;

/// The columns in order. A domain is replaced by its base type.
const COLUMNS: &str = "SELECT a.attname::text, \
    CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) \
         ELSE format_type(a.atttypid, a.atttypmod) END, \
    NOT a.attnotnull, a.atthasdef OR a.attidentity <> '' \
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid \
    WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

/// Returns the quoted table name, `schema.name`.
pub fn qualified(table: &Table) -> String {
    match &table.schema {
        Some(schema) => format!("{}.{}", quote(schema), quote(&table.name)),
        None => quote(&table.name),
    }
}

fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quotes a name that may contain a schema, as effects and joins write it.
fn quoted_path(path: &str) -> String {
    path.split('.').map(quote).collect::<Vec<_>>().join(".")
}

/// Reads the columns of the table and of its related tables; `None` if the table does not exist.
pub async fn read(database: &Database, contract: &Contract) -> Result<Option<Shape>, Error> {
    let columns = columns(database, &qualified(&contract.table)).await?;
    if columns.is_empty() {
        refuse_other_case(database, contract.table.schema.as_deref(), &contract.table.name).await?;
        return Ok(None);
    }
    let indexed = indexed(database, contract).await?;
    let prefix_indexed = prefix_indexed(database, contract).await?;
    let mut shape = Shape { columns, indexed, prefix_indexed, ..Shape::default() };
    for table in contract.related_tables() {
        let found = self::columns(database, &quoted_path(table)).await?;
        if found.is_empty() {
            let (schema, name) =
                table.split_once('.').map_or((None, table), |(schema, name)| (Some(schema), name));
            refuse_other_case(database, schema, name).await?;
        } else {
            shape.related.insert(table.to_owned(), found);
        }
    }
    shape.recipients = !self::columns(database, &quote(RECIPIENTS)).await?.is_empty();
    shape.marks = !self::columns(database, &quote(BEGUN)).await?.is_empty();
    Ok(Some(shape))
}

/// Finds a table whose name differs only in case.
const NAMESAKE: &str = "SELECT c.relname::text FROM pg_catalog.pg_class c \
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'v', 'f') AND c.relname <> $1 AND lower(c.relname) = lower($1) \
    AND CASE WHEN $2::text IS NULL THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = $2 END LIMIT 1";

/// Fails if a missing table exists in another case, which is a typo: `migrate` must not create a second one.
async fn refuse_other_case(database: &Database, schema: Option<&str>, name: &str) -> Result<(), Error> {
    let query = sqlx::query(NAMESAKE).bind(name.to_owned()).bind(schema.map(str::to_owned));
    let found: Vec<(String,)> = database.all("find the table", query).await?;
    let Some((there,)) = found.into_iter().next() else { return Ok(()) };
    let text = format!(
        "{} has no table {name}, but there is {there}: PostgreSQL folds names that are not quoted to lower case; write \
         {there} in the contract",
        database.place
    );
    Err(Error::new(Class::Misconfigured, text))
}

/// The first columns of indexes on all rows (or all non-NULL ones), and whether the index supports prefix searches,
/// which requires byte order.
const INDEXED: &str = "SELECT a.attname::text, \
    bool_or(o.opcname LIKE '%pattern_ops' OR l.collname IN ('C', 'POSIX') \
    OR (l.collname = 'default' AND d.datcollate IN ('C', 'POSIX'))) \
    FROM pg_catalog.pg_index x JOIN pg_catalog.pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0] \
    JOIN pg_catalog.pg_opclass o ON o.oid = x.indclass[0] \
    LEFT JOIN pg_catalog.pg_collation l ON l.oid = x.indcollation[0] \
    JOIN pg_catalog.pg_database d ON d.datname = current_database() \
    WHERE x.indrelid = to_regclass($1) AND x.indisvalid AND (x.indpred IS NULL \
    OR pg_get_expr(x.indpred, x.indrelid) = '(' || quote_ident(a.attname) || ' IS NOT NULL)') GROUP BY 1";

async fn indexed(database: &Database, contract: &Contract) -> Result<BTreeMap<String, bool>, Error> {
    let query = sqlx::query(INDEXED).bind(qualified(&contract.table));
    let found: Vec<(String, Option<bool>)> = database.all("read the table's indexes", query).await?;
    Ok(found.into_iter().map(|(column, prefix)| (column, prefix.unwrap_or(false))).collect())
}

/// Returns the columns with an index of `migrate --search`: it is on an expression, and recognised by its name.
async fn prefix_indexed(database: &Database, contract: &Contract) -> Result<BTreeSet<String>, Error> {
    const NAMED: &str = "SELECT c.relname::text FROM pg_catalog.pg_index x \
        JOIN pg_catalog.pg_class c ON c.oid = x.indexrelid \
        WHERE x.indrelid = to_regclass($1) AND x.indisvalid AND x.indpred IS NULL";
    let query = sqlx::query(NAMED).bind(qualified(&contract.table));
    let there: Vec<(String,)> = database.all("read the table's indexes", query).await?;
    let there: BTreeSet<String> = there.into_iter().map(|(name,)| name).collect();
    let named = ddl::search::names(contract).into_iter();
    Ok(named.filter(|(_, name)| there.contains(name)).map(|(column, _)| column).collect())
}

async fn columns(database: &Database, table: &str) -> Result<Vec<ShapeColumn>, Error> {
    let query = sqlx::query(COLUMNS).bind(table);
    let found: Vec<(String, String, bool, bool)> = database.all("read the table's columns", query).await?;
    let column = |(name, sql_type, nullable, has_default): (String, String, bool, bool)| ShapeColumn {
        nullable,
        has_default,
        ..ShapeColumn::new(name, sql_type)
    };
    Ok(found.into_iter().map(column).collect())
}

/// Valid indexes: name, whether partial, and columns (an expression has an empty name).
const INDEXES: &str = "SELECT c.relname::text, x.indpred IS NOT NULL, \
    ARRAY(SELECT coalesce(a.attname::text, '') FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS k(number, place) \
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number AND k.number > 0 \
    ORDER BY k.place) \
    FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class c ON c.oid = x.indexrelid \
    WHERE x.indrelid = to_regclass($1) AND x.indisvalid ORDER BY c.relname";

/// Returns the existing columns and indexes of the contract's table.
pub async fn found(database: &Database, contract: &Contract) -> Result<ExistingTable, Error> {
    let query = sqlx::query(INDEXES).bind(qualified(&contract.table));
    let found: Vec<(String, bool, Vec<String>)> = database.all("read the table's indexes", query).await?;
    let index = |(name, partial, columns): (String, bool, Vec<String>)| Index {
        name,
        partial,
        columns: columns.into_iter().take_while(|column| !column.is_empty()).collect(),
    };
    Ok(ExistingTable {
        shape: read(database, contract).await?,
        indexes: found.into_iter().map(index).collect(),
    })
}

/// Columns of an enum type, or of a domain of one, and its values.
const ENUMS: &str = "SELECT a.attname::text, array_agg(e.enumlabel::text ORDER BY e.enumsortorder) \
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid \
    JOIN pg_catalog.pg_enum e ON e.enumtypid IN (t.oid, t.typbasetype) \
    WHERE a.attrelid = to_regclass($1) AND NOT a.attisdropped GROUP BY a.attname";

/// Unique keys on all rows, each as its columns.
const UNIQUE: &str = "SELECT ARRAY(SELECT a.attname::text FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS k(number, place) \
    JOIN pg_catalog.pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number \
    WHERE k.place <= x.indnkeyatts ORDER BY k.place) \
    FROM pg_catalog.pg_index x WHERE x.indrelid = to_regclass($1) AND x.indisunique AND x.indisvalid \
    AND x.indpred IS NULL AND x.indexprs IS NULL";

/// Columns of a domain, and the domain.
const DOMAINS: &str = "SELECT a.attname::text, format_type(a.atttypid, NULL) \
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid \
    WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped AND t.typtype = 'd'";

/// Foreign keys of one column.
const REFERENCES: &str = "SELECT a.attname::text, n.nspname || '.' || c.relname, f.attname::text \
    FROM pg_catalog.pg_constraint k \
    JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1] \
    JOIN pg_catalog.pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = k.confkey[1] \
    JOIN pg_catalog.pg_class c ON c.oid = k.confrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE k.conrelid = to_regclass($1) AND k.contype = 'f' AND cardinality(k.conkey) = 1";

/// CHECK constraints of a single column.
const CHECKS: &str = "SELECT pg_get_expr(c.conbin, c.conrelid) FROM pg_catalog.pg_constraint c \
    WHERE c.conrelid = to_regclass($1) AND c.contype = 'c' AND cardinality(c.conkey) = 1";

/// Returns the constraints of the table, and of those that effects write to, which their columns do not show.
pub async fn constraints(database: &Database, contract: &Contract) -> Result<Constraints, Error> {
    let mut found = constraints_of(database, &qualified(&contract.table)).await?;
    for effect in &contract.effects {
        let related = constraints_of(database, &quoted_path(&effect.table)).await?;
        found.related.insert(effect.table.clone(), related);
    }
    Ok(found)
}

async fn constraints_of(database: &Database, table: &str) -> Result<Constraints, Error> {
    let doing = "read the table's constraints";
    let query = |sql: &'static str| sqlx::query(sql).bind(table.to_owned());
    let unique: Vec<(Vec<String>,)> = database.all(doing, query(UNIQUE)).await?;
    let checks: Vec<(String,)> = database.all(doing, query(CHECKS)).await?;
    let references: Vec<(String, String, String)> = database.all(doing, query(REFERENCES)).await?;
    Ok(Constraints {
        unique: unique.into_iter().map(|(columns,)| columns).collect(),
        enums: database.all(doing, query(ENUMS)).await?,
        domains: database.all(doing, query(DOMAINS)).await?,
        checks: checks.into_iter().map(|(check,)| check).collect(),
        references: references
            .into_iter()
            .map(|(column, table, to)| Reference { column, table, to })
            .collect(),
        ..Constraints::default()
    })
}

/// Returns, for each internal table, whether it exists.
pub async fn internal_tables(database: &Database) -> Result<[bool; internal::TABLES.len()], Error> {
    const THERE: &str = "SELECT ARRAY(SELECT to_regclass(name) IS NOT NULL \
        FROM unnest($1::text[]) WITH ORDINALITY AS t(name, place) ORDER BY place)";
    let names: Vec<String> = internal::TABLES.map(quoted_path).into();
    let (found,): (Vec<bool>,) =
        database.one("find the internal tables", sqlx::query(THERE).bind(names)).await?;
    Ok(std::array::from_fn(|table| found.get(table) == Some(&true)))
}
