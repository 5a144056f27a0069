//! A private NATS server with JetStream.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::install::{self, Dependency};
use crate::server::{self, Launch, Server, process_control};

/// A NATS server with JetStream; it is removed with its streams on drop.
#[derive(Debug)]
pub struct Nats {
    server: Server,
    name: String,
    port: u16,
}

impl Nats {
    process_control!(port, kill, freeze, thaw, is_running);

    /// Starts the server; `settings` are more lines of its configuration file: users, permissions, limits.
    pub fn start(settings: &str) -> Result<Self> {
        install::ensure(&[Dependency::Nats])?;
        server::on_free_port(|port| Self::start_on(port, settings))
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
        nats.restart()?;
        Ok(nats)
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Starts a killed server on the same port and streams.
    pub fn restart(&mut self) -> Result<()> {
        let (port, name) = (self.port, self.name.clone());
        self.server.start(|| is_ready(port, &name))
    }
}

/// Whether the server's first line contains this name.
fn is_ready(port: u16, name: &str) -> bool {
    let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    if stream.set_read_timeout(Some(Duration::from_secs(2))).is_err() {
        return false;
    }
    let mut info = String::new();
    BufReader::new(stream).read_line(&mut info).is_ok() && info.contains(&format!("\"{name}\""))
}
