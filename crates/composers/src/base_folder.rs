//! The base folder: the only folder from which files named by a row are opened.
//!
//! Invariant: no file outside the folder is ever opened, whatever the name contains and whatever symbolic links it
//! passes. The kernel resolves the name below an open handle of the folder (`openat2`), so that replacing a folder by
//! a link during the call changes nothing.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// The reason why a file cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{0} is not below the base folder, or a link leads out of it")]
    Outside(String),
    #[error("{0} is not there")]
    Missing(String),
    #[error("{0} is not a file")]
    NotAFile(String),
    #[error("{name} has {size} bytes; at most {limit} are allowed")]
    TooLarge { name: String, size: u64, limit: u64 },
    /// The file system failed, not the name: a later attempt may succeed.
    #[error("{name} can't be read now: {source}")]
    Unavailable { name: String, source: io::Error },
}

/// Shortens a file name for a reason, to leave room for the description of the error.
fn short_name(name: &str) -> String {
    const SHOWN: usize = 150;
    match name.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

impl FileError {
    /// Whether the row is at fault, so that a retry cannot succeed.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Unavailable { .. })
    }
}

/// A folder on a file system that all instances share.
#[derive(Debug, Clone)]
pub struct BaseFolder {
    path: PathBuf,
}

impl BaseFolder {
    /// Creates the base folder for a path; the folder is not opened yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the folder, as configured.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a whole file; fails if it is larger than `limit` bytes.
    pub fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, FileError> {
        let (file, size) = self.open(name)?;
        let too_large = |size| FileError::TooLarge { name: short_name(name), size, limit };
        if size > limit {
            return Err(too_large(size));
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        let unavailable = |source| FileError::Unavailable { name: short_name(name), source };
        // The file may grow while it is read.
        file.take(limit + 1).read_to_end(&mut content).map_err(unavailable)?;
        if content.len() as u64 > limit { Err(too_large(content.len() as u64)) } else { Ok(content) }
    }

    /// Opens a file, by a name that is absolute or relative to the base, and returns it with its size in bytes.
    pub fn open(&self, name: &str) -> Result<(File, u64), FileError> {
        let below = self.relative_name(name).ok_or_else(|| FileError::Outside(short_name(name)))?;
        let unavailable =
            |errno: Errno| FileError::Unavailable { name: short_name(name), source: errno.into() };
        let folder =
            openat(CWD, &self.path, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())
                .map_err(unavailable)?;
        let opened = open_below(&folder, &below).map_err(|errno| match errno {
            Errno::XDEV | Errno::LOOP => FileError::Outside(short_name(name)),
            Errno::ISDIR | Errno::NXIO => FileError::NotAFile(short_name(name)),
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL => {
                FileError::Missing(short_name(name))
            }
            other => unavailable(other),
        })?;
        let file = File::from(opened);
        let metadata =
            file.metadata().map_err(|source| FileError::Unavailable { name: short_name(name), source })?;
        if !metadata.is_file() {
            return Err(FileError::NotAFile(short_name(name)));
        }
        Ok((file, metadata.len()))
    }

    /// Returns the name relative to the base, or `None` if the name itself points outside of it.
    fn relative_name(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(name);
        let canonical = || self.path.canonicalize().ok();
        let relative = if path.is_relative() {
            path.to_owned()
        } else if let Ok(rest) = path.strip_prefix(&self.path) {
            rest.to_owned()
        } else {
            path.strip_prefix(canonical()?).ok()?.to_owned()
        };
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let is_valid =
            !relative.as_os_str().is_empty() && !name.contains('\0') && relative.components().all(is_plain);
        is_valid.then_some(relative)
    }
}

/// Flags to open a file for reading. `NONBLOCK`: opening a pipe must not wait for its writer.
const READ_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

#[cfg(target_os = "linux")]
fn open_below(folder: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(folder, path, READ_FLAGS, Mode::empty(), resolve) {
        // Kernels before 5.6, and sandboxes that do not support the call.
        Err(Errno::NOSYS | Errno::PERM) => open_by_component(folder, path),
        other => other,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_below(folder: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    open_by_component(folder, path)
}

/// Opens a path one component at a time and follows no symbolic link.
fn open_by_component(folder: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mut current =
        folder.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let parts: Vec<_> = path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    let (last, folders) = parts.split_last().ok_or(Errno::NOENT)?;
    for part in folders {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        current = match openat(&current, part.as_os_str(), flags, Mode::empty()) {
            // The component is a link, or no folder at all.
            Err(Errno::NOTDIR) => return Err(Errno::LOOP),
            other => other?,
        };
    }
    openat(&current, last.as_os_str(), READ_FLAGS | OFlags::NOFOLLOW, Mode::empty())
}

#[cfg(test)]
mod tests;
