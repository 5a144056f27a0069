//! The environment of a run: a folder with settings, and a database that can be stopped.

use crate::support::database::{Kind, Server, on_server};
use crate::support::installation::Installation;
use crate::support::sql::Sql;

pub struct CrashSetup {
    pub installation: Installation,
    /// The database server; `None` for SQLite.
    pub server: Option<Server>,
    pub sql: Sql,
}

impl CrashSetup {
    /// Creates the environment; returns it with the database's URL for the settings.
    pub async fn open(kind: Kind) -> (Self, String) {
        let installation = Installation::new();
        let server = (kind != Kind::Sqlite).then(|| Server::start(kind));
        let (url, sql) = match &server {
            Some(server) => on_server(kind, &server.url(), "crash", "").await,
            None => ("sqlite:app.db".to_owned(), Sql::sqlite(&installation.sandbox.path("app.db"))),
        };
        (Self { installation, server, sql }, url)
    }
}
