//! Counts take-overs of rows whose worker is gone, in the error column's JSON, for contracts whose recovery costs no
//! attempt. Also reads the wait in seconds that a target asked for, from a member of a JSON column.
//!
//! Invariant: no statement fails because of text that another program left in the column.

use postrider_contract::{
    ColumnRole, DEFERRED_OWNER, JsonMember, LONGEST_RETRY_AFTER, POISON, POISON_MESSAGE, TAKEOVERS,
};

use crate::Dialect;
use crate::render::column::Kind;
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::render::time::Shift;

impl Table<'_> {
    /// Take-overs so far; `None` if the contract does not count them.
    fn takeovers(&self) -> Option<String> {
        self.stage.lease.poison?;
        Some(self.json_number(self.contract.column(ColumnRole::Error)?, TAKEOVERS))
    }

    /// Returns the condition that this take-over is one too many, or, if not `last`, that it is not.
    ///
    /// A lock that only meant "not before T" does not count. `None` if the contract counts no take-overs.
    pub fn is_poisoned(&self, last: bool) -> Option<String> {
        let (takeovers, most) = (self.takeovers()?, self.stage.lease.poison?);
        let poisoned = match self.was_deferred() {
            Some(deferred) => format!("NOT ({deferred}) AND {takeovers} + 1 >= {most}"),
            None => format!("{takeovers} + 1 >= {most}"),
        };
        Some(if last { poisoned } else { format!("NOT ({poisoned})") })
    }

    /// Returns the condition that the lock only means "not before T".
    pub fn was_deferred(&self) -> Option<String> {
        let owner = self.role(ColumnRole::Owner)?;
        Some(format!("COALESCE({owner}, '') = {}", self.text(DEFERRED_OWNER)))
    }

    /// A number in a member of a JSON column; 0 if there is none.
    fn json_number(&self, column: &str, member: &str) -> String {
        let col = self.col(column);
        match self.dialect {
            // PostgreSQL before 16 has no safe cast of text to JSON. Quotes inside a JSON text are escaped, so this
            // pattern only matches members.
            Dialect::Postgres => format!(
                "COALESCE(substring({col}::text FROM '\"{member}\"\\s*:\\s*([0-9]{{1,9}}(?:\\.[0-9]{{1,9}})?)')::float8, 0)"
            ),
            Dialect::Mysql => format!(
                "CASE WHEN JSON_VALID({col}) THEN COALESCE(CAST(JSON_UNQUOTE(JSON_EXTRACT({col}, '$.{member}')) AS \
                 DECIMAL(18, 6)), 0) ELSE 0 END"
            ),
            Dialect::Sqlite => format!(
                "CASE WHEN json_valid({col}) THEN COALESCE(CAST(json_extract({col}, '$.{member}') AS REAL), 0) ELSE 0 END"
            ),
        }
    }

    /// Returns the condition that the wait which the target asked for is over, counted from the time in `after`.
    pub fn retry_after_is_over(&self, after: &str, asked: &JsonMember) -> String {
        let seconds = self.retry_after_seconds(asked);
        let bound = self.comparable(after, &Shift::Values { seconds: format!("(0 - {seconds})"), micros: 0 });
        format!("{} <= {bound}", self.instant(after))
    }

    /// Returns the wait that the target asked for, in seconds, limited to the longest allowed one.
    pub fn retry_after_seconds(&self, asked: &JsonMember) -> String {
        let number = self.json_number(&asked.column, &asked.member);
        let most = LONGEST_RETRY_AFTER.as_secs();
        match self.dialect {
            Dialect::Postgres | Dialect::Mysql => format!("LEAST(GREATEST({number}, 0), {most})"),
            Dialect::Sqlite => format!("min(max({number}, 0), {most})"),
        }
    }
}

impl StepBuilder<'_> {
    /// Returns the column's JSON with the take-over count increased; `None` if the contract counts none.
    pub fn take_over(&self, column: &str) -> Option<String> {
        let table = self.table;
        let (col, count) = (table.col(column), self.count()?);
        let noted = match table.dialect {
            Dialect::Postgres => self.postgres_take_over(column, &count),
            Dialect::Mysql => format!(
                "JSON_MERGE_PATCH(CASE WHEN {col} IS NULL THEN '{{}}' WHEN NOT JSON_VALID({col}) THEN JSON_OBJECT('message', \
                 {col}) WHEN JSON_TYPE({col}) = 'OBJECT' THEN {col} ELSE '{{}}' END, JSON_OBJECT('{TAKEOVERS}', {count}))"
            ),
            Dialect::Sqlite => format!(
                "json_patch(CASE WHEN {col} IS NULL THEN '{{}}' WHEN NOT json_valid({col}) THEN json_object('message', \
                 {col}) WHEN json_type({col}) = 'object' THEN {col} ELSE '{{}}' END, json_object('{TAKEOVERS}', {count}))"
            ),
        };
        Some(match table.was_deferred() {
            Some(deferred) => format!("CASE WHEN {deferred} THEN {col} ELSE {noted} END"),
            None => noted,
        })
    }

    /// A JSON column is merged; in a text column the member is inserted before the others.
    fn postgres_take_over(&self, column: &str, count: &str) -> String {
        let table = self.table;
        let col = table.col(column);
        if table.kind(column) == Kind::Json {
            let object = format!(
                "CASE WHEN jsonb_typeof({col}::jsonb) = 'object' THEN {col}::jsonb ELSE '{{}}'::jsonb END"
            );
            let cast = crate::render::column::postgres_type(&table.shape_of(column).sql_type);
            return format!("({object} || jsonb_build_object('{TAKEOVERS}', {count}))::{cast}");
        }
        let rest =
            format!("regexp_replace({col}, '^\\s*\\{{(\\s*\"{TAKEOVERS}\"\\s*:\\s*[0-9]+\\s*,?)?\\s*', '')");
        let member = format!("'{{\"{TAKEOVERS}\":' || {count}");
        format!(
            "CASE WHEN {col} IS NULL THEN {member} || '}}' WHEN {col} !~ '^\\s*\\{{' THEN json_build_object('{TAKEOVERS}', \
             {count}, 'message', {col})::text ELSE {member} || CASE WHEN {rest} ~ '^\\}}' THEN '' ELSE ',' END || {rest} END"
        )
    }

    /// Returns the error JSON of a row that is ended after too many take-overs; `None` if the contract counts none.
    pub fn poisoned(&self, column: &str) -> Option<String> {
        let table = self.table;
        let (count, message) = (self.count()?, table.text(POISON_MESSAGE));
        let members = |text: &str| {
            format!("'code', '{POISON}'{text}, 'message', {message}{text}, '{TAKEOVERS}', {count}")
        };
        Some(match table.dialect {
            Dialect::Postgres => {
                let object = format!("json_build_object({})", members("::text"));
                let cast = crate::render::column::postgres_type(&table.shape_of(column).sql_type);
                if table.kind(column) == Kind::Json {
                    format!("{object}::{cast}")
                } else {
                    format!("{object}::text")
                }
            }
            Dialect::Mysql => format!("JSON_OBJECT({})", members("")),
            Dialect::Sqlite => format!("json_object({})", members("")),
        })
    }

    /// The number of take-overs including this one, as an integer.
    fn count(&self) -> Option<String> {
        let count = format!("{} + 1", self.table.takeovers()?);
        Some(self.table.as_integer(&count))
    }
}
