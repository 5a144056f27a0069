//! Reads the template folder once, and reports all errors in it together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use minijinja::Environment;

use super::{FILE_LIMIT, LoadError, Locales, TemplateParts, TemplateVersion, Versions, is_name, locale_key};

/// Reads and compiles every template below a folder; returns all errors if there are any.
pub fn read(
    folder: &Path,
    environment: &mut Environment<'static>,
) -> Result<BTreeMap<String, Versions>, LoadError> {
    let mut reader = TemplateReader { environment, mistakes: Vec::new() };
    let mut by_id = BTreeMap::new();
    for (id, path) in reader.folders(folder) {
        let mut versions = Versions::new();
        for (version, path) in reader.folders(&path) {
            let mut locales = Locales::new();
            for (locale, path) in reader.folders(&path) {
                let parts = reader.parts(format!("{id}/{version}/{locale}"), &path);
                locales.insert(locale_key(&locale), parts);
            }
            versions.insert(TemplateVersion::new(&version), locales);
        }
        by_id.insert(id, versions);
    }
    if reader.mistakes.is_empty() { Ok(by_id) } else { Err(LoadError(reader.mistakes)) }
}

struct TemplateReader<'a> {
    environment: &'a mut Environment<'static>,
    mistakes: Vec<String>,
}

impl TemplateReader<'_> {
    /// Returns the folders inside `path`, by name. Hidden folders and files are ignored.
    fn folders(&mut self, path: &Path) -> Vec<(String, PathBuf)> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => {
                self.mistakes.push(format!("the template folder {} can't be read: {error}", path.display()));
                return Vec::new();
            }
        };
        let mut found = Vec::new();
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if is_name(&name) {
                found.push((name, path));
            } else if !name.starts_with('.') {
                let rule = "only letters, digits and . _ -, at most 64";
                self.mistakes.push(format!("{}: not a name for a template folder: {rule}", path.display()));
            }
        }
        found.sort();
        found
    }

    fn parts(&mut self, name: String, path: &Path) -> TemplateParts {
        let subject = self.file(&name, path, "subject.txt");
        let html = self.file(&name, path, "body.html");
        let text = self.file(&name, path, "body.txt");
        if !html && !text {
            self.mistakes.push(format!("{}: neither body.html nor body.txt is here", path.display()));
        }
        TemplateParts { name, subject, html, text }
    }

    /// Compiles one file; returns whether it exists.
    fn file(&mut self, name: &str, path: &Path, file: &str) -> bool {
        let path = path.join(file);
        let Ok(metadata) = fs::metadata(&path) else { return false };
        if metadata.len() > FILE_LIMIT {
            self.mistakes.push(format!("{}: larger than {FILE_LIMIT} bytes", path.display()));
            return true;
        }
        match fs::read_to_string(&path) {
            Err(error) => self.mistakes.push(format!("{} can't be read: {error}", path.display())),
            Ok(source) => {
                if let Err(error) = self.environment.add_template_owned(format!("{name}/{file}"), source) {
                    self.mistakes.push(format!("{}: {error}", path.display()));
                }
            }
        }
        true
    }
}
