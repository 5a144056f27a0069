//! Reads the definition of a table from SQLite's pragmas and schema table.

use postrider_contract::Contract;
use postrider_seams::row::Value;
use postrider_seams::store::Error;
use postrider_sql::ddl::Index;
use postrider_sql::ddl::migrate::{ExistingTable, indexes_from_rows};
use postrider_sql::driver::execute::{Arg, Statement};
use postrider_sql::driver::{Access, Driver as _};
use postrider_sql::internal::RECIPIENTS;
use postrider_sql::typed::Row;
use postrider_sql::verify::hazards::{Constraints, check_expressions, unique_keys};
use postrider_sql::{Shape, ShapeColumn, internal};

use crate::connect::Database;

/// The columns in order, including generated ones. Of primary keys, SQLite allows no NULL only in one of a single
/// column of the type INTEGER, which is the rowid: it generates that one, which counts as a default.
const COLUMNS: &str = "SELECT name, type, \"notnull\" = 0 AND NOT is_rowid, dflt_value IS NOT NULL OR hidden > 1 OR is_rowid \
    FROM (SELECT *, pk = 1 AND upper(type) = 'INTEGER' AND max(pk) OVER () = 1 AS is_rowid \
    FROM pragma_table_xinfo(?1)) WHERE hidden <> 1 ORDER BY cid";

/// Reads the columns of the table and of its related tables; `None` if the table does not exist.
pub async fn read(database: &Database, contract: &Contract) -> Result<Option<Shape>, Error> {
    let columns = columns(database, &contract.table.name).await?;
    if columns.is_empty() {
        return Ok(None);
    }
    let mut shape = Shape { columns, ..Shape::default() };
    let whole = indexes(database, contract).await?.into_iter().filter(|index| !index.partial);
    shape.indexed = whole.filter_map(|index| Some((index.columns.into_iter().next()?, true))).collect();
    // An INTEGER PRIMARY KEY is the rowid of the table, which needs no index.
    shape.indexed.insert(contract.table.id.clone(), true);
    for table in contract.related_tables() {
        let found = self::columns(database, table).await?;
        if !found.is_empty() {
            shape.related.insert(table.to_owned(), found);
        }
    }
    shape.cascades = cascades(database, contract).await?;
    shape.recipients = !self::columns(database, RECIPIENTS).await?.is_empty();
    shape.spell(contract);
    Ok(Some(shape))
}

/// Other tables whose rows are deleted together with ours.
const CASCADES: &str = "SELECT m.name, f.\"from\" FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS f \
    WHERE m.type = 'table' AND lower(m.name) <> lower(?1) AND lower(f.\"table\") = lower(?1) \
    AND lower(COALESCE(f.\"to\", ?2)) = lower(?2) AND f.on_delete = 'CASCADE' ORDER BY 1, 2";

async fn cascades(database: &Database, contract: &Contract) -> Result<Vec<(String, String)>, Error> {
    let names = [contract.table.name.as_str(), &contract.table.id];
    let rows = catalog(database, "read foreign keys", CASCADES, &names).await?;
    let text = |value: &Value| value.as_text().map(str::to_owned);
    Ok(rows.iter().filter_map(|row| text(row.first()?).zip(text(row.get(1)?))).collect())
}

/// Indexes and their columns in order; an expression has no column name.
const INDEXES: &str = "SELECT l.name, l.partial, i.name FROM pragma_index_list(?1) AS l, \
    pragma_index_info(l.name) AS i ORDER BY l.name, i.seqno";

/// Returns the existing columns and indexes of the contract's table.
pub async fn found(database: &Database, contract: &Contract) -> Result<ExistingTable, Error> {
    let indexes = indexes(database, contract).await?;
    Ok(ExistingTable { shape: read(database, contract).await?, indexes })
}

async fn indexes(database: &Database, contract: &Contract) -> Result<Vec<Index>, Error> {
    if database.is_missing() {
        return Ok(Vec::new());
    }
    let rows = catalog(database, "read the table's indexes", INDEXES, &[&contract.table.name]).await?;
    let rows = rows.into_iter().filter_map(|row| match row.as_slice() {
        [Value::Text(name), partial, column] => {
            Some((name.clone(), *partial == Value::Int(1), column.as_text().map(str::to_owned)))
        }
        _ => None,
    });
    Ok(indexes_from_rows(rows))
}

/// Unique keys and their columns in order, including the primary key: an integer one has no index.
const UNIQUE: &str = "SELECT l.name, i.name FROM pragma_index_list(?1) AS l, pragma_index_info(l.name) AS i \
    WHERE l.\"unique\" = 1 AND l.partial = 0 UNION ALL \
    SELECT * FROM (SELECT ' primary key', name FROM pragma_table_xinfo(?1) WHERE pk > 0 ORDER BY pk)";

const CREATE: &str = "SELECT sql FROM sqlite_master WHERE type = 'table' AND lower(name) = lower(?1)";

/// Returns the constraints of the table, and of those that effects write to, which their columns do not show.
///
/// Types and lengths refuse nothing in SQLite, and our connections do not enforce foreign keys.
pub async fn constraints(database: &Database, contract: &Contract) -> Result<Constraints, Error> {
    let mut found = constraints_of(database, &contract.table.name).await?;
    for effect in &contract.effects {
        found.related.insert(effect.table.clone(), constraints_of(database, &effect.table).await?);
    }
    Ok(found)
}

async fn constraints_of(database: &Database, table: &str) -> Result<Constraints, Error> {
    let unique = catalog(database, "read the table's keys", UNIQUE, &[table]).await?;
    let unique = unique_keys(unique.into_iter().filter_map(|row| match row.as_slice() {
        [Value::Text(name), column] => Some((name.clone(), column.as_text().map(str::to_owned))),
        _ => None,
    }));
    let create = catalog(database, "read the table's constraints", CREATE, &[table]).await?;
    let create = create.into_iter().flatten().next();
    let checks = check_expressions(create.as_ref().and_then(Value::as_text).unwrap_or_default());
    Ok(Constraints { unique, checks, ..Constraints::default() })
}

/// Returns, for each internal table, whether it exists.
pub async fn internal_tables(database: &Database) -> Result<[bool; internal::TABLES.len()], Error> {
    let mut there = [false; internal::TABLES.len()];
    for (table, there) in internal::TABLES.into_iter().zip(&mut there) {
        *there = !columns(database, table).await?.is_empty();
    }
    Ok(there)
}

/// Reads the columns of a table; empty if it does not exist.
async fn columns(database: &Database, table: &str) -> Result<Vec<ShapeColumn>, Error> {
    if database.is_missing() {
        return Ok(Vec::new());
    }
    let rows = catalog(database, "read the table's columns", COLUMNS, &[table]).await?;
    let yes = |value: &Value| matches!(value, Value::Int(1) | Value::Bool(true));
    let column = |row: Vec<Value>| match row.as_slice() {
        [Value::Text(name), sql_type, nullable, has_default] => Some(ShapeColumn {
            nullable: yes(nullable),
            has_default: yes(has_default),
            ..ShapeColumn::new(name, sql_type.as_text().unwrap_or_default())
        }),
        _ => None,
    };
    Ok(rows.into_iter().filter_map(column).collect())
}

/// Runs a catalog query with the writer, which switches the file to WAL mode before a reader uses it.
async fn catalog(database: &Database, doing: &str, sql: &str, names: &[&str]) -> Result<Vec<Row>, Error> {
    let args = names.iter().map(|name| Arg::Text(Some((*name).to_owned()))).collect();
    database.rows(doing, Access::Write, Statement { sql: sql.to_owned(), args }).await
}
