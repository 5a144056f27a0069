//! Describes a table that no contract names yet: its columns and keys, and a sample of what it holds.
//!
//! Reads only. Everything is bounded: at most [`SAMPLE`] rows, and values of columns that may hold a state.

use postrider_contract::Contract;
use postrider_seams::store::{Class, Error};
use postrider_seams::table::{ColumnDescription, DatabaseKind, SampledValue, TableDescription};

use crate::ddl::migrate::{Alter, ExistingTable};
use crate::driver::Access;
use crate::driver::execute::Statement;
use crate::typed::{Columns, Row};
use crate::verify::hazards::Constraints;
use crate::{Dialect, ShapeColumn};

/// Rows whose values are counted.
const SAMPLE: u32 = 10_000;
/// Rows of which values are read as examples.
const EXAMPLES: u32 = 100;
/// Most distinct values of a column that may hold a state.
const MOST_VALUES: usize = 20;
/// Characters of an example.
const EXAMPLE_LENGTH: u32 = 200;

/// Reads the description of the table `name` or `schema.name`; `None` if there is no such table.
pub async fn describe<D: Alter>(on: &D, table: &str) -> Result<Option<TableDescription>, Error> {
    let contract = contract_of(table)?;
    let existing = on.found(&contract).await?;
    let ExistingTable { shape: Some(shape), indexes } = existing else { return Ok(None) };
    let constraints = on.constraints(&contract).await?;
    let column = |column: &ShapeColumn| ColumnDescription {
        labels: labels(&constraints, &column.name),
        name: column.name.clone(),
        sql_type: column.sql_type.clone(),
        nullable: column.nullable,
        has_default: column.has_default,
        ..ColumnDescription::default()
    };
    let mut found = TableDescription {
        database: match D::DIALECT {
            Dialect::Postgres => DatabaseKind::Postgres,
            Dialect::Mysql => DatabaseKind::Mysql,
            Dialect::Sqlite => DatabaseKind::Sqlite,
        },
        schema: contract.table.schema.clone(),
        name: contract.table.name.clone(),
        columns: shape.columns.iter().map(column).collect(),
        unique: constraints.unique,
        indexes: indexes.into_iter().filter(|index| !index.partial).map(|index| index.columns).collect(),
        checks: constraints.checks,
        rows: 0,
    };
    Sampler::new(&found).fill(on, &mut found).await?;
    Ok(Some(found))
}

fn labels(constraints: &Constraints, column: &str) -> Vec<String> {
    let found = constraints.enums.iter().find(|(name, _)| name.eq_ignore_ascii_case(column));
    found.map(|(_, labels)| labels.clone()).unwrap_or_default()
}

/// A contract that names the table, with columns that no table has: what reads a table expects a contract.
fn contract_of(table: &str) -> Result<Contract, Error> {
    let name = toml_text(table);
    let text = format!(
        "contract = \"described\"\nversion = \"1.0\"\ncomposer = \"record\"\n[table]\nname = {name}\n\
         id = \"_postrider_id\"\n[columns]\nstatus = \"_postrider_status\"\nattempts = \"_postrider_attempts\"\n\
         due = \"_postrider_due\"\nclaimed_at = \"_postrider_claimed_at\"\n[message]\n[[stage]]\nname = \"run\"\n\
         ready = \"ready\"\nclaimed = \"claimed\"\ndelivered = \"delivered\"\nretryable = \"ready\"\ndead = \"dead\"\n\
         [retry]\nbase = \"10s\"\n"
    );
    Contract::parse("--table", &text)
        .map_err(|mistakes| Error::new(Class::Misconfigured, mistakes.to_string()))
}

/// The text as a TOML string.
fn toml_text(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}

/// The statements that sample one table.
struct Sampler {
    dialect: Dialect,
    columns: Vec<String>,
    /// The newest rows by a unique key, or any rows.
    newest: String,
}

impl Sampler {
    fn new(table: &TableDescription) -> Self {
        let dialect = match table.database {
            DatabaseKind::Postgres => Dialect::Postgres,
            DatabaseKind::Mysql => Dialect::Mysql,
            DatabaseKind::Sqlite => Dialect::Sqlite,
        };
        let columns: Vec<String> = table.columns.iter().map(|column| dialect.quoted(&column.name)).collect();
        let from = match &table.schema {
            Some(schema) => format!("{}.{}", dialect.quoted(schema), dialect.quoted(&table.name)),
            None => dialect.quoted(&table.name),
        };
        let key = table.unique.iter().find(|key| key.len() == 1).and_then(|key| key.first());
        let order = key.map(|key| format!(" ORDER BY {} DESC", dialect.quoted(key))).unwrap_or_default();
        let newest = format!("SELECT {} FROM {from}{order}", columns.join(", "));
        Self { dialect, columns, newest }
    }

    fn text_of(&self, column: &str) -> String {
        match self.dialect {
            Dialect::Postgres => format!("CAST({column} AS text)"),
            Dialect::Mysql => format!("CAST({column} AS CHAR)"),
            Dialect::Sqlite => format!("CAST({column} AS TEXT)"),
        }
    }

    fn filled(&self) -> String {
        self.columns.iter().map(|column| format!("COUNT({column})")).collect::<Vec<_>>().join(", ")
    }

    fn rows(&self, limit: u32) -> String {
        format!("FROM ({} LIMIT {limit}) AS newest", self.newest)
    }

    async fn fill<D: Alter>(&self, on: &D, table: &mut TableDescription) -> Result<(), Error> {
        let counts = read(on, format!("SELECT COUNT(*), {} {}", self.filled(), self.rows(SAMPLE))).await?;
        let mut counts = Columns::new(counts.into_iter().next().unwrap_or_default());
        table.rows = counts.count();
        for column in &mut table.columns {
            column.filled = counts.count();
        }
        for (at, quoted) in self.columns.iter().enumerate() {
            let column = &table.columns[at];
            if has_examples(column) {
                let example = read(on, self.example(quoted)).await?.into_iter().next().unwrap_or_default();
                table.columns[at].example = Columns::new(example).text();
            }
            if may_hold_state(&table.columns[at], &table.unique) {
                let rows = read(on, self.values(quoted)).await?;
                table.columns[at].values = (rows.len() <= MOST_VALUES)
                    .then(|| rows.into_iter().map(|row| self.value(row)).collect());
            }
        }
        Ok(())
    }

    fn example(&self, column: &str) -> String {
        let start = format!("substr({}, 1, {EXAMPLE_LENGTH})", self.text_of(column));
        format!("SELECT MAX({start}) {}", self.rows(EXAMPLES))
    }

    fn values(&self, column: &str) -> String {
        format!(
            "SELECT {}, COUNT(*), {} {} GROUP BY {column} ORDER BY 2 DESC, 1 LIMIT {}",
            self.text_of(column),
            self.filled(),
            self.rows(SAMPLE),
            MOST_VALUES + 1
        )
    }

    fn value(&self, row: Row) -> SampledValue {
        let mut row = Columns::new(row);
        SampledValue {
            value: row.text(),
            rows: row.count(),
            filled: self.columns.iter().map(|_| row.count()).collect(),
        }
    }
}

async fn read<D: Alter>(on: &D, sql: String) -> Result<Vec<Row>, Error> {
    on.rows("read a sample of the table", Access::Read, Statement { sql, args: Vec::new() }).await
}

/// Types whose values cannot be compared or cast everywhere.
const SHAPES: [&str; 5] = ["point", "geometry", "polygon", "line", "interval"];

/// Whether a value of the column says how it is written: a time as a number, JSON as text.
fn has_examples(column: &ColumnDescription) -> bool {
    let sql_type = column.sql_type.to_ascii_lowercase();
    !["bytea", "blob", "binary"].iter().chain(&SHAPES).any(|name| sql_type.contains(name))
}

/// Whether the column may hold a state: an enumerated type, a boolean, a small number, or a short text.
fn may_hold_state(column: &ColumnDescription, unique: &[Vec<String>]) -> bool {
    let sql_type = column.sql_type.to_ascii_lowercase();
    let name = column.name.to_ascii_lowercase();
    let is_key = unique.iter().any(|key| key.len() == 1 && key[0] == column.name);
    let is_shape = SHAPES.iter().any(|part| sql_type.contains(part));
    let short = ["enum", "bool", "int", "bit", "char"].iter().any(|part| sql_type.contains(part));
    let named = ["stat", "phase", "stage"].iter().any(|part| name.contains(part));
    !is_key && !is_shape && (short || named || !column.labels.is_empty())
}
