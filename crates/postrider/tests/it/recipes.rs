//! The recipes of the book: each drains the unaltered table of a well-known library with about 200 rows, good and bad.

mod drafts;
mod mails;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::sandbox::{RunningBinary, Sandbox};
use crate::support::database::{Kind, fresh};
use crate::support::sql::Sql;
use crate::support::wait::TIMEOUT;

/// Rows of each table.
const ROWS: u32 = 200;

/// What a row is, and what must become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Good,
    /// Its payload, or its recipients, are NULL or empty.
    Empty,
    /// It has JSON that cannot be read.
    Broken,
    /// The old poller has finished it.
    Finished,
    /// Due in an hour.
    Later,
    /// The old poller took it long ago, and never came back.
    Taken,
}

impl What {
    /// What the row of this number is.
    pub fn of(number: u32) -> Self {
        match (number % 10, number < ROWS / 2) {
            (0..=5, _) => Self::Good,
            (6, _) => Self::Empty,
            (7, _) => Self::Broken,
            (8, _) => Self::Finished,
            (_, true) => Self::Later,
            (_, false) => Self::Taken,
        }
    }
}

/// A recipe and the rows of its table.
pub struct Recipe {
    /// The file in `docs/recipes`.
    pub name: &'static str,
    pub kind: Kind,
    pub table: &'static str,
    /// The key as text.
    pub id: &'static str,
    /// `done`, `dead` or anything else.
    pub state: &'static str,
    /// Everything that must not change in rows that are left alone.
    pub whole: &'static str,
    /// What becomes of rows of each kind; the others are left alone.
    pub delivered: &'static [What],
    pub dead: &'static [What],
}

impl Recipe {
    /// The text of the recipe's file with this ending.
    pub fn file(&self, ending: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes");
        std::fs::read_to_string(path.join(format!("{}.{ending}", self.name))).expect("the recipe's file")
    }

    /// The statements that create the table.
    pub fn ddl(&self) -> String {
        self.file(match self.kind {
            Kind::Postgres => "postgres.sql",
            Kind::MariaDb => "mysql.sql",
            Kind::Sqlite => "sqlite.sql",
        })
    }

    /// Creates the table in a database of its own; returns a folder with a lane `old`.
    pub async fn installed(&self, transport: &str) -> (Sandbox, Sql) {
        let sandbox = Sandbox::new(None);
        if self.kind == Kind::Sqlite {
            sandbox.sql_creating().await.close().await;
        }
        let (url, sql) = fresh(self.kind, "recipe", &sandbox).await;
        for statement in self.ddl().split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            sql.must(statement).await;
        }
        let settings = format!(
            "[stores.main]\nurl = \"{url}\"\n[transports.out]\n{transport}\n[mail]\nfrom = \"shop@example.com\"\n\
             [lanes.old]\ncontract = \"./{}.toml\"\npoll = \"100ms\"\nsweep = \"200ms\"\n{}",
            self.name,
            if self.kind == Kind::MariaDb {
                "table.name = \"TABLE\"\n".replace("TABLE", self.table)
            } else {
                String::new()
            }
        );
        std::fs::write(sandbox.path("postrider.toml"), settings).expect("the settings are written");
        std::fs::write(sandbox.path(&format!("{}.toml", self.name)), self.file("toml"))
            .expect("the contract");
        if self.kind == Kind::MariaDb {
            // An ordered group needs a virtual column there.
            sandbox.run(&["migrate"]).success();
        }
        (sandbox, sql)
    }

    /// Runs the lane until every row that can end has ended, and checks what became of each with separate SQL. `id`
    /// returns the key of the row of this number.
    pub async fn drain(&self, sandbox: &Sandbox, sql: &Sql, id: impl Fn(u32) -> String) -> RunningBinary {
        let ids = |of: &[What]| -> BTreeSet<String> {
            (0..ROWS).filter(|number| of.contains(&What::of(*number))).map(&id).collect()
        };
        let (delivered, dead) = (ids(self.delivered), ids(self.dead));
        let before = self.column(sql, self.whole).await;
        let checked = sandbox.run(&["check", "--json"]);
        let errors = checked.json()[0]["findings"].as_array().expect("findings").clone();
        let errors: Vec<_> = errors.into_iter().filter(|finding| finding["level"] == "error").collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", self.name);
        let running = sandbox.start();
        let end = Instant::now() + TIMEOUT / 2;
        let states = loop {
            let states = self.column(sql, self.state).await;
            let late = |ids: &BTreeSet<String>, end: &str| ids.iter().find(|id| states[*id] != end).cloned();
            let Some(late) = late(&delivered, "done").or_else(|| late(&dead, "dead")) else { break states };
            let in_time = Instant::now() < end;
            assert!(in_time, "{}: row {late} is {}\n{}", self.name, states[&late], running.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let after = self.column(sql, self.whole).await;
        for (id, whole) in &before {
            if !delivered.contains(id) && !dead.contains(id) {
                assert_eq!(
                    after.get(id),
                    Some(whole),
                    "{}: row {id} is left alone ({})",
                    self.name,
                    states[id]
                );
            }
        }
        assert_eq!(before.len(), after.len(), "{}: no row vanishes", self.name);
        running
    }

    /// Returns an expression of every row by its key.
    pub async fn column(&self, sql: &Sql, expression: &str) -> BTreeMap<String, String> {
        let query = format!("SELECT {}, {expression} FROM {} AS t", self.id, self.table);
        let rows = sql.rows(&query).await.unwrap_or_else(|error| panic!("{error}\n{query}"));
        rows.into_iter()
            .map(|row| (row[0].clone().expect("a key"), row[1].clone().unwrap_or_default()))
            .collect()
    }
}

/// A time so many seconds from now, as an application would write it.
pub fn at(sql: &Sql, seconds: i64) -> String {
    match sql {
        Sql::Postgres(_) => format!("(now() AT TIME ZONE 'UTC' + interval '{seconds} seconds')"),
        Sql::MariaDb(_) => format!("(UTC_TIMESTAMP(6) + INTERVAL {seconds} SECOND)"),
        Sql::Sqlite(_) => format!("strftime('%Y-%m-%d %H:%M:%f', 'now', '{seconds} seconds')"),
    }
}

/// The same with a time zone, on PostgreSQL.
pub fn at_zone(seconds: i64) -> String {
    format!("(now() + interval '{seconds} seconds')")
}
