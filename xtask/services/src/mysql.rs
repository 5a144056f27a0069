//! A private MySQL server. Debian has it only in `sid`, so it is unpacked outside the system, with the C library and
//! the loader that it was built for. `sid` changes often, so it is used only on request.

use std::io::Read as _;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::install::Dependency;
use crate::mariadb;
use crate::server::{self, Durability, Launch, Server};
use crate::user::we_are_root;
use crate::wheel;

const PACKAGE: &str = "mysql-server-core";
const SUITE: &str = "sid";

/// A MySQL server with the user `root` and no password; it is removed with its data on drop.
#[derive(Debug)]
pub struct MySql {
    server: Server,
    port: u16,
}

impl MySql {
    /// Downloads MySQL if it is missing, creates a data folder and starts the server.
    pub fn start(durability: Durability) -> Result<Self> {
        // Unpacking needs `dpkg-deb`, which every Debian has; requiring pip ensures that this is Debian.
        let tree = wheel::cached("mysql-sid", Dependency::Pip, |partial, _| fetch(partial))?.join("tree");
        server::on_free_port(|port| Self::start_on(port, &tree, durability))
    }

    fn start_on(port: u16, tree: &Path, durability: Durability) -> Result<Self> {
        let folder = Folder::create("mysql", None, "KILL")?;
        let (loader, mut words) = program(tree);
        // MySQL creates this folder itself; it must not exist.
        words.push(format!("--datadir={}", folder.path().join("data").display()));
        if we_are_root() {
            words.push("--user=root".to_owned());
        }
        let mut prepare = Command::new(&loader);
        prepare.args(&words).arg("--initialize-insecure").current_dir(folder.path());
        server::run(&mut prepare, None)?;
        words.extend(arguments(port, folder.path(), durability));
        let launch = Launch {
            name: "MySQL",
            program: loader,
            arguments: words,
            environment: Vec::new(),
            user: None,
            last_signal: "KILL",
        };
        let mut mysql = Self { server: Server::new(launch, folder), port };
        mysql.server.start(|| is_ready(port))?;
        Ok(mysql)
    }

    /// The URL without a database; tests create their own.
    pub fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}/", self.port)
    }

    /// The version from the server's greeting.
    pub fn version(&self) -> String {
        greeting(self.port).unwrap_or_default()
    }
}

/// Downloads the packages and all their dependencies, ignoring what is installed.
fn fetch(partial: &Path) -> Result<()> {
    let apt = partial.join("apt");
    for folder in ["lists/partial", "archives/partial"] {
        std::fs::create_dir_all(apt.join(folder)).map_err(Error::file(&apt))?;
    }
    let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
    let source = format!("deb [signed-by={keys}] {} {SUITE} main\n", mirror()?);
    let list = apt.join("sources.list");
    std::fs::write(&list, source).map_err(Error::file(&list))?;
    let ask = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.arg("-q").args(words).args(["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3"]);
        for (name, path) in [
            ("Dir::Etc::sourcelist", list.clone()),
            ("Dir::Etc::sourceparts", "/dev/null".into()),
            ("Dir::State::status", "/dev/null".into()),
            ("Dir::State::lists", apt.join("lists")),
            ("Dir::Cache", apt.clone()),
        ] {
            command.arg("-o").arg(format!("{name}={}", path.display()));
        }
        server::run(&mut command, None)
    };
    ask(&["update"])?;
    ask(&["install", "--yes", "--no-install-recommends", "--download-only", PACKAGE])?;
    let archives = apt.join("archives");
    for entry in std::fs::read_dir(&archives).map_err(Error::file(&archives))?.flatten() {
        if entry.path().extension().is_some_and(|end| end == "deb") {
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("-x").arg(entry.path()).arg(partial.join("tree"));
            server::run(&mut unpack, None)?;
        }
    }
    std::fs::remove_dir_all(&apt).map_err(Error::file(&apt))
}

/// The Debian mirror of this machine.
fn mirror() -> Result<String> {
    let mut texts = vec![std::fs::read_to_string("/etc/apt/sources.list").unwrap_or_default()];
    let parts = std::fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    texts.extend(parts.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()));
    let found =
        texts.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with('#')).find_map(mirror_in);
    found.ok_or_else(|| Error::Install {
        packages: PACKAGE.to_owned(),
        output: "no Debian mirror in /etc/apt/sources.list or sources.list.d".to_owned(),
    })
}

fn mirror_in(line: &str) -> Option<String> {
    let word = line.split_whitespace().find(|word| word.starts_with("http"))?;
    word.trim_end_matches('/').ends_with("/debian").then(|| word.to_owned())
}

/// The loader, and the arguments with which it runs the server.
fn program(tree: &Path) -> (PathBuf, Vec<String>) {
    let at = |name: &str| tree.join(name).display().to_string();
    let multiarch = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let libraries = [&multiarch, "usr/lib", &multiarch[4..]].map(at).join(":");
    let loader = std::fs::read_dir(tree.join(&multiarch))
        .into_iter()
        .flatten()
        .flatten()
        .find_map(|entry| entry.file_name().to_str()?.starts_with("ld-linux").then(|| entry.path()));
    let words = vec![
        "--library-path".to_owned(),
        libraries,
        at("usr/sbin/mysqld"),
        "--no-defaults".to_owned(),
        format!("--basedir={}", at("usr")),
        format!("--lc-messages-dir={}", at("usr/share/mysql")),
        format!("--plugin-dir={}", at("usr/lib/mysql/plugin")),
        "--secure-file-priv=NULL".to_owned(),
    ];
    (loader.unwrap_or_else(|| tree.join("no loader")), words)
}

fn arguments(port: u16, folder: &Path, durability: Durability) -> Vec<String> {
    let mut arguments = mariadb::common_arguments(port, folder, durability);
    // The binary log is not needed, and it is flushed at every commit.
    arguments.extend(["--mysqlx=OFF".to_owned(), "--skip-log-bin".to_owned()]);
    arguments
}

fn is_ready(port: u16) -> bool {
    greeting(port).is_some()
}

/// Reads the version from the first packet: four bytes of header, one of protocol, then text up to a zero.
fn greeting(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut packet = [0; 64];
    let read = stream.read(&mut packet).ok()?;
    let text = packet.get(5..read)?;
    Some(String::from_utf8_lossy(text.split(|byte| *byte == 0).next()?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_is_found_in_both_kinds_of_lists() {
        assert_eq!(mirror_in("URIs: http://a.example/debian"), Some("http://a.example/debian".into()));
        assert_eq!(
            mirror_in("deb [a=b] https://a.example/debian/ stable main").unwrap(),
            "https://a.example/debian/"
        );
        assert_eq!(mirror_in("deb https://a.example/apt other main"), None);
    }
}
