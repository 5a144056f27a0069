//! The database of a test: on the shared servers, or on a private server that the test may stop and kill.

use postrider_services::{Durability, MariaDb, Postgres};

use super::sql::Sql;
use crate::sandbox::Sandbox;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Postgres,
    MariaDb,
    Sqlite,
}

/// A name that no other test has.
fn unique(name: &str) -> String {
    format!("{name}_{}_{:08x}", std::process::id(), rand::random::<u32>())
}

pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask test`"))
}

/// Creates an empty database on a shared server or in a file in the test's folder; returns its URL and a connection.
pub async fn fresh(kind: Kind, name: &str, sandbox: &Sandbox) -> (String, Sql) {
    fresh_with(kind, name, sandbox, "").await
}

/// Creates a database with `options` after CREATE DATABASE.
pub async fn fresh_with(kind: Kind, name: &str, sandbox: &Sandbox, options: &str) -> (String, Sql) {
    match kind {
        Kind::Postgres => on_server(kind, &variable("POSTRIDER_TEST_POSTGRES"), &unique(name), options).await,
        Kind::MariaDb => on_server(kind, &variable("POSTRIDER_TEST_MYSQL"), &unique(name), options).await,
        Kind::Sqlite => ("sqlite:app.db".to_owned(), Sql::sqlite(&sandbox.path("app.db"))),
    }
}

/// Creates a database on the server of that URL.
pub async fn on_server(kind: Kind, server: &str, name: &str, options: &str) -> (String, Sql) {
    let connect = if kind == Kind::Postgres { Sql::postgres } else { Sql::mariadb };
    let maintenance = connect(server);
    maintenance.must(&format!("CREATE DATABASE {name} {options}")).await;
    maintenance.close().await;
    let (address, _) = server.rsplit_once('/').expect("the server's URL has a path");
    let url = format!("{address}/{name}");
    let sql = connect(&url);
    (url, sql)
}

/// A private database server.
pub enum Server {
    Postgres(Postgres),
    MariaDb(MariaDb),
}

impl Server {
    pub fn start(kind: Kind) -> Self {
        tokio::task::block_in_place(|| match kind {
            Kind::Postgres => {
                Self::Postgres(Postgres::start(Durability::ProcessCrash).expect("PostgreSQL starts"))
            }
            Kind::MariaDb => Self::MariaDb(MariaDb::start(Durability::ProcessCrash).expect("MariaDB starts")),
            Kind::Sqlite => panic!("SQLite has no server"),
        })
    }

    pub fn url(&self) -> String {
        match self {
            Self::Postgres(server) => server.url(),
            Self::MariaDb(server) => server.url(),
        }
    }

    /// Shuts the server down in order: sessions are closed, all data is flushed.
    pub fn stop(&mut self) {
        tokio::task::block_in_place(|| match self {
            Self::Postgres(server) => server.stop(),
            Self::MariaDb(server) => server.stop(),
        });
    }

    /// Kills all its processes with SIGKILL.
    pub fn kill(&mut self) {
        tokio::task::block_in_place(|| match self {
            Self::Postgres(server) => server.kill(),
            Self::MariaDb(server) => server.kill(),
        });
    }

    pub fn restart(&mut self) {
        tokio::task::block_in_place(|| match self {
            Self::Postgres(server) => server.restart(),
            Self::MariaDb(server) => server.restart(),
        })
        .expect("the database starts again");
    }
}
