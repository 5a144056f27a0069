//! What a table looks like, from the information schema.

use postrider_contract::Contract;
use postrider_seams::store::Error;
use postrider_sql::ddl::Index;
use postrider_sql::own::recipients::RECIPIENTS;
use postrider_sql::run::migrate::{Found, gathered};
use postrider_sql::{Shape, ShapeColumn, own};

use crate::connect::Database;

/// The columns in order.
const COLUMNS: &str = "SELECT CAST(column_name AS CHAR), CAST(column_type AS CHAR), \
    CAST(collation_name AS CHAR), is_nullable = 'YES', column_default IS NOT NULL OR extra <> '' \
    FROM information_schema.columns WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? \
    ORDER BY ordinal_position";

/// The table's columns, and those of the tables beside it; `None` where there is no such table.
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
        let (schema, name) = match table.split_once('.') {
            Some((schema, name)) => (Some(schema), name),
            None => (None, table),
        };
        let found = self::columns(database, schema, name).await?;
        if !found.is_empty() {
            shape.related.insert(table.to_owned(), found);
        }
    }
    shape.recipients = !self::columns(database, None, RECIPIENTS).await?.is_empty();
    Ok(Some(shape))
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

/// Indexes and their columns in order; an expression has no name.
const INDEXES: &str = "SELECT CAST(index_name AS CHAR), CAST(column_name AS CHAR) \
    FROM information_schema.statistics WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? \
    ORDER BY index_name, seq_in_index";

/// What there is of the contract's table.
pub async fn found(database: &Database, contract: &Contract) -> Result<Found, Error> {
    let indexes = indexes(database, contract).await?;
    Ok(Found { shape: read(database, contract).await?, indexes })
}

async fn indexes(database: &Database, contract: &Contract) -> Result<Vec<Index>, Error> {
    let query = sqlx::query(INDEXES).bind(contract.table.schema.clone()).bind(contract.table.name.clone());
    let rows: Vec<(String, Option<String>)> = database.all("read the table's indexes", query).await?;
    // There are no partial ones here.
    Ok(gathered(rows.into_iter().map(|(name, column)| (name, false, column))))
}

/// Which of our own tables are there?
pub async fn own_tables(database: &Database) -> Result<[bool; own::TABLES.len()], Error> {
    let mut there = [false; own::TABLES.len()];
    for (table, there) in own::TABLES.into_iter().zip(&mut there) {
        *there = !columns(database, None, table).await?.is_empty();
    }
    Ok(there)
}
