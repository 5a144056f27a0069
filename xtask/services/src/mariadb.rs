//! A private MariaDB server.

use std::path::Path;
use std::process::Command;

use crate::error::Result;
use crate::folder::Folder;
use crate::install::{self, Dependency};
use crate::server::{self, Durability, Launch, Server, process_control};
use crate::user::User;

/// A MariaDB server with the user `root` and no password; it is removed with its data on drop.
#[derive(Debug)]
pub struct MariaDb {
    server: Server,
    port: u16,
}

impl MariaDb {
    process_control!(port, kill, is_running);

    /// Installs MariaDB if it is missing, creates a data folder and starts the server.
    pub fn start(durability: Durability) -> Result<Self> {
        install::ensure(&[Dependency::MariaDb])?;
        server::on_free_port(|port| Self::start_on(port, durability))
    }

    fn start_on(port: u16, durability: Durability) -> Result<Self> {
        let user = User::for_server("mysql");
        let folder = Folder::create("maria", user, "KILL")?;
        let data = folder.subfolder("data", user)?;
        let mut prepare = Command::new("mariadb-install-db");
        prepare
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .arg("--innodb-log-file-size=32M")
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--tmpdir={}", folder.path().display()))
            .current_dir(folder.path());
        server::run(&mut prepare, user)?;
        let launch = Launch {
            name: "MariaDB",
            program: install::mariadb_binary(),
            arguments: arguments(port, folder.path(), durability),
            environment: Vec::new(),
            user,
            last_signal: "KILL",
        };
        let mut mariadb = Self { server: Server::new(launch, folder), port };
        mariadb.restart()?;
        Ok(mariadb)
    }

    /// The URL without a database; tests create their own.
    pub fn url(&self) -> String {
        self.url_of("")
    }

    /// The URL of a database.
    pub fn url_of(&self, database: &str) -> String {
        format!("mysql://root@127.0.0.1:{}/{database}", self.port)
    }

    /// Shuts the server down in order.
    pub fn stop(&mut self) {
        self.server.stop("TERM");
    }

    /// Starts a stopped or killed server on the same data and port, and waits for its recovery.
    pub fn restart(&mut self) -> Result<()> {
        let (data, port) = (self.server.folder().join("data"), self.port);
        self.server.start(|| answers(port, &data))
    }
}

fn arguments(port: u16, folder: &Path, durability: Durability) -> Vec<String> {
    // `--no-defaults` must be the first option, or it is ignored.
    let mut arguments =
        vec!["--no-defaults".to_owned(), format!("--datadir={}", folder.join("data").display())];
    arguments.extend(common_arguments(port, folder, durability));
    // The settings of Debian's configuration file.
    arguments.push("--character-set-server=utf8mb4".to_owned());
    arguments.push("--collation-server=utf8mb4_general_ci".to_owned());
    arguments
}

/// The options that MariaDB and MySQL share.
pub(crate) fn common_arguments(port: u16, folder: &Path, durability: Durability) -> Vec<String> {
    let at = |name: &str| folder.join(name).display().to_string();
    let mut arguments = vec![
        format!("--socket={}", at("socket")),
        // The server's user may not write to other folders.
        format!("--tmpdir={}", folder.display()),
        format!("--pid-file={}", at("pid")),
        format!("--port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--max-connections=300".to_owned(),
        "--default-time-zone=+05:45".to_owned(),
    ];
    if durability == Durability::ProcessCrash {
        // The log is written at every commit, but flushed once per second.
        arguments.push("--innodb-flush-log-at-trx-commit=2".to_owned());
    }
    arguments
}

fn answers(port: u16, data: &Path) -> bool {
    let mut command = Command::new("mariadb");
    command
        .args(["--no-defaults", "-h127.0.0.1", "-uroot", "-BNe", "select @@datadir"])
        .arg(format!("-P{port}"));
    server::stdout_of(&mut command).is_some_and(|answer| Path::new(&answer) == data)
}
