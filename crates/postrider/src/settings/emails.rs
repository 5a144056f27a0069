//! Reads `[lanes.NAME.emails]`: the folders of the e-mail pipeline's files, and the receiver of its callbacks.

use std::path::PathBuf;
use std::time::Duration;

use postrider_seams::Secret;

use super::reader::Reader;
use super::secret::References;

/// The keys of the table.
pub const KEYS: [&str; 6] =
    ["base", "folder", "remove_files_after", "callback_url", "callback_secret", "callback_old_secret"];

/// The settings of the e-mail pipeline; every key is optional for lanes outside it.
#[derive(Debug, Clone, Default)]
pub struct EmailsSettings {
    /// The folder that contains payloads, attachments and .eml files, shared by all instances.
    pub base: Option<PathBuf>,
    /// The folder of the .eml files that intake writes. Default: `eml` below the base.
    pub folder: Option<PathBuf>,
    /// Age at which files without a row are removed; `None` keeps them forever.
    pub remove_files_after: Option<Duration>,
    /// The URL of the callbacks.
    pub callback_url: Option<String>,
    /// The secret that signs callbacks; the previous one also signs while receivers change over.
    pub callback_secret: Option<Secret>,
    pub callback_old_secret: Option<Secret>,
}

impl EmailsSettings {
    /// Reads the table; relative folders are resolved against the settings file's folder.
    pub fn read(reader: &Reader<'_>) -> Self {
        let base = reader.base().to_owned();
        // Rows hold these paths, and other programs open them from any working directory.
        let folder = |key: &'static str| {
            let path = base.join(reader.text(key)?.value);
            Some(std::path::absolute(&path).unwrap_or(path))
        };
        let (own, folder) = (folder("base"), folder("folder"));
        let remove_files_after =
            reader.duration("remove_files_after", Duration::from_mins(1)..=Duration::from_hours(8760));
        let callback_url = reader.text("callback_url").map(|found| found.value);
        let secret = |key: &'static str| reader.secret(key, References::All).map(|found| found.value);
        let (callback_secret, callback_old_secret) =
            (secret("callback_secret"), secret("callback_old_secret"));
        reader.finish();
        Self { base: own, folder, remove_files_after, callback_url, callback_secret, callback_old_secret }
    }

    /// The folder of the .eml files: `folder`, or `eml` below the base; `None` if neither is set.
    pub fn eml_folder(&self) -> Option<PathBuf> {
        let usual = || self.base.as_ref().map(|base| base.join("eml"));
        self.folder.clone().or_else(usual)
    }
}
