//! A private PostgreSQL server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::install::{self, Dependency};
use crate::server::{self, Durability, Launch, Server, process_control};
use crate::signal;
use crate::user::User;

/// A PostgreSQL cluster with the superuser `postgres` and no password; it is removed with its data on drop.
#[derive(Debug)]
pub struct Postgres {
    server: Server,
    binaries: PathBuf,
    port: u16,
}

impl Postgres {
    process_control!(port, is_running);

    /// Installs PostgreSQL if it is missing, creates a cluster and starts it.
    pub fn start(durability: Durability) -> Result<Self> {
        install::ensure(&[Dependency::Postgres])?;
        let binaries = install::postgres_binaries().ok_or_else(|| Error::Install {
            packages: "postgresql-15".into(),
            output: "it is installed, but initdb was not found".into(),
        })?;
        server::on_free_port(|port| Self::start_on(port, &binaries, durability))
    }

    fn start_on(port: u16, binaries: &Path, durability: Durability) -> Result<Self> {
        let user = User::for_server("postgres");
        let folder = Folder::create("pg", user, "QUIT")?;
        let data = folder.path().join("data");
        let mut initdb = Command::new(binaries.join("initdb"));
        initdb.args([
            "-A",
            "trust",
            "-U",
            "postgres",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "-D",
        ]);
        server::run(initdb.arg(&data).current_dir(folder.path()), user)?;
        let launch = Launch {
            name: "PostgreSQL",
            program: binaries.join("postgres"),
            arguments: arguments(port, folder.path(), durability),
            environment: Vec::new(),
            user,
            last_signal: "QUIT",
        };
        let mut postgres = Self { server: Server::new(launch, folder), binaries: binaries.to_owned(), port };
        postgres.restart()?;
        Ok(postgres)
    }

    /// The folder with the programs of this version: `psql`, `pgbench`, `pg_dump`.
    pub fn binaries(&self) -> &Path {
        &self.binaries
    }

    /// The URL of the maintenance database; tests create their own databases.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The URL of a database.
    pub fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Shuts the server down in order (`fast` mode): sessions are closed, all data is flushed.
    pub fn stop(&mut self) {
        self.server.stop("INT");
    }

    /// Kills the postmaster and every backend with SIGKILL.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Starts a stopped or killed server on the same data and port, and waits for its recovery.
    pub fn restart(&mut self) -> Result<()> {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let data = self.server.folder().join("data");
            let (psql, port) = (self.binaries.join("psql"), self.port);
            match self.server.start(|| answers(&psql, port, &data)) {
                // The kernel may need a moment to free the shared memory of killed backends.
                Err(Error::NotReady { tail, .. })
                    if tail.contains("shared memory") && Instant::now() < until =>
                {
                    signal::pause(Duration::from_millis(200));
                }
                outcome => return outcome,
            }
        }
    }
}

fn arguments(port: u16, folder: &Path, durability: Durability) -> Vec<String> {
    let mut settings = vec![
        "listen_addresses=127.0.0.1".to_owned(),
        format!("port={port}"),
        format!("unix_socket_directories={}", folder.display()),
        "max_connections=300".to_owned(),
        "timezone=Asia/Kathmandu".to_owned(),
        // Needed by benches that count statements; costs the others next to nothing.
        "shared_preload_libraries=pg_stat_statements".to_owned(),
    ];
    if durability == Durability::ProcessCrash {
        settings.push("fsync=off".to_owned());
    }
    let data = folder.join("data").display().to_string();
    ["-D".to_owned(), data]
        .into_iter()
        .chain(settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]))
        .collect()
}

fn answers(psql: &Path, port: u16, data: &Path) -> bool {
    let mut command = Command::new(psql);
    command.args([
        "-h",
        "127.0.0.1",
        "-U",
        "postgres",
        "-XAtc",
        "show data_directory",
        "-p",
        &port.to_string(),
    ]);
    server::stdout_of(&mut command).is_some_and(|answer| Path::new(&answer) == data)
}
