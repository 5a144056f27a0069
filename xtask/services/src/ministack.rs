//! A private emulator of AWS, Ministack, for SQS and DynamoDB. It works in memory, and saves its state when
//! it is stopped.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::Duration;

use crate::error::Result;
use crate::folder::Folder;
use crate::install;
use crate::server::{self, Launch, Server, process_control};
use crate::wheel::{self, Wheel};

pub(crate) const WHEEL: Wheel = Wheel {
    name: "ministack-1.5.33",
    requirements: "ministack==1.5.33\n\
                   hypercorn==0.18.0\nh11==0.16.0\nh2==4.4.1\nhpack==4.2.0\nhyperframe==6.1.0\npriority==2.0.0\n\
                   wsproto==1.3.2\npyyaml==6.0.3\ndefusedxml==0.7.1\njsonata-python==0.7.1\ngraphql-core==3.2.12\n\
                   botocore==1.43.106\njmespath==1.1.0\npython-dateutil==2.9.0.post0\nsix==1.17.0\nurllib3==2.8.0\n",
};

/// A Ministack server. Its state survives [`Ministack::stop`], but not [`Ministack::kill`].
#[derive(Debug)]
pub struct Ministack {
    server: Server,
    port: u16,
}

impl Ministack {
    process_control!(port, freeze, thaw, is_running);

    /// Installs Ministack if it is missing and starts it.
    pub fn start() -> Result<Self> {
        let packages = wheel::ensure(&WHEEL)?;
        server::on_free_port(|port| Self::start_on(port, &packages))
    }

    fn start_on(port: u16, packages: &Path) -> Result<Self> {
        let folder = Folder::create("ministack", None, "KILL")?;
        let launch = Launch {
            name: "Ministack",
            program: install::python(),
            arguments: vec!["-c".into(), "from ministack.app import main; main()".into()],
            environment: vec![
                ("PYTHONPATH", packages.display().to_string()),
                ("HOME", folder.path().display().to_string()),
                ("GATEWAY_PORT", port.to_string()),
                ("BIND_HOST", "127.0.0.1".into()),
                ("PERSIST_STATE", "1".into()),
                ("STATE_DIR", folder.path().join("state").display().to_string()),
            ],
            user: None,
            last_signal: "KILL",
        };
        let mut ministack = Self { server: Server::new(launch, folder), port };
        ministack.restart()?;
        Ok(ministack)
    }

    /// The URL of its HTTP endpoint.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The URL for a transport, with credentials; the emulator accepts any.
    pub fn url(&self) -> String {
        format!("sqs://test:test@us-east-1?endpoint={}", self.endpoint())
    }

    /// The URL for the DynamoDB store.
    pub fn dynamodb_url(&self) -> String {
        format!("dynamodb://test:test@us-east-1?endpoint={}", self.endpoint())
    }

    /// Shuts the server down in order; its queues are saved.
    pub fn stop(&mut self) {
        self.server.stop("TERM");
    }

    /// Kills the server with SIGKILL; its state is lost.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Starts the server again on the same port.
    pub fn restart(&mut self) -> Result<()> {
        let port = self.port;
        self.server.start(|| is_healthy(port))
    }
}

fn is_healthy(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    let ready = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let request = b"GET /_ministack/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    if ready.is_err() || stream.write_all(request).is_err() {
        return false;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 200")
}
