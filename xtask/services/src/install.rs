//! Checks that the required programs exist, and installs missing ones from Debian.
//!
//! Invariant: nothing is installed if everything is present, no package is removed, and no system service is started: a
//! `policy-rc.d` forbids that during the installation.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result, last_lines};
use crate::user::we_are_root;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependency {
    Postgres,
    PgBouncer,
    MariaDb,
    SmtpSink,
    Aiosmtpd,
    OpenSsl,
    Nats,
    RabbitMq,
    Pip,
    Npm,
    Promtool,
    SystemdAnalyze,
    Sqlite3,
    Chromium,
    Fontconfig,
    ChineseFonts,
}

impl Dependency {
    fn package(self) -> &'static str {
        match self {
            Self::Postgres => "postgresql-15",
            Self::PgBouncer => "pgbouncer",
            Self::MariaDb => "mariadb-server",
            Self::SmtpSink => "postfix",
            Self::Aiosmtpd => "python3-aiosmtpd",
            Self::OpenSsl => "openssl",
            Self::Nats => "nats-server",
            Self::RabbitMq => "rabbitmq-server",
            Self::Pip => "python3-pip",
            Self::Npm => "npm",
            Self::Promtool => "prometheus",
            Self::SystemdAnalyze => "systemd",
            Self::Sqlite3 => "sqlite3",
            Self::Chromium => "chromium",
            Self::Fontconfig => "fontconfig",
            Self::ChineseFonts => "fonts-wqy-microhei",
        }
    }

    fn is_present(self) -> bool {
        match self {
            Self::Postgres => postgres_binaries().is_some(),
            Self::PgBouncer => pgbouncer().is_file(),
            Self::MariaDb => mariadb_binary().is_file() && find("mariadb-install-db").is_some(),
            Self::SmtpSink => smtp_sink().is_file(),
            Self::Aiosmtpd => python_runs("import aiosmtpd"),
            Self::OpenSsl => find("openssl").is_some(),
            Self::Nats => nats_server().is_file(),
            Self::RabbitMq => rabbitmq_server().is_file() && find("epmd").is_some(),
            Self::Pip => python_runs("import pip"),
            Self::Npm => find("node").is_some() && find("npm").is_some(),
            Self::Promtool => find("promtool").is_some(),
            Self::SystemdAnalyze => find("systemd-analyze").is_some(),
            Self::Sqlite3 => find("sqlite3").is_some(),
            Self::Chromium => chromium().is_file(),
            Self::Fontconfig => find("fc-list").is_some(),
            Self::ChineseFonts => has_font_for("zh-cn"),
        }
    }
}

/// The folder with `initdb`, `postgres` and `psql` of the highest version that Debian has installed.
pub(crate) fn postgres_binaries() -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin): &(u32, PathBuf)| bin.join("initdb").is_file() && bin.join("psql").is_file())
        .collect();
    versions.sort();
    versions.pop().map(|(_, bin)| bin).or_else(|| Some(find("initdb")?.parent()?.to_owned()))
}

pub(crate) fn pgbouncer() -> PathBuf {
    find("pgbouncer").unwrap_or_else(|| "/usr/sbin/pgbouncer".into())
}

pub(crate) fn mariadb_binary() -> PathBuf {
    find("mariadbd").unwrap_or_else(|| "/usr/sbin/mariadbd".into())
}

pub(crate) fn smtp_sink() -> PathBuf {
    find("smtp-sink").unwrap_or_else(|| "/usr/sbin/smtp-sink".into())
}

/// Debian's Python interpreter, which finds Debian's packages.
pub(crate) fn python() -> PathBuf {
    "/usr/bin/python3".into()
}

pub(crate) fn nats_server() -> PathBuf {
    find("nats-server").unwrap_or_else(|| "/usr/sbin/nats-server".into())
}

/// The server's own program; the wrapper on the `PATH` requires the folders of the system.
pub(crate) fn rabbitmq_server() -> PathBuf {
    "/usr/lib/rabbitmq/bin/rabbitmq-server".into()
}

pub(crate) fn chromium() -> PathBuf {
    find("chromium").unwrap_or_else(|| "/usr/bin/chromium".into())
}

/// Whether any font covers the language.
fn has_font_for(language: &str) -> bool {
    let mut list = Command::new("fc-list");
    list.arg(format!(":lang={language}")).stdin(Stdio::null()).stderr(Stdio::null());
    list.output().is_ok_and(|output| !output.stdout.is_empty())
}

fn python_runs(code: &str) -> bool {
    let mut command = Command::new(python());
    command.args(["-c", code]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Finds a command on the `PATH` and in the `sbin` folders.
fn find(command: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/bin".into()])
        .map(|folder| folder.join(command))
        .find(|file| file.is_file())
}

/// Installs what is missing, once for all callers, and waits for other processes that install.
pub(crate) fn ensure(dependencies: &[Dependency]) -> Result<()> {
    if missing(dependencies).is_empty() {
        return Ok(());
    }
    let lock = std::env::temp_dir().join("postrider-install.lock");
    let file = File::create(&lock).map_err(Error::file(&lock))?;
    file.lock().map_err(Error::file(&lock))?;
    let packages = missing(dependencies);
    if packages.is_empty() {
        return Ok(());
    }
    if !we_are_root() {
        return Err(failed(&packages, "only root can install packages".into()));
    }
    eprintln!("installing {} …", packages.join(" "));
    install(&packages)?;
    match missing(dependencies) {
        none if none.is_empty() => Ok(()),
        still => Err(failed(&still, "apt-get succeeded, but the programs are still missing".into())),
    }
}

fn missing(dependencies: &[Dependency]) -> Vec<&'static str> {
    dependencies
        .iter()
        .filter(|dependency| !dependency.is_present())
        .map(|dependency| dependency.package())
        .collect()
}

fn failed(packages: &[&str], output: String) -> Error {
    Error::Install { packages: packages.join(" "), output }
}

fn install(packages: &[&'static str]) -> Result<()> {
    let _no_service_starts = ServicePolicy::forbid_starts(Path::new("/usr/sbin/policy-rc.d"))?;
    if packages.contains(&"postfix") {
        keep_postfix_unconfigured();
    }
    let arguments = || {
        [
            "install",
            "--yes",
            "--no-install-recommends",
            "--no-remove",
            "-o",
            "Dpkg::Options::=--force-confold",
        ]
        .into_iter()
        .chain(packages.iter().copied())
    };
    // The package lists may be absent or old; update them only if needed, as that takes half of the time.
    if apt(arguments()).is_ok() {
        return Ok(());
    }
    // The update may fail because of an unrelated source; the second attempt decides.
    let _ = apt(["update"]);
    apt(arguments()).map_err(|output| failed(packages, output))
}

fn apt<'a>(arguments: impl IntoIterator<Item = &'a str>) -> std::result::Result<(), String> {
    let output = Command::new("apt-get")
        .args(["-q", "-o", "DPkg::Lock::Timeout=600", "-o", "Dpkg::Use-Pty=0", "-o", "Acquire::Retries=3"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("NEEDRESTART_MODE", "l")
        .stdin(Stdio::null())
        .output()
        .map_err(|problem| format!("could not run apt-get: {problem}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(last_lines(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat())))
}

/// Leaves Postfix unconfigured: only its `smtp-sink` is needed, and the machine's mail must not change.
fn keep_postfix_unconfigured() {
    let answers = Command::new("debconf-set-selections").stdin(Stdio::piped()).spawn();
    // Without this answer the package uses its default, which is harmless as well.
    if let Ok(mut child) = answers {
        if let Some(mut input) = child.stdin.take() {
            let _ = input.write_all(b"postfix postfix/main_mailer_type select No configuration\n");
        }
        let _ = child.wait();
    }
}

const POLICY: &[u8] = b"#!/bin/sh\n# In place while packages for tests are installed.\nexit 101\n";

/// Prevents packages from starting services; restores the previous policy on drop.
#[derive(Debug)]
pub(crate) struct ServicePolicy {
    path: PathBuf,
}

impl ServicePolicy {
    pub(crate) fn forbid_starts(path: &Path) -> Result<Self> {
        let policy = Self { path: path.to_owned() };
        let (backup, fresh) = (policy.sibling("before"), policy.sibling("fresh"));
        // A killed earlier run left the machine's own policy in the backup; do not overwrite it with ours.
        let own = std::fs::read(path).is_ok_and(|there| there != POLICY);
        if own && !backup.exists() {
            std::fs::copy(path, &backup).map_err(Error::file(&backup))?;
        }
        std::fs::write(&fresh, POLICY).map_err(Error::file(&fresh))?;
        std::fs::set_permissions(&fresh, PermissionsExt::from_mode(0o755)).map_err(Error::file(&fresh))?;
        std::fs::rename(&fresh, path).map_err(Error::file(path))?;
        Ok(policy)
    }

    fn sibling(&self, suffix: &str) -> PathBuf {
        self.path.with_extension(format!("d.postrider-{suffix}"))
    }
}

impl Drop for ServicePolicy {
    fn drop(&mut self) {
        let backup = self.sibling("before");
        let outcome = if backup.exists() {
            std::fs::rename(&backup, &self.path)
        } else {
            std::fs::remove_file(&self.path)
        };
        if let Err(problem) = outcome {
            eprintln!("{} could not be put back: {problem}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests;
