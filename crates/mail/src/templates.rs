//! Mail templates: `<folder>/<id>/<version>/<locale>/{subject.txt, body.html, body.txt}`, all read and compiled
//! together.
//!
//! Owns finding and rendering templates. Must not read a file because a row names it.
//! Invariant: a missing variable is an error, never an empty string; HTML is escaped; rendering is bounded.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use minijinja::{Environment, UndefinedBehavior};

use crate::quote;

mod live;
mod load;
mod render;
mod shipped;
#[cfg(test)]
mod tests;

pub use live::LiveTemplates;
pub use render::Rendered;
pub use shipped::SAMPLE;

/// Largest number of instructions per rendering; a simple mail needs a few hundred.
const FUEL: u64 = 500_000;
/// Largest output of one part, in bytes.
const OUTPUT_LIMIT: usize = 25 * 1024 * 1024;
/// Largest template file, in bytes.
const FILE_LIMIT: u64 = 1024 * 1024;

/// The reason why a template cannot be rendered. The kinds differ in who has to fix them: producer or template author.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{0} is not a template name: id, or id@version, of letters, digits and . _ -")]
    Name(String),
    #[error("there is no template {0}")]
    Missing(String),
    #[error("template {id} has no version {version}")]
    VersionMissing { id: String, version: String },
    #[error("template {template} has neither the locale {locale} nor the default {default}")]
    LocaleMissing { template: String, locale: String, default: String },
    #[error("template {template} needs the variable {variable}, which the row does not have")]
    VariableMissing { template: String, variable: String },
    #[error("template {0} takes too long or renders too much")]
    TooLarge(String),
    #[error("template {template} can't be rendered: {reason}")]
    Invalid { template: String, reason: String },
}

/// The errors in a template folder, all of them, one per line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct LoadError(pub Vec<String>);

/// The parts that a template has in one locale.
#[derive(Debug, Clone, Default)]
struct TemplateParts {
    /// `id/version/locale`, as on disk: prefix of the names in the environment.
    name: String,
    subject: bool,
    html: bool,
    text: bool,
}

/// A version, ordered so that v10 comes after v9.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TemplateVersion {
    numbers: Vec<u64>,
    text: String,
}

type Locales = BTreeMap<String, TemplateParts>;
type Versions = BTreeMap<TemplateVersion, Locales>;

/// The compiled templates of one folder.
pub struct Templates {
    environment: Environment<'static>,
    by_id: BTreeMap<String, Versions>,
    default_locale: String,
}

impl fmt::Debug for Templates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Templates").field("known", &self.by_id.keys()).finish_non_exhaustive()
    }
}

/// A template in one locale, as listed for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateInfo {
    pub id: String,
    pub version: String,
    pub locale: String,
    /// The files that exist, of `subject.txt`, `body.html` and `body.txt`.
    pub parts: Vec<&'static str>,
    /// The variables that the template uses.
    pub variables: Vec<String>,
}

impl Templates {
    /// Reads and compiles every template below `folder`.
    pub fn load(folder: &Path, default_locale: &str) -> Result<Self, LoadError> {
        Self::empty(default_locale).load_over(folder)
    }

    /// Loads the shipped templates and those of `folder`, which override shipped ones of the same id, version and
    /// locale.
    pub fn with_shipped(folder: Option<&Path>, default_locale: &str) -> Result<Self, LoadError> {
        let mut templates = Self::empty(default_locale);
        shipped::add(&mut templates.environment, &mut templates.by_id);
        match folder {
            Some(folder) => templates.load_over(folder),
            None => Ok(templates),
        }
    }

    fn empty(default_locale: &str) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.set_debug(true); // errors know which expression they are about
        Self { environment, by_id: BTreeMap::new(), default_locale: locale_key(default_locale) }
    }

    fn load_over(mut self, folder: &Path) -> Result<Self, LoadError> {
        for (id, versions) in load::read(folder, &mut self.environment)? {
            for (version, locales) in versions {
                self.by_id.entry(id.clone()).or_default().entry(version).or_default().extend(locales);
            }
        }
        Ok(self)
    }

    /// Lists every template in every locale, sorted.
    pub fn list(&self) -> Vec<TemplateInfo> {
        let mut list = Vec::new();
        for (id, versions) in &self.by_id {
            for (version, locales) in versions {
                for parts in locales.values() {
                    list.push(self.template_info(id, &version.text, parts));
                }
            }
        }
        list
    }

    fn template_info(&self, id: &str, version: &str, parts: &TemplateParts) -> TemplateInfo {
        let files = [("subject.txt", parts.subject), ("body.html", parts.html), ("body.txt", parts.text)];
        let files: Vec<&'static str> =
            files.iter().filter(|(_, there)| *there).map(|(file, _)| *file).collect();
        let mut variables = std::collections::BTreeSet::new();
        for file in &files {
            if let Ok(template) = self.environment.get_template(&format!("{}/{file}", parts.name)) {
                variables.extend(template.undeclared_variables(false));
            }
        }
        let locale = parts.name.rsplit('/').next().unwrap_or_default();
        TemplateInfo {
            id: id.to_owned(),
            version: version.to_owned(),
            locale: locale.to_owned(),
            parts: files,
            variables: variables.into_iter().collect(),
        }
    }

    /// Renders `template` (`id` for the newest version, or `id@version`) in a locale: exactly that one, else its
    /// language (without region, or in another region), else the default.
    pub fn render(
        &self,
        template: &str,
        locale: Option<&str>,
        variables: &serde_json::Value,
    ) -> Result<Rendered, Error> {
        let parts = self.find(template, locale)?;
        render::render(&self.environment, parts, variables)
    }

    fn find(&self, template: &str, locale: Option<&str>) -> Result<&TemplateParts, Error> {
        let (id, version) = match template.split_once('@') {
            Some((id, version)) => (id, Some(version)),
            None => (template, None),
        };
        if !is_name(id) || version.is_some_and(|version| !is_name(version)) {
            return Err(Error::Name(quote(template)));
        }
        let versions = self.by_id.get(id).ok_or_else(|| Error::Missing(quote(id)))?;
        let locales = match version {
            Some(version) => versions.get(&TemplateVersion::new(version)),
            None => versions.values().next_back(),
        };
        let missing =
            || Error::VersionMissing { id: id.to_owned(), version: quote(version.unwrap_or_default()) };
        let locales = locales.ok_or_else(missing)?;
        let wanted = locale.map(locale_key).filter(|locale| !locale.is_empty());
        self.choose(locales, wanted.as_deref()).ok_or_else(|| Error::LocaleMissing {
            template: template.to_owned(),
            locale: quote(wanted.as_deref().unwrap_or(&self.default_locale)),
            default: self.default_locale.clone(),
        })
    }

    fn choose<'a>(&self, locales: &'a Locales, wanted: Option<&str>) -> Option<&'a TemplateParts> {
        let language = |locale: &str| {
            let language = locale.split('-').next().unwrap_or_default();
            let elsewhere = |by_id: &&String| by_id.split('-').next() == Some(language);
            locales.get(language).or_else(|| locales.get(locales.keys().find(elsewhere)?))
        };
        let exact_or_language = |locale: &str| locales.get(locale).or_else(|| language(locale));
        wanted.and_then(exact_or_language).or_else(|| exact_or_language(&self.default_locale))
    }
}

impl TemplateVersion {
    fn new(text: &str) -> Self {
        let numbers =
            text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect();
        Self { numbers, text: text.to_owned() }
    }
}

/// Normalises a locale: `de_AT` and `de-at` are the same.
fn locale_key(locale: &str) -> String {
    locale.trim().replace('_', "-").to_ascii_lowercase()
}

/// Whether the text is valid as an id, version or locale: it cannot form a path.
fn is_name(text: &str) -> bool {
    let is_valid = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    (1..=64).contains(&text.len()) && text.bytes().all(is_valid) && !text.starts_with('.')
}
