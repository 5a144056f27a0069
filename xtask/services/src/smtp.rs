//! SMTP: Postfix's `smtp-sink`, fast and silent, and a scriptable server that journals what it accepts.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::install::{self, Dependency};
use crate::server::{self, Launch, Server, process_control};
use crate::user::we_are_root;

const SCRIPT: &str = include_str!("../smtp_server.py");

/// An SMTP server that accepts and discards every mail, about as fast as a socket allows.
#[derive(Debug)]
pub struct SmtpSink {
    server: Server,
    port: u16,
}

impl SmtpSink {
    process_control!(kill, is_running);

    /// Installs Postfix's tools if they are missing and starts the sink.
    pub fn start() -> Result<Self> {
        install::ensure(&[Dependency::SmtpSink])?;
        server::on_free_port(|port| {
            let folder = Folder::create("sink", None, "KILL")?;
            let hostname = format!("sink-{port}-{}", std::process::id());
            let mut arguments =
                vec!["-h".to_owned(), hostname.clone(), format!("127.0.0.1:{port}"), "500".to_owned()];
            if we_are_root() {
                arguments.splice(0..0, ["-u".to_owned(), "nobody".to_owned()]);
            }
            let launch = Launch {
                name: "smtp-sink",
                program: install::smtp_sink(),
                arguments,
                environment: Vec::new(),
                user: None,
                last_signal: "KILL",
            };
            let mut sink = Self { server: Server::new(launch, folder), port };
            sink.server.start(|| is_ready(port, &hostname))?;
            Ok(sink)
        })
    }

    /// The address of the sink.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }
}

/// The encryption of a session. The certificate is self-signed, for `localhost` and 127.0.0.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tls {
    #[default]
    None,
    /// STARTTLS is offered, and AUTH only after it.
    StartTls,
    Implicit,
}

/// The behaviour of an [`SmtpServer`].
#[derive(Debug, Clone, Default)]
pub struct SmtpOptions {
    pub tls: Tls,
    /// User and password, which the server then requires; `None`: AUTH is not offered.
    pub login: Option<(String, String)>,
    /// Time for which a new pair of sender and recipient is refused temporarily (451).
    pub greylist: Option<Duration>,
}

/// A real SMTP server (aiosmtpd). Each accepted mail is a line of JSON in the journal, written before the 250 is sent:
/// `{"at", "from", "to", "message_id", "size", "session"}`. Recipients script it: see `smtp_server.py`.
#[derive(Debug)]
pub struct SmtpServer {
    server: Server,
    port: u16,
    hostname: String,
    tls: Tls,
}

impl SmtpServer {
    process_control!(kill, is_running);

    /// Installs aiosmtpd if it is missing and starts the server.
    pub fn start(options: &SmtpOptions) -> Result<Self> {
        install::ensure(&[Dependency::Aiosmtpd])?;
        server::on_free_port(|port| Self::start_on(port, options))
    }

    fn start_on(port: u16, options: &SmtpOptions) -> Result<Self> {
        let folder = Folder::create("smtp", None, "KILL")?;
        let script = folder.path().join("smtp_server.py");
        std::fs::write(&script, SCRIPT).map_err(Error::file(&script))?;
        let journal = folder.path().join("journal.jsonl");
        std::fs::write(&journal, "").map_err(Error::file(&journal))?;
        if options.tls != Tls::None {
            make_certificate(folder.path())?;
        }
        let hostname = format!("smtp-{port}-{}", std::process::id());
        let mut arguments = vec![script.display().to_string(), "--port".into(), port.to_string()];
        arguments.extend(["--hostname".into(), hostname.clone()]);
        arguments.extend(option_arguments(options));
        let launch = Launch {
            name: "the SMTP server",
            program: install::python(),
            arguments,
            environment: Vec::new(),
            user: None,
            last_signal: "KILL",
        };
        let mut smtp = Self { server: Server::new(launch, folder), port, hostname, tls: options.tls };
        smtp.restart()?;
        Ok(smtp)
    }

    /// The address of the server.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The journal, with one line of JSON per accepted mail; kept over restarts.
    pub fn journal(&self) -> PathBuf {
        self.server.folder().join("journal.jsonl")
    }

    /// The certificate to trust, in PEM; exists only with TLS.
    pub fn certificate(&self) -> PathBuf {
        self.server.folder().join("certificate.pem")
    }

    /// Starts a killed server on the same port and journal.
    pub fn restart(&mut self) -> Result<()> {
        let (port, tls, hostname) = (self.port, self.tls, self.hostname.clone());
        let ready = self.server.folder().join(&hostname);
        self.server.start(|| match tls {
            // There is no greeting before the handshake; the file is written once the port is bound.
            Tls::Implicit => ready.exists() && TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok(),
            Tls::None | Tls::StartTls => is_ready(port, &hostname),
        })
    }
}

fn option_arguments(options: &SmtpOptions) -> Vec<String> {
    let mut arguments = Vec::new();
    match options.tls {
        Tls::None => {}
        Tls::StartTls => arguments.extend(["--tls".into(), "starttls".into()]),
        Tls::Implicit => arguments.extend(["--tls".into(), "implicit".into()]),
    }
    if let Some((user, password)) = &options.login {
        arguments.extend(["--login".into(), format!("{user}:{password}")]);
    }
    if let Some(delay) = options.greylist {
        arguments.extend(["--greylist".into(), delay.as_secs_f64().to_string()]);
    }
    arguments
}

fn make_certificate(folder: &Path) -> Result<()> {
    install::ensure(&[Dependency::OpenSsl])?;
    let mut openssl = Command::new("openssl");
    openssl
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "certificate.pem"])
        .current_dir(folder);
    server::run(&mut openssl, None)
}

/// Whether the greeting names this server, and not another that took the port first.
fn is_ready(port: u16, hostname: &str) -> bool {
    let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    if stream.set_read_timeout(Some(Duration::from_secs(2))).is_err() {
        return false;
    }
    let mut greeting = String::new();
    BufReader::new(stream).read_line(&mut greeting).is_ok()
        && greeting.strip_prefix("220 ").is_some_and(|rest| rest.split_whitespace().next() == Some(hostname))
}
