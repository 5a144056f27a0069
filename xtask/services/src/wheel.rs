//! Downloads servers that are distributed as Python wheels, once, into the user's cache, at exact versions.
//!
//! Invariant: a folder in the cache is complete. It is filled under another name and then renamed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::install::{self, Dependency};
use crate::server;

/// The packages for pip with their exact versions; with hashes if it is a single file that is run.
pub(crate) struct Wheel {
    /// The name of the folder in the cache; it changes with the versions.
    pub name: &'static str,
    pub requirements: &'static str,
}

/// Returns the folder with the wheel's content, after downloading it if it is missing.
pub(crate) fn ensure(wheel: &Wheel) -> Result<PathBuf> {
    cached(wheel.name, Dependency::Pip, |partial, cache| fetch(wheel, partial, cache))
}

/// Returns the folder of this name in the cache; `fill` fills a missing one.
pub(crate) fn cached(
    name: &str,
    dependency: Dependency,
    fill: impl FnOnce(&Path, &Path) -> Result<()>,
) -> Result<PathBuf> {
    let cache = cache()?;
    let folder = cache.join(name);
    if folder.is_dir() {
        return Ok(folder);
    }
    install::ensure(&[dependency])?;
    let lock = cache.join("lock");
    let file = File::create(&lock).map_err(Error::file(&lock))?;
    file.lock().map_err(Error::file(&lock))?;
    if !folder.is_dir() {
        eprintln!("fetching {name} …");
        let partial = cache.join(format!("{name}.half"));
        if partial.exists() {
            std::fs::remove_dir_all(&partial).map_err(Error::file(&partial))?;
        }
        fill(&partial, &cache)?;
        std::fs::rename(&partial, &folder).map_err(Error::file(&folder))?;
    }
    Ok(folder)
}

fn fetch(wheel: &Wheel, partial: &Path, cache: &Path) -> Result<()> {
    let list = cache.join(format!("{}.txt", wheel.name));
    std::fs::write(&list, wheel.requirements).map_err(Error::file(&list))?;
    let mut pip = Command::new(install::python());
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"])
        .args(["--only-binary", ":all:", "--root-user-action", "ignore", "--target"])
        .arg(partial)
        .arg("--requirement")
        .arg(&list);
    server::run(&mut pip, None)
}

fn cache() -> Result<PathBuf> {
    let chosen = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let folder = chosen.or_else(home).unwrap_or_else(std::env::temp_dir).join("postrider-services");
    std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    Ok(folder)
}
