//! Independent clients of the brokers: they share no code with the product, so that its mistakes cannot hide in tests.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result, last_lines};
use crate::wheel::{self, Wheel};
use crate::{install, ministack};

const SCRIPT: &str = include_str!("../broker_client.py");

const WHEEL: Wheel =
    Wheel { name: "broker-clients-1", requirements: "nats-py==2.16.0\npika==1.4.4\nkafka-python==3.0.12\n" };

/// A separate program that creates topics and reads them: see `broker_client.py`.
#[derive(Debug)]
pub struct BrokerClient {
    /// The value of PYTHONPATH.
    packages: String,
}

impl BrokerClient {
    /// Installs the client libraries if they are missing.
    pub fn new() -> Result<Self> {
        let of = |wheel| wheel::ensure(wheel).map(|folder| folder.display().to_string());
        // The library for SQS is installed with the emulator.
        Ok(Self { packages: [of(&WHEEL)?, of(&ministack::WHEEL)?].join(":") })
    }

    /// Creates a stream, a durable queue or a FIFO queue of that name.
    pub fn prepare(&self, url: &str, topic: &str) -> Result<()> {
        self.run("prepare", url, topic).map(drop)
    }

    /// Reads all records, one JSON object per line: `key`, `attempt`, `payload`; those of one key in order.
    pub fn read(&self, url: &str, topic: &str) -> Result<String> {
        self.run("read", url, topic)
    }

    fn run(&self, command: &str, url: &str, topic: &str) -> Result<String> {
        let output = Command::new(install::python())
            .args(["-c", SCRIPT, command, url, topic])
            .env("PYTHONPATH", &self.packages)
            .current_dir(Path::new("/"))
            .stdin(Stdio::null())
            .output()
            .map_err(Error::command("python3"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = last_lines(&String::from_utf8_lossy(&output.stderr));
        Err(Error::Failed { command: format!("broker_client.py {command}"), output: stderr })
    }
}
