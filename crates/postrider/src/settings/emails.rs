//! `[lanes.NAME.emails]`: where the files of the e-mail pipeline are, and whom its callbacks tell.

use std::path::PathBuf;
use std::time::Duration;

use postrider_seams::Secret;

use super::reader::Reader;
use super::secret::References;

#[derive(Debug, Clone, Default)]
pub struct EmailsSettings {
    /// The folder that payloads, attachments and .eml files are below, shared by all instances.
    pub base: Option<PathBuf>,
    /// Where intake writes .eml files; by default `eml` below the base.
    pub folder: Option<PathBuf>,
    /// Files whose row is gone are removed when they are this old; kept for ever if none.
    pub remove_files_after: Option<Duration>,
    /// Where callbacks go.
    pub callback_url: Option<String>,
    /// What they are signed with; the older one as well while receivers change over.
    pub callback_secret: Option<Secret>,
    pub callback_old_secret: Option<Secret>,
}

impl EmailsSettings {
    pub fn read(mut reader: Reader<'_>) -> Self {
        let base = reader.base().to_owned();
        // Rows keep these paths, and other programs read them from wherever they run.
        let mut folder = |key: &'static str| {
            let path = base.join(reader.text(key)?.value);
            Some(std::path::absolute(&path).unwrap_or(path))
        };
        let (own, folder) = (folder("base"), folder("folder"));
        let remove_files_after =
            reader.duration("remove_files_after", Duration::from_mins(1)..=Duration::from_hours(8760));
        let callback_url = reader.text("callback_url").map(|found| found.value);
        let mut secret = |key: &'static str| reader.secret(key, References::All).map(|found| found.value);
        let (callback_secret, callback_old_secret) =
            (secret("callback_secret"), secret("callback_old_secret"));
        reader.finish();
        Self { base: own, folder, remove_files_after, callback_url, callback_secret, callback_old_secret }
    }

    /// Where intake writes.
    pub fn eml_folder(&self) -> Option<PathBuf> {
        let usual = || self.base.as_ref().map(|base| base.join("eml"));
        self.folder.clone().or_else(usual)
    }
}
