//! Rows that were taken over from a worker that is gone: counted in the error column's JSON, where recovery costs no
//! attempt. And seconds that a target asked for, kept in a member of a JSON column.
//!
//! Invariant: whatever text another program left in the column, no statement fails over it.

use postrider_contract::{DEFERRED_OWNER, LONGEST_WISH, POISON, POISON_MESSAGE, Role, TAKEOVERS, Wish};

use crate::Dialect;
use crate::column::Kind;
use crate::draft::Draft;
use crate::table::Table;
use crate::time::Shift;

impl Table<'_> {
    /// Take-overs so far; `None` where the contract does not count them.
    fn takeovers(&self) -> Option<String> {
        self.stage.lease.poison?;
        Some(self.json_number(self.contract.column(Role::Error)?, TAKEOVERS))
    }

    /// Is the take-over at hand (or, not `last`, is it not yet) one too many? A lock that only stood for "not before T"
    /// is nobody's fault.
    pub fn is_poisoned(&self, last: bool) -> Option<String> {
        let (takeovers, most) = (self.takeovers()?, self.stage.lease.poison?);
        let poisoned = match self.was_deferred() {
            Some(deferred) => format!("NOT ({deferred}) AND {takeovers} + 1 >= {most}"),
            None => format!("{takeovers} + 1 >= {most}"),
        };
        Some(if last { poisoned } else { format!("NOT ({poisoned})") })
    }

    /// Does the lock stand for "not before T"?
    pub fn was_deferred(&self) -> Option<String> {
        let owner = self.role(Role::Owner)?;
        Some(format!("COALESCE({owner}, '') = {}", self.text(DEFERRED_OWNER)))
    }

    /// A number in a member of a JSON column; 0 where there is none.
    fn json_number(&self, column: &str, member: &str) -> String {
        let col = self.col(column);
        match self.dialect {
            // There is no safe cast of text to JSON before PostgreSQL 16; inside a JSON text quotes are escaped, so that
            // this finds members only.
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

    /// Is the wait over that the target asked for, from the time in `after` on?
    pub fn wish_is_over(&self, after: &str, wish: &Wish) -> String {
        let seconds = self.wish_seconds(wish);
        let bound = self.bound(after, &Shift::Given { seconds: format!("(0 - {seconds})"), micros: 0 });
        format!("{} <= {bound}", self.instant(after))
    }

    pub fn wish_seconds(&self, wish: &Wish) -> String {
        let number = self.json_number(&wish.column, &wish.member);
        let most = LONGEST_WISH.as_secs();
        match self.dialect {
            Dialect::Postgres | Dialect::Mysql => format!("LEAST(GREATEST({number}, 0), {most})"),
            Dialect::Sqlite => format!("min(max({number}, 0), {most})"),
        }
    }
}

impl Draft<'_> {
    /// The column's JSON with one more take-over in it.
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

    /// A JSON column merges; in a text the member is put in front of the others.
    fn postgres_take_over(&self, column: &str, count: &str) -> String {
        let table = self.table;
        let col = table.col(column);
        if table.kind(column) == Kind::Json {
            let object = format!(
                "CASE WHEN jsonb_typeof({col}::jsonb) = 'object' THEN {col}::jsonb ELSE '{{}}'::jsonb END"
            );
            let cast = crate::column::postgres_type(&table.shape_of(column).sql_type);
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

    pub fn poisoned(&self, column: &str) -> Option<String> {
        let table = self.table;
        let (count, message) = (self.count()?, table.text(POISON_MESSAGE));
        let members = |text: &str| {
            format!("'code', '{POISON}'{text}, 'message', {message}{text}, '{TAKEOVERS}', {count}")
        };
        Some(match table.dialect {
            Dialect::Postgres => {
                let object = format!("json_build_object({})", members("::text"));
                let cast = crate::column::postgres_type(&table.shape_of(column).sql_type);
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

    /// Take-overs, this one included, as a whole number.
    fn count(&self) -> Option<String> {
        let count = format!("{} + 1", self.table.takeovers()?);
        Some(self.table.as_integer(&count))
    }
}
