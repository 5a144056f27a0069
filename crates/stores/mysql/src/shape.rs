//! Reads the definition of a table from the information schema.

use postrider_contract::Contract;
use postrider_seams::store::Error;
use postrider_sql::ddl::Index;
use postrider_sql::ddl::migrate::{ExistingTable, indexes_from_rows};
use postrider_sql::internal::RECIPIENTS;
use postrider_sql::verify::hazards::{Constraints, Reference, enum_values, unique_keys};
use postrider_sql::{Shape, ShapeColumn, internal};

use crate::connect::Database;

/// The columns in order. MariaDB reports the text `NULL` for a column without a default.
const COLUMNS: &str = "SELECT CAST(column_name AS CHAR), CAST(column_type AS CHAR), \
    CAST(collation_name AS CHAR), is_nullable = 'YES', (column_default IS NOT NULL AND NOT (is_nullable = 'YES' AND column_default = 'NULL')) OR extra <> '' \
    FROM information_schema.columns WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? \
    ORDER BY ordinal_position";

/// Reads the columns of the table and of its related tables; `None` if the table does not exist.
pub async fn read(database: &Database, contract: &Contract) -> Result<Option<Shape>, Error> {
    let columns = columns(database, contract.table.schema.as_deref(), &contract.table.name).await?;
    if columns.is_empty() {
        return Ok(None);
    }
    let mut shape = Shape { columns, ..Shape::default() };
    let leading = indexes(database, contract).await?;
    shape.indexed =
        leading.into_iter().filter_map(|index| Some((index.columns.into_iter().next()?, true))).collect();
    for table in contract.related_tables() {
        let (schema, name) = split(table);
        let found = self::columns(database, schema, name).await?;
        if !found.is_empty() {
            shape.related.insert(table.to_owned(), found);
        }
    }
    shape.recipients = !self::columns(database, None, RECIPIENTS).await?.is_empty();
    shape.spell(contract);
    Ok(Some(shape))
}

/// The schema, if there is one, and the name.
fn split(table: &str) -> (Option<&str>, &str) {
    table.split_once('.').map_or((None, table), |(schema, name)| (Some(schema), name))
}

type Described = (String, String, Option<String>, bool, bool);

async fn columns(database: &Database, schema: Option<&str>, table: &str) -> Result<Vec<ShapeColumn>, Error> {
    let query = sqlx::query(COLUMNS).bind(schema.map(str::to_owned)).bind(table.to_owned());
    let found: Vec<Described> = database.all("read the table's columns", query).await?;
    let column = |(name, sql_type, collation, nullable, has_default): Described| ShapeColumn {
        name,
        sql_type,
        collation,
        nullable,
        has_default,
    };
    Ok(found.into_iter().map(column).collect())
}

/// Indexes and their columns in order; an expression has no column name.
const INDEXES: &str = "SELECT CAST(index_name AS CHAR), CAST(column_name AS CHAR) \
    FROM information_schema.statistics WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? \
    ORDER BY index_name, seq_in_index";

/// Returns the existing columns and indexes of the contract's table.
pub async fn found(database: &Database, contract: &Contract) -> Result<ExistingTable, Error> {
    let indexes = indexes(database, contract).await?;
    Ok(ExistingTable { shape: read(database, contract).await?, indexes })
}

async fn indexes(database: &Database, contract: &Contract) -> Result<Vec<Index>, Error> {
    let query = sqlx::query(INDEXES).bind(contract.table.schema.clone()).bind(contract.table.name.clone());
    let rows: Vec<(String, Option<String>)> = database.all("read the table's indexes", query).await?;
    // MySQL has no partial indexes.
    Ok(indexes_from_rows(rows.into_iter().map(|(name, column)| (name, false, column))))
}

/// Unique keys and their columns in order; an expression has no column name. A unique prefix makes its column unique.
const UNIQUE: &str = "SELECT CAST(index_name AS CHAR), CAST(column_name AS CHAR) \
    FROM information_schema.statistics WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? \
    AND non_unique = 0 ORDER BY index_name, seq_in_index";

/// Foreign keys of one column.
const REFERENCES: &str = "SELECT CAST(MIN(column_name) AS CHAR), \
    CAST(CONCAT(MIN(referenced_table_schema), '.', MIN(referenced_table_name)) AS CHAR), \
    CAST(MIN(referenced_column_name) AS CHAR) FROM information_schema.key_column_usage \
    WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? AND referenced_table_name IS NOT NULL \
    GROUP BY constraint_name HAVING COUNT(*) = 1";

/// CHECK constraints on MariaDB, where names are unique only within a table, which the view names.
const MARIADB_CHECKS: &str = "SELECT CAST(check_clause AS CHAR) FROM information_schema.check_constraints \
    WHERE constraint_schema = COALESCE(?, DATABASE()) AND table_name = ?";

const MYSQL_CHECKS: &str = "SELECT CAST(c.check_clause AS CHAR) FROM information_schema.check_constraints AS c \
    JOIN information_schema.table_constraints AS t ON t.constraint_schema = c.constraint_schema \
    AND t.constraint_name = c.constraint_name AND t.constraint_type = 'CHECK' \
    WHERE t.table_schema = COALESCE(?, DATABASE()) AND t.table_name = ?";

/// Returns the constraints of the table, and of those that effects write to, which their columns do not show.
pub async fn constraints(
    database: &Database,
    contract: &Contract,
    version: &str,
) -> Result<Constraints, Error> {
    let checks = if version.contains("MariaDB") { MARIADB_CHECKS } else { MYSQL_CHECKS };
    let (schema, table) = (contract.table.schema.as_deref(), &contract.table.name);
    let mut found = constraints_of(database, schema, table, checks).await?;
    for effect in &contract.effects {
        let (schema, table) = split(&effect.table);
        let related = constraints_of(database, schema, table, checks).await?;
        found.related.insert(effect.table.clone(), related);
    }
    Ok(found)
}

async fn constraints_of(
    database: &Database,
    schema: Option<&str>,
    table: &str,
    checks: &'static str,
) -> Result<Constraints, Error> {
    let query = |sql: &'static str| sqlx::query(sql).bind(schema.map(str::to_owned)).bind(table.to_owned());
    let unique: Vec<(String, Option<String>)> = database.all("read the table's keys", query(UNIQUE)).await?;
    let constraints: Vec<(String,)> = database.all("read the table's constraints", query(checks)).await?;
    let references: Vec<(String, String, String)> =
        database.all("read the table's foreign keys", query(REFERENCES)).await?;
    let columns = columns(database, schema, table).await?;
    Ok(Constraints {
        unique: unique_keys(unique),
        enums: columns
            .into_iter()
            .filter_map(|column| Some((column.name, enum_values(&column.sql_type)?)))
            .collect(),
        // MySQL, unlike MariaDB, escapes quotes with a backslash.
        checks: constraints
            .into_iter()
            .map(|(check,)| if checks == MYSQL_CHECKS { check.replace("\\'", "'") } else { check })
            .collect(),
        references: references
            .into_iter()
            .map(|(column, table, to)| Reference { column, table, to })
            .collect(),
        ..Constraints::default()
    })
}

/// Returns, for each internal table, whether it exists.
pub async fn internal_tables(database: &Database) -> Result<[bool; internal::TABLES.len()], Error> {
    let mut there = [false; internal::TABLES.len()];
    for (table, there) in internal::TABLES.into_iter().zip(&mut there) {
        *there = !columns(database, None, table).await?.is_empty();
    }
    Ok(there)
}

/// Returns the statements for internal tables that an earlier version created with other columns.
pub async fn outdated_internal(database: &Database) -> Result<Vec<String>, Error> {
    let columns = columns(database, None, RECIPIENTS).await?;
    Ok(internal::widen_recipients(&columns).into_iter().collect())
}
