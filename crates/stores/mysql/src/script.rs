//! Runs scripts: binds the values that each step names, expands lists of keys, and reads the returned rows.

use postrider_seams::row::{RowId, Value};
use postrider_seams::store::Error;
use postrider_sql::bind::{self, Given};
use postrider_sql::run::{Done, Patience, Progress, Run};
use postrider_sql::{Bind, Dialect, Script, Step, Yields};
use sqlx::mysql::{MySql, MySqlArguments, MySqlConnection, MySqlRow, MySqlTypeInfo};
use sqlx::query::Query;
use sqlx::{
    AssertSqlSafe, Column as _, Connection as _, Executor as _, FromRow, Row as _, Type, TypeInfo as _,
    ValueRef as _,
};

use crate::connect::Database;
use crate::error;
use crate::session::rolled_back;

impl Run for Database {
    fn dialect(&self) -> Dialect {
        Dialect::Mysql
    }

    fn owner(&self) -> &str {
        &self.instance
    }

    fn unhurried(&self) -> Self {
        Self { deadline: self.patience, ..self.clone() }
    }

    async fn run_all(&self, doing: &str, scripts: &[(&Script, Given<'_>)]) -> Result<Vec<Done>, Error> {
        let mut patience = Patience::default();
        loop {
            match self.try_run(scripts).await {
                Ok(done) => return Ok(done),
                Err(cause) => self.bear(&mut patience, doing, cause).await?,
            }
        }
    }

    async fn ask(
        &self,
        doing: &str,
        sql: &'static str,
        args: Vec<Value>,
    ) -> Result<Option<Vec<Vec<Value>>>, Error> {
        let mut patience = Patience::default();
        loop {
            let query = args.iter().cloned().fold(sqlx::query(sql), one);
            match self.fetch(query).await {
                Ok(rows) => return Ok(Some(rows.iter().map(values).collect())),
                Err(cause) if error::is_missing_table(&cause) => return Ok(None),
                Err(cause) => self.bear(&mut patience, doing, cause).await?,
            }
        }
    }
}

impl Database {
    /// Waits before retrying a transaction that collided; returns the error if it must not be retried.
    pub(crate) async fn bear(
        &self,
        patience: &mut Patience,
        doing: &str,
        cause: sqlx::Error,
    ) -> Result<(), Error> {
        let ended = patience.wait(cause, error::is_collision).await;
        ended.map_err(|cause| error::classify(&self.place, doing, cause))
    }

    async fn try_run(&self, scripts: &[(&Script, Given<'_>)]) -> Result<Vec<Done>, sqlx::Error> {
        let mut lease = self.pool.acquire().await?;
        let outcome = lease.bound(self.deadline).run(run_on(&mut lease, scripts)).await;
        lease.end(outcome)
    }

    /// Returns the rows of one statement.
    async fn fetch(&self, query: MyQuery) -> Result<Vec<MySqlRow>, sqlx::Error> {
        let mut lease = self.pool.acquire().await?;
        let outcome = lease.bound(self.deadline).run(lease.fetch_all(query)).await;
        lease.end(outcome)
    }

    /// Returns the rows of a catalog query.
    pub(crate) async fn all<O>(&self, doing: &str, query: MyQuery) -> Result<Vec<O>, Error>
    where
        O: for<'r> FromRow<'r, MySqlRow> + Send + Unpin,
    {
        let rows = self.unhurried().fetch(query).await;
        let read = rows.and_then(|rows| rows.iter().map(O::from_row).collect());
        read.map_err(|cause| error::classify(&self.place, doing, cause))
    }
}

/// Runs the scripts on a connection. A single statement needs no explicit transaction.
async fn run_on(
    connection: &mut MySqlConnection,
    scripts: &[(&Script, Given<'_>)],
) -> Result<Vec<Done>, sqlx::Error> {
    if let [(script, given)] = scripts
        && script.steps.len() == 1
    {
        return Ok(vec![run_steps(connection, &script.steps, given).await?]);
    }
    let mut transaction = connection.begin().await?;
    let mut done = Vec::with_capacity(scripts.len());
    for (script, given) in scripts {
        match run_steps(&mut transaction, &script.steps, given).await {
            Ok(one) => done.push(one),
            Err(cause) => return Err(rolled_back(transaction, cause).await),
        }
    }
    transaction.commit().await?;
    Ok(done)
}

async fn run_steps(
    connection: &mut MySqlConnection,
    steps: &[Step],
    given: &Given<'_>,
) -> Result<Done, sqlx::Error> {
    let mut progress = Progress::new(given);
    let mut claim_time = None;
    for step in steps {
        if progress.skips(step) {
            continue;
        }
        if step.binds.contains(&Bind::ClaimTime) {
            claim_time =
                share_latest(given.claim_time, progress.done.rows.as_deref_mut().unwrap_or_default());
        }
        for (group, quota) in repeats(step, &progress) {
            let also = Also { claim_time: claim_time.as_deref(), group, quota };
            let query = bound(step, given, &progress, &also);
            if step.yields == Yields::Nothing {
                progress.changed(connection.execute(query).await?.rows_affected());
                continue;
            }
            let rows = connection.fetch_all(query).await?.iter().map(values).collect();
            progress.yielded(given, step, rows);
        }
    }
    Ok(progress.done)
}

/// Values that only MySQL's steps bind.
struct Also<'a> {
    claim_time: Option<&'a str>,
    /// The group or fairness key of a repeated step.
    group: String,
    /// Largest number of rows of that fairness key.
    quota: u32,
}

/// Returns the groups or fairness keys for each of which the step runs; one empty entry if it runs only once.
fn repeats(step: &Step, progress: &Progress) -> Vec<(String, u32)> {
    if step.binds.contains(&Bind::Group) {
        return progress.groups.iter().map(|group| (group.clone(), 0)).collect();
    }
    if step.binds.contains(&Bind::Share) {
        return progress.permits.shares().iter().map(|share| (share.key.clone(), share.most)).collect();
    }
    vec![(String::new(), 0)]
}

/// Returns the claim's time, the latest one of the picked rows, and sets it in every row.
fn share_latest(column: Option<usize>, rows: &mut [Vec<Value>]) -> Option<String> {
    let column = column?;
    let latest = rows.iter().filter_map(|row| row.get(column)?.as_text()).max().map(str::to_owned)?;
    for row in rows {
        row[column] = Value::Text(latest.clone());
    }
    Some(latest)
}

/// Number of placeholders for a list of keys: few sizes, so that few statements are prepared. The last key is repeated.
fn room(keys: usize) -> usize {
    keys.next_power_of_two()
}

fn expanded(sql: &str, ids: usize, held: usize, pools: usize) -> String {
    let marks = |keys: usize| vec!["?"; room(keys)].join(", ");
    let mut text = sql.to_owned();
    if text.contains("{ids}") {
        text = text.replace("{ids}", &marks(ids));
    }
    if text.contains("{held}") {
        text = text.replace("{held}", &marks(held));
    }
    if text.contains("{pools}") {
        text = text.replace("{pools}", &marks(pools));
    }
    text
}

type MyQuery = Query<'static, MySql, MySqlArguments>;

fn bound(step: &Step, given: &Given<'_>, progress: &Progress, also: &Also<'_>) -> MyQuery {
    let sql = expanded(&step.sql, given.ids.len(), progress.held.len(), given.shares.limited.len());
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for bind in &step.binds {
        query = match bind {
            Bind::Limit => query.bind(i64::from(given.limit)),
            Bind::Owner => query.bind(given.owner.to_owned()),
            // Only PostgreSQL binds arrays.
            Bind::Array(_) | Bind::Groups => unreachable!("{bind:?} is in no statement here"),
            Bind::Rows(fields) => query.bind(given.json_rows(fields)),
            Bind::One(field) => one(query, given.shared(field)),
            Bind::Ids => keys(query, &given.ids),
            Bind::Held => keys(query, &progress.held),
            Bind::ClaimTime => query.bind(also.claim_time.map(str::to_owned)),
            Bind::Since => query.bind(given.since),
            Bind::GroupsWanted => query.bind(i64::from(given.groups.wanted)),
            Bind::Jumps => query.bind(i64::from(given.groups.jumps)),
            Bind::Fresh => query.bind(i64::from(given.groups.fresh)),
            Bind::Cursor => query.bind(given.groups.cursor.clone()),
            Bind::Group | Bind::Share => query.bind(also.group.clone()),
            Bind::Run => query.bind(i64::from(progress.run_length())),
            Bind::Shares => query.bind(progress.permits.shares_json()),
            Bind::Open => query.bind(progress.permits.open_json()),
            Bind::Permits => query.bind(progress.permits.left_json()),
            Bind::Quota => query.bind(i64::from(also.quota)),
            Bind::Pools => texts(query, &given.shares.limited),
        };
    }
    query
}

fn keys(query: MyQuery, ids: &[RowId]) -> MyQuery {
    let Some(last) = ids.last() else { return query.bind(None::<String>) };
    let padding = std::iter::repeat_n(last, room(ids.len()) - ids.len());
    ids.iter().chain(padding).fold(query, key)
}

fn texts(query: MyQuery, texts: &[String]) -> MyQuery {
    let Some(last) = texts.last() else { return query.bind(None::<String>) };
    let padding = std::iter::repeat_n(last, room(texts.len()) - texts.len());
    texts.iter().chain(padding).fold(query, |query, text| query.bind(text.clone()))
}

fn key(query: MyQuery, id: &RowId) -> MyQuery {
    match id {
        RowId::Int(id) => query.bind(*id),
        RowId::Text(id) => query.bind(id.to_string()),
    }
}

fn one(query: MyQuery, value: Value) -> MyQuery {
    match value {
        Value::Int(number) => query.bind(number),
        Value::Float(number) => query.bind(number),
        Value::Bool(flag) => query.bind(flag),
        Value::Bytes(bytes) => query.bind(bytes),
        other => query.bind(bind::text(other)),
    }
}

pub(crate) fn values(row: &MySqlRow) -> Vec<Value> {
    (0..row.len()).map(|index| value(row, index)).collect()
}

/// Converts a column to a value. Values that cannot be decoded are returned as bytes, never as an error: one bad row
/// must not lose the claim of the others.
fn value(row: &MySqlRow, index: usize) -> Value {
    match row.try_get_raw(index) {
        Ok(raw) if !raw.is_null() => {}
        _ => return Value::Null,
    }
    let info = row.column(index).type_info();
    let name = info.name();
    let read = match name {
        "DOUBLE" => row.try_get_unchecked::<f64, _>(index).map(Value::Float),
        "FLOAT" => row.try_get_unchecked::<f32, _>(index).map(|number| Value::Float(number.into())),
        "BOOLEAN" => row.try_get_unchecked::<bool, _>(index).map(|flag| Value::Int(flag.into())),
        _ if name.ends_with("UNSIGNED") => row
            .try_get_unchecked::<u64, _>(index)
            .map(|number| i64::try_from(number).map_or_else(|_| Value::Text(number.to_string()), Value::Int)),
        _ if name.ends_with("INT") => row.try_get_unchecked::<i64, _>(index).map(Value::Int),
        _ => row.try_get_unchecked::<Vec<u8>, _>(index).map(|bytes| text_or_bytes(info, bytes)),
    };
    read.unwrap_or_default()
}

/// Returns text or bytes. The type name alone is ambiguous: text with a `_bin` collation is reported as binary as well.
fn text_or_bytes(info: &MySqlTypeInfo, bytes: Vec<u8>) -> Value {
    let binary = ["BLOB", "BINARY", "BIT"].into_iter().any(|end| info.name().ends_with(end));
    if binary && !<str as Type<MySql>>::compatible(info) {
        return Value::Bytes(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Value::Text(text),
        Err(broken) => Value::Bytes(broken.into_bytes()),
    }
}
