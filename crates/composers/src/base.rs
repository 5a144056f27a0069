//! The base folder: the only place that a row's file names can reach.
//!
//! Invariant: nothing outside it is ever opened, whatever a name says and whatever links lie in between; the kernel
//! resolves the name below the folder's own handle (`openat2`), so that nobody can swap a folder for a link meanwhile.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// Why a file can't be had.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("{0} is not below the base folder, or a link leads out of it")]
    Outside(String),
    #[error("{0} is not there")]
    Missing(String),
    #[error("{0} is not a file")]
    NotAFile(String),
    #[error("{name} has {size} bytes; at most {limit} are taken")]
    TooLarge { name: String, size: u64, limit: u64 },
    /// The file system's fault, not the name's: it may be there in a while.
    #[error("{name} can't be read now: {source}")]
    Away { name: String, source: io::Error },
}

/// A name as a reason tells it: so short that there is room for what is wrong with it.
fn told(name: &str) -> String {
    const SHOWN: usize = 150;
    match name.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

impl Problem {
    /// Is it the row's own fault?
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Away { .. })
    }
}

/// A folder on a file system that all instances share.
#[derive(Debug, Clone)]
pub struct Base {
    path: PathBuf,
}

impl Base {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole file, if it is no larger than `limit`.
    pub fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, Problem> {
        let (file, size) = self.open(name)?;
        let large = |size| Problem::TooLarge { name: told(name), size, limit };
        if size > limit {
            return Err(large(size));
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        let away = |source| Problem::Away { name: told(name), source };
        // It may grow while it is read.
        file.take(limit + 1).read_to_end(&mut content).map_err(away)?;
        if content.len() as u64 > limit { Err(large(content.len() as u64)) } else { Ok(content) }
    }

    /// A file, absolute or relative to the base, and its size.
    pub fn open(&self, name: &str) -> Result<(File, u64), Problem> {
        let below = self.below(name).ok_or_else(|| Problem::Outside(told(name)))?;
        let away = |errno: Errno| Problem::Away { name: told(name), source: errno.into() };
        let folder =
            openat(CWD, &self.path, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())
                .map_err(away)?;
        let opened = open_below(&folder, &below).map_err(|errno| match errno {
            Errno::XDEV | Errno::LOOP => Problem::Outside(told(name)),
            Errno::ISDIR | Errno::NXIO => Problem::NotAFile(told(name)),
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL => Problem::Missing(told(name)),
            other => away(other),
        })?;
        let file = File::from(opened);
        let about = file.metadata().map_err(|source| Problem::Away { name: told(name), source })?;
        if !about.is_file() {
            return Err(Problem::NotAFile(told(name)));
        }
        Ok((file, about.len()))
    }

    /// The name from the base on; `None` where it leads elsewhere by its own words.
    fn below(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(name);
        let whole = || self.path.canonicalize().ok();
        let relative = if path.is_relative() {
            path.to_owned()
        } else if let Ok(rest) = path.strip_prefix(&self.path) {
            rest.to_owned()
        } else {
            path.strip_prefix(whole()?).ok()?.to_owned()
        };
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let fine =
            !relative.as_os_str().is_empty() && !name.contains('\0') && relative.components().all(plain);
        fine.then_some(relative)
    }
}

/// A pipe must not make us wait for its writer.
const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

#[cfg(target_os = "linux")]
fn open_below(folder: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(folder, path, READ, Mode::empty(), resolve) {
        // Kernels before 5.6, and sandboxes that do not know the call.
        Err(Errno::NOSYS | Errno::PERM) => walk(folder, path),
        other => other,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_below(folder: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    walk(folder, path)
}

/// Part by part, and through no link at all.
fn walk(folder: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mut here = folder.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let parts: Vec<_> = path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    let (last, folders) = parts.split_last().ok_or(Errno::NOENT)?;
    for part in folders {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        here = match openat(&here, part.as_os_str(), flags, Mode::empty()) {
            // A link is not a folder.
            Err(Errno::NOTDIR) => return Err(Errno::LOOP),
            other => other?,
        };
    }
    openat(&here, last.as_os_str(), READ | OFlags::NOFOLLOW, Mode::empty())
}

#[cfg(test)]
mod tests;
