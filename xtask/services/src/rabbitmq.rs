//! A private RabbitMQ server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::install::{self, Dependency};
use crate::server::{self, Launch, Server, process_control};
use crate::user::User;

/// Starts Erlang's port mapper in our process group: the one that RabbitMQ starts itself would never end.
const SCRIPT: &str = r#"epmd -address 127.0.0.1 -port "$ERL_EPMD_PORT" & exec "$1""#;

/// A RabbitMQ server with the user `guest`; it is removed with its queues on drop.
#[derive(Debug)]
pub struct RabbitMq {
    server: Server,
    node: String,
    port: u16,
}

impl RabbitMq {
    process_control!(freeze, thaw, is_running);

    /// Starts the server, in about ten seconds. `settings` are lines of its `rabbitmq.conf`.
    pub fn start(settings: &str) -> Result<Self> {
        install::ensure(&[Dependency::RabbitMq])?;
        server::on_free_port(|port| Self::start_on(port, settings))
    }

    fn start_on(port: u16, settings: &str) -> Result<Self> {
        let user = User::for_server("rabbitmq");
        let folder = Folder::create("rabbit", user, "KILL")?;
        for name in ["data", "log"] {
            folder.subfolder(name, user)?;
        }
        let file = folder.path().join("rabbitmq.conf");
        std::fs::write(&file, settings).map_err(Error::file(&file))?;
        let node = format!("rabbit-{port}-{}", std::process::id());
        let launch = Launch {
            name: "RabbitMQ",
            program: "sh".into(),
            arguments: vec![
                "-c".into(),
                SCRIPT.into(),
                "rabbitmq".into(),
                install::rabbitmq_server().display().to_string(),
            ],
            environment: environment(port, &format!("{node}@localhost"), folder.path())?,
            user,
            last_signal: "KILL",
        };
        let mut rabbitmq = Self { server: Server::new(launch, folder), node, port };
        rabbitmq.restart()?;
        Ok(rabbitmq)
    }

    /// The TCP port of AMQP.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}", self.port)
    }

    /// Kills the server with SIGKILL. A queue declared just before is lost: RabbitMQ confirms a declaration before
    /// its transaction is committed on disk, and rolls an uncommitted one back at the next start. Confirmed
    /// messages are kept.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Shuts the server down in order: everything that was declared is there at the next start.
    pub fn stop(&mut self) {
        self.server.stop("TERM");
    }

    /// Starts a killed server on the same port and queues.
    pub fn restart(&mut self) -> Result<()> {
        let (port, node) = (self.port, self.node.clone());
        self.server.start(|| is_ready(port, &node))
    }
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        // The port mapper is a child of the server: a signal to the server alone would leave it running.
        self.server.kill();
    }
}

fn environment(port: u16, node: &str, folder: &Path) -> Result<Vec<(&'static str, String)>> {
    let at = |name: &str| folder.join(name).display().to_string();
    let (distribution, mapper) = (crate::port::free()?, crate::port::free()?);
    Ok(vec![
        ("HOME", folder.display().to_string()),
        ("RABBITMQ_NODENAME", node.to_owned()),
        ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".into()),
        ("RABBITMQ_NODE_PORT", port.to_string()),
        ("RABBITMQ_DIST_PORT", distribution.to_string()),
        ("RABBITMQ_MNESIA_BASE", at("data")),
        ("RABBITMQ_LOG_BASE", at("log")),
        ("RABBITMQ_LOGS", "-".into()),
        ("RABBITMQ_PID_FILE", at("pid")),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", at("plugins")),
        ("RABBITMQ_CONFIG_FILE", at("rabbitmq.conf")),
        ("RABBITMQ_CONF_ENV_FILE", "/dev/null".into()),
        ("ERL_EPMD_ADDRESS", "127.0.0.1".into()),
        ("ERL_EPMD_PORT", mapper.to_string()),
    ])
}

/// Whether the server's first frame names this cluster: the names of node and machine.
fn is_ready(port: u16, node: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    let ready = stream.set_read_timeout(Some(Duration::from_secs(2)));
    if ready.is_err() || stream.write_all(b"AMQP\x00\x00\x09\x01").is_err() {
        return false;
    }
    let mut start = [0; 1024];
    let read = stream.read(&mut start).unwrap_or(0);
    String::from_utf8_lossy(&start[..read]).contains(&format!("{node}@"))
}
