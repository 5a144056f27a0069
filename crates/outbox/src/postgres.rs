//! PostgreSQL: an INSERT that does nothing if the key exists. Unlike an error, that does not abort the transaction.

use postrider_sql_builder::Dialect;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::connection::insert_or_find;
use crate::insert::Insert;
use crate::{Enqueued, Error};

insert_or_find!(PgConnection, Dialect::Postgres);
