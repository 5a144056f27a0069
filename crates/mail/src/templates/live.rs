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
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
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
    loaded: u64,
    /// Hash of the folder at the last check.
    last_seen: u64,
    checked_at: Instant,
}

impl LiveTemplates {
    /// Loads the shipped templates and those of `folder`, which override them.
    pub fn open(folder: Option<&Path>, default_locale: &str) -> Result<Self, LoadError> {
        let fingerprint = folder.map_or(0, |folder| FolderFingerprint::of(folder).hash);
        let templates = Arc::new(Templates::with_shipped(folder, default_locale)?);
        let current =
            Current { templates, loaded: fingerprint, last_seen: fingerprint, checked_at: Instant::now() };
        Ok(Self {
            folder: folder.map(Path::to_owned),
            default_locale: default_locale.to_owned(),
            current: Arc::new(Mutex::new(current)),
        })
    }

    /// Returns the current templates. Checks the folder at most once a second, by names, sizes and times, not contents.
    pub fn current(&self) -> Arc<Templates> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) =
            self.folder.as_deref().filter(|_| current.checked_at.elapsed() >= CHECK_INTERVAL)
        {
            current.checked_at = Instant::now();
            self.reload_if_changed(folder, &mut current);
        }
        Arc::clone(&current.templates)
    }

    fn reload_if_changed(&self, folder: &Path, current: &mut Current) {
        let FolderFingerprint { hash: fingerprint, newest } = FolderFingerprint::of(folder);
        let age = newest.and_then(|newest| newest.elapsed().ok());
        let stable = fingerprint == current.last_seen || age.is_some_and(|age| age >= CHECK_INTERVAL);
        current.last_seen = fingerprint;
        if fingerprint == current.loaded || !stable {
            return;
        }
        current.loaded = fingerprint;
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
struct FolderFingerprint {
    /// Hash of every name, size and time below the folder.
    hash: u64,
    /// Time of the last change; a removal changes the time of its folder.
    newest: Option<SystemTime>,
}

impl FolderFingerprint {
    fn of(folder: &Path) -> Self {
        let mut hasher = DefaultHasher::new();
        let mut newest = fs::metadata(folder).and_then(|metadata| metadata.modified()).ok();
        add_folder(folder, DEPTH, &mut hasher, &mut newest);
        Self { hash: hasher.finish(), newest }
    }
}

fn add_folder(folder: &Path, depth: usize, hasher: &mut DefaultHasher, newest: &mut Option<SystemTime>) {
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
            add_folder(&path, depth - 1, hasher, newest);
        }
    }
}

#[cfg(test)]
mod tests;
