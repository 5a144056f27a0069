//! SQLite: an INSERT that does nothing if the key exists. There is one writer at a time, so each sees earlier rows.

use postrider_sql_builder::Dialect;
use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::connection::insert_or_find;
use crate::insert::Insert;
use crate::{Enqueued, Error};

insert_or_find!(SqliteConnection, Dialect::Sqlite);
