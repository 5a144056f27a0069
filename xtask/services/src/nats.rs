//! A private NATS server with JetStream.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::install::{self, Need};
use crate::server::{self, Launch, Server};

/// A NATS server with JetStream; it is removed with its streams on drop.
#[derive(Debug)]
pub struct Nats {
    server: Server,
    name: String,
    port: u16,
}

impl Nats {
    /// Starts the server; `settings` are more lines of its configuration file: users, permissions, limits.
    pub fn start(settings: &str) -> Result<Self> {
        install::ensure(&[Need::Nats])?;
        server::on_some_port(|port| Self::start_on(port, settings))
    }

    fn start_on(port: u16, settings: &str) -> Result<Self> {
        let folder = Folder::create("nats", None, "KILL")?;
        let file = folder.path().join("nats.conf");
        std::fs::write(&file, settings).map_err(Error::file(&file))?;
        let name = format!("nats-{port}-{}", std::process::id());
        let arguments = [
            "--addr",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--name",
            &name,
            "--jetstream",
            "--store_dir",
            &folder.path().join("streams").display().to_string(),
            "--config",
            &file.display().to_string(),
        ];
        let launch = Launch {
            name: "NATS",
            program: install::nats_server(),
            arguments: arguments.map(str::to_owned).to_vec(),
            environment: Vec::new(),
            user: None,
            last_signal: "KILL",
        };
        let mut nats = Self { server: Server::new(launch, folder), name, port };
        nats.start_again()?;
        Ok(nats)
    }

    /// The TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills the server with SIGKILL.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Freezes the server (SIGSTOP); its connections stay open.
    pub fn freeze(&self) {
        self.server.freeze();
    }

    /// Continues a frozen server.
    pub fn thaw(&self) {
        self.server.thaw();
    }

    /// Whether the server's process runs.
    pub fn is_running(&mut self) -> bool {
        self.server.is_running()
    }

    /// Starts a killed server on the same port and streams.
    pub fn start_again(&mut self) -> Result<()> {
        let (port, name) = (self.port, self.name.clone());
        self.server.start(|| greets(port, &name))
    }
}

/// Whether the server's first line contains this name.
fn greets(port: u16, name: &str) -> bool {
    let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    if stream.set_read_timeout(Some(Duration::from_secs(2))).is_err() {
        return false;
    }
    let mut info = String::new();
    BufReader::new(stream).read_line(&mut info).is_ok() && info.contains(&format!("\"{name}\""))
}
