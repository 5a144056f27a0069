//! The templates in use: the shipped ones, overridden by a folder that is reloaded when it changes.
//!
//! Invariant: a folder that cannot be loaded replaces nothing. A change is loaded once it is a second old, or, if
//! clocks disagree, once it was seen twice a second apart, so that a half-written file is not loaded.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::{LoadError, Templates};

/// Interval at which the folder is checked for changes.
const LOOK: Duration = Duration::from_secs(1);
/// Depth of the folder tree: id, version, locale, file.
const DEPTH: usize = 4;

/// Templates that reload themselves; shared by all lanes with the same folder and locale. Clones share their state.
#[derive(Debug, Clone)]
pub struct LiveTemplates {
    folder: Option<PathBuf>,
    default_locale: String,
    current: Arc<Mutex<Current>>,
}

#[derive(Debug)]
struct Current {
    templates: Arc<Templates>,
    /// Hash of the folder when it was last loaded, successfully or not.
    read: u64,
    /// Hash of the folder at the last check.
    seen: u64,
    looked: Instant,
}

impl LiveTemplates {
    /// Loads the shipped templates and those of `folder`, which override them.
    pub fn open(folder: Option<&Path>, default_locale: &str) -> Result<Self, LoadError> {
        let mark = folder.map_or(0, |folder| Mark::of(folder).hash);
        let templates = Arc::new(Templates::with_shipped(folder, default_locale)?);
        let current = Current { templates, read: mark, seen: mark, looked: Instant::now() };
        Ok(Self {
            folder: folder.map(Path::to_owned),
            default_locale: default_locale.to_owned(),
            current: Arc::new(Mutex::new(current)),
        })
    }

    /// Returns the current templates. Checks the folder at most once a second, by names, sizes and times, not contents.
    pub fn current(&self) -> Arc<Templates> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = self.folder.as_deref().filter(|_| current.looked.elapsed() >= LOOK) {
            current.looked = Instant::now();
            self.look(folder, &mut current);
        }
        Arc::clone(&current.templates)
    }

    fn look(&self, folder: &Path, current: &mut Current) {
        let Mark { hash: mark, newest } = Mark::of(folder);
        let age = newest.and_then(|newest| newest.elapsed().ok());
        let settled = mark == current.seen || age.is_some_and(|age| age >= LOOK);
        current.seen = mark;
        if mark == current.read || !settled {
            return;
        }
        current.read = mark;
        match Templates::with_shipped(Some(folder), &self.default_locale) {
            Ok(templates) => {
                current.templates = Arc::new(templates);
                tracing::info!(folder = %folder.display(), "templates changed; read again");
            }
            Err(error) => {
                tracing::error!(folder = %folder.display(), %error, "templates changed and can't be read; the former ones stay in use");
            }
        }
    }
}

/// A fingerprint of the folder that ignores file contents.
struct Mark {
    /// Hash of every name, size and time below the folder.
    hash: u64,
    /// Time of the last change; a removal changes the time of its folder.
    newest: Option<SystemTime>,
}

impl Mark {
    fn of(folder: &Path) -> Self {
        let mut hasher = DefaultHasher::new();
        let mut newest = fs::metadata(folder).and_then(|metadata| metadata.modified()).ok();
        walk(folder, DEPTH, &mut hasher, &mut newest);
        Self { hash: hasher.finish(), newest }
    }
}

fn walk(folder: &Path, depth: usize, hasher: &mut DefaultHasher, newest: &mut Option<SystemTime>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        let modified = metadata.modified().ok();
        path.hash(hasher);
        metadata.len().hash(hasher);
        modified.hash(hasher);
        *newest = modified.max(*newest);
        if metadata.is_dir() && depth > 1 {
            walk(&path, depth - 1, hasher, newest);
        }
    }
}

#[cfg(test)]
mod tests;
