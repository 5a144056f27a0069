//! The dependency rules of the architecture, checked over `cargo metadata`.
//!
//! Only normal dependencies are checked; dev-dependencies are free.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::run::{self, Result};
use crate::tidy::Violation;

/// A member of the workspace, with its dependencies outside tests.
#[derive(Debug)]
pub struct Member {
    pub name: String,
    /// The folder relative to the root, such as `crates/stores/postgres`.
    pub folder: String,
    pub needs: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// How configuration is read, which depends on none of our crates.
    Config,
    /// The SQL builder, which depends on no crate at all, because applications compile it.
    SqlBuilder,
    Contract,
    Seams,
    Engine,
    Sql,
    Store,
    Transport,
    /// External queues, built on the transports of their brokers.
    Queues,
    Composers,
    Mail,
    Server,
    /// The producer library for applications, which depends on none of our crates but the SQL builder.
    Producer,
    /// The binary, the bench and the conformance suite, which may use every backend.
    Everything,
    Tooling,
    Other,
}

impl Kind {
    fn of(folder: &str) -> Self {
        match folder.strip_prefix("crates/").unwrap_or(folder) {
            "config" => Self::Config,
            "contract" => Self::Contract,
            "seams" => Self::Seams,
            "engine" => Self::Engine,
            "sql-builder" => Self::SqlBuilder,
            "stores/sql" => Self::Sql,
            "queues" => Self::Queues,
            "composers" => Self::Composers,
            "mail" => Self::Mail,
            "server" => Self::Server,
            "outbox" => Self::Producer,
            "postrider" | "conformance" | "bench" => Self::Everything,
            other if other.starts_with("stores/") => Self::Store,
            other if other.starts_with("transports/") => Self::Transport,
            other if other.starts_with("xtask") => Self::Tooling,
            _ => Self::Other,
        }
    }

    /// Whether it may depend on our crates of this kind.
    fn may_use(self, needed: Self) -> bool {
        let allowed: &[Self] = match self {
            Self::Config | Self::SqlBuilder | Self::Mail => &[],
            Self::Contract => &[Self::Config],
            Self::Producer => &[Self::SqlBuilder],
            Self::Seams => &[Self::Config, Self::Contract],
            Self::Engine | Self::Composers | Self::Sql | Self::Store | Self::Server | Self::Other => {
                &[Self::Config, Self::Contract, Self::Seams]
            }
            Self::Transport | Self::Queues => &[Self::Config, Self::Seams, Self::Other],
            Self::Everything | Self::Tooling => return true,
        };
        let further: &[Self] = match self {
            Self::Composers => &[Self::Mail],
            Self::Sql => &[Self::SqlBuilder],
            Self::Store | Self::Other => &[Self::SqlBuilder, Self::Sql, Self::Other],
            Self::Queues => &[Self::Transport],
            Self::Server => &[Self::Engine, Self::Other],
            _ => &[],
        };
        allowed.contains(&needed) || further.contains(&needed)
    }

    /// Whether indirect dependencies count as well. A transport may reach a contract through the types of the seams.
    fn checks_indirect(self) -> bool {
        matches!(self, Self::Config | Self::Contract | Self::Seams | Self::Engine | Self::Sql)
    }

    fn forbids_third_party(self, name: &str) -> bool {
        let forbidden: &[&str] = match self {
            Self::SqlBuilder => return true,
            Self::Config | Self::Contract => {
                &["tokio", "async-trait", "sqlx", "axum", "hyper", "reqwest", "rand", "chrono"]
            }
            // The SQL store needs the seams' clock, but nothing else of a runtime.
            Self::Sql => &["sqlx", "axum", "hyper", "reqwest"],
            Self::Seams | Self::Engine => &["sqlx", "axum", "hyper", "reqwest", "rustls", "clap"],
            Self::Store => &["axum", "hyper", "clap"],
            Self::Transport | Self::Queues | Self::Composers | Self::Mail => &["sqlx", "axum", "clap"],
            Self::Server => &["sqlx", "clap"],
            Self::Producer => {
                &["tokio", "async-trait", "axum", "hyper", "reqwest", "rustls", "clap", "tracing"]
            }
            Self::Everything | Self::Tooling | Self::Other => &[],
        };
        forbidden.contains(&name)
    }
}

/// Reads the members of the workspace with `cargo metadata`.
pub fn read(root: &Path) -> Result<Vec<Member>> {
    let metadata = run::metadata(root, &["--no-deps"])?;
    Ok(members(&metadata, root))
}

fn members(metadata: &Value, root: &Path) -> Vec<Member> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&metadata["packages"])
        .iter()
        .map(|package| {
            let manifest = text(&package["manifest_path"]);
            let folder = Path::new(&manifest).parent().and_then(|folder| folder.strip_prefix(root).ok());
            let needs = list(&package["dependencies"])
                .iter()
                .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
                .map(|dependency| text(&dependency["name"]))
                .collect();
            let folder = folder.map(|folder| folder.display().to_string()).unwrap_or_default();
            Member { name: text(&package["name"]), folder, needs }
        })
        .collect()
}

/// Checks the dependencies of every member.
pub fn check(members: &[Member]) -> Vec<Violation> {
    let ours: BTreeMap<&str, &Member> = members.iter().map(|member| (member.name.as_str(), member)).collect();
    let mut violations = Vec::new();
    for member in members {
        let kind = Kind::of(&member.folder);
        for needed in dependencies(member, kind, &ours) {
            let forbidden = match ours.get(needed.as_str()) {
                // Reached again through the kinds that it may use.
                Some(other) if other.name == member.name => false,
                Some(other) => !kind.may_use(Kind::of(&other.folder)),
                None => kind.forbids_third_party(&needed),
            };
            if forbidden {
                let path = format!("{}/Cargo.toml", member.folder);
                let what = format!("{} must not depend on {needed}", member.name);
                violations.push(Violation::new(
                    &path,
                    1,
                    what,
                    "go through a seam (ARCHITECTURE.md, dependency rules)",
                ));
            }
        }
    }
    violations
}

fn dependencies(member: &Member, kind: Kind, ours: &BTreeMap<&str, &Member>) -> BTreeSet<String> {
    let mut seen = member.needs.clone();
    let mut open: Vec<String> = seen.iter().cloned().collect();
    while kind.checks_indirect()
        && let Some(name) = open.pop()
    {
        for further in ours.get(name.as_str()).into_iter().flat_map(|other| &other.needs) {
            // Third-party dependencies of a seam (such as tokio) are checked at that seam.
            if ours.contains_key(further.as_str()) && seen.insert(further.clone()) {
                open.push(further.clone());
            }
        }
    }
    seen
}
