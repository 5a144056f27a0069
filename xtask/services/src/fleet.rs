//! Starts all databases and mail servers together and provides the variables through which tests and benches find them.

use std::thread;

use crate::error::Result;
use crate::install::{self, Dependency};
use crate::mariadb::MariaDb;
use crate::postgres::Postgres;
use crate::server::{Durability, first_stopped, join};
use crate::smtp::{SmtpOptions, SmtpServer, SmtpSink};

/// One server of each kind; all are stopped and removed on drop.
#[derive(Debug)]
pub struct Fleet {
    pub postgres: Postgres,
    pub mariadb: MariaDb,
    pub sink: SmtpSink,
    pub smtp: SmtpServer,
}

impl Fleet {
    /// Installs what is missing in one step, then starts all servers concurrently.
    pub fn start(durability: Durability) -> Result<Self> {
        install::ensure(&[
            Dependency::Postgres,
            Dependency::MariaDb,
            Dependency::SmtpSink,
            Dependency::Aiosmtpd,
        ])?;
        thread::scope(|scope| {
            let postgres = scope.spawn(|| Postgres::start(durability));
            let mariadb = scope.spawn(|| MariaDb::start(durability));
            let sink = scope.spawn(SmtpSink::start);
            let smtp = scope.spawn(|| SmtpServer::start(&SmtpOptions::default()));
            // Join all threads before the first error is returned, so that no server is left half started.
            let (postgres, mariadb, sink, smtp) = (join(postgres), join(mariadb), join(sink), join(smtp));
            Ok(Self { postgres: postgres?, mariadb: mariadb?, sink: sink?, smtp: smtp? })
        })
    }

    /// Names and values of the environment variables of tests and benches.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("POSTRIDER_TEST_POSTGRES", self.postgres.url()),
            ("POSTRIDER_TEST_MYSQL", self.mariadb.url()),
            ("POSTRIDER_TEST_SMTP_SINK", self.sink.address().to_string()),
            ("POSTRIDER_TEST_SMTP", self.smtp.address().to_string()),
            ("POSTRIDER_TEST_SMTP_JOURNAL", self.smtp.journal().display().to_string()),
        ]
    }

    /// A `PATH` with the tools that come with the servers: `pgbench`, `smtp-source`.
    pub fn search_path(&self) -> String {
        let usual = std::env::var("PATH").unwrap_or_default();
        format!("{}:{usual}:/usr/sbin", self.postgres.binaries().display())
    }

    /// The name of a server that ended unexpectedly, if one did.
    pub fn first_stopped_server(&mut self) -> Option<&'static str> {
        first_stopped([
            ("PostgreSQL", self.postgres.is_running()),
            ("MariaDB", self.mariadb.is_running()),
            ("smtp-sink", self.sink.is_running()),
            ("the SMTP server", self.smtp.is_running()),
        ])
    }
}
