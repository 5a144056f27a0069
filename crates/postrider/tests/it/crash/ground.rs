//! The environment of a run: a folder with settings, and a database that can be stopped.

use crate::rig::database::{Kind, Server, on_server};
use crate::rig::home::Home;
use crate::rig::sql::Sql;

pub struct Ground {
    pub home: Home,
    /// The database server; `None` for SQLite.
    pub server: Option<Server>,
    pub sql: Sql,
}

impl Ground {
    /// Creates the environment; returns it with the database's URL for the settings.
    pub async fn open(kind: Kind) -> (Self, String) {
        let home = Home::new();
        let server = (kind != Kind::Sqlite).then(|| Server::start(kind));
        let (url, sql) = match &server {
            Some(server) => on_server(kind, &server.url(), "crash", "").await,
            None => ("sqlite:app.db".to_owned(), Sql::sqlite(&home.shop.path("app.db"))),
        };
        (Self { home, server, sql }, url)
    }
}
