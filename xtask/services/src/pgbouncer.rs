//! A private PgBouncer in front of a PostgreSQL server.

use std::net::{Ipv4Addr, TcpStream};

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::install::{self, Dependency};
use crate::server::{self, Launch, Server};
use crate::user::User;

/// Time for which a client keeps its server connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMode {
    Session,
    Transaction,
}

/// A PgBouncer that forwards all databases of a server, with default settings except the mode.
#[derive(Debug)]
pub struct PgBouncer {
    server: Server,
    port: u16,
}

impl PgBouncer {
    /// Starts PgBouncer; `port` is the server's, whose superuser is `postgres` without a password.
    pub fn start(port: u16, mode: PoolMode) -> Result<Self> {
        install::ensure(&[Dependency::PgBouncer])?;
        server::on_free_port(|own| Self::start_on(own, port, mode))
    }

    fn start_on(own: u16, port: u16, mode: PoolMode) -> Result<Self> {
        let user = User::for_server("postgres");
        let folder = Folder::create("pgbouncer", user, "KILL")?;
        let mode = match mode {
            PoolMode::Session => "session",
            PoolMode::Transaction => "transaction",
        };
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={port} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {own}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = 5\n"
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).map_err(Error::file(&file))?;
        let launch = Launch {
            name: "PgBouncer",
            program: install::pgbouncer(),
            arguments: vec![file.display().to_string()],
            environment: Vec::new(),
            user,
            last_signal: "KILL",
        };
        let mut pooler = Self { server: Server::new(launch, folder), port: own };
        pooler.server.start(|| TcpStream::connect((Ipv4Addr::LOCALHOST, own)).is_ok())?;
        Ok(pooler)
    }

    /// The TCP port of PgBouncer.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Reads its log.
    pub fn log(&self) -> Result<String> {
        let log = self.server.folder().join("server.log");
        std::fs::read_to_string(&log).map_err(Error::file(&log))
    }
}
