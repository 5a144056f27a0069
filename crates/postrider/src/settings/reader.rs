//! Reads a table of the settings: what `postrider-config` reads, and secrets, lists and tables as settings have them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use postrider_config::{Item, Mistake, Place, Report, TableReader, Value, format_duration, parse_duration};
use postrider_seams::Secret;
use postrider_target_options::OptionMistake;

use super::secret::{References, resolve};

/// The state that all readers of one load share.
pub struct Context<'a> {
    pub report: &'a Report,
    /// The folder that relative paths start from: the settings file's.
    pub base: &'a Path,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Resolves a secret reference; the error describes what is wrong with it.
    pub follow: &'a dyn Fn(&str) -> Result<Secret, String>,
}

/// A reader of one table.
pub struct Reader<'a> {
    context: &'a Context<'a>,
    table: TableReader<'a>,
}

/// A value and its place, for mistakes that are found later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    pub value: T,
    pub place: Place,
}

/// Keys of a table that are set, and their places.
pub type SetKeys = Vec<(&'static str, Place)>;

impl<'a> Reader<'a> {
    /// Creates a reader of a table.
    pub fn new(context: &'a Context<'a>, table: TableReader<'a>) -> Self {
        Self { context, table }
    }

    /// Returns the full name of a key of this table: `stores.main.url`.
    pub fn key(&self, key: &str) -> String {
        self.table.key(key)
    }

    /// Returns an environment variable, for tables that standard variables also configure.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.context.variable)(name)
    }

    /// Returns the place of this table.
    pub fn place(&self) -> &Place {
        self.table.place()
    }

    /// Returns the folder that relative paths start from.
    pub fn base(&self) -> &Path {
        self.context.base
    }

    /// Reports a mistake about one key of this table.
    pub fn wrong_at(&self, place: &Place, key: &str, text: impl Into<String>) {
        self.context.wrong(place, self.key(key), text);
    }

    /// Reports the mistakes of a URL and of the options next to it, each where it is written. `set` has the places of
    /// these options; a mistake of any other option is in the URL.
    pub fn wrong_options(&self, url: &Place, set: &SetKeys, mistakes: &[OptionMistake]) {
        for mistake in mistakes {
            let key_of = |option: &String| set.iter().find(|(key, _)| key == option);
            match mistake.option.as_ref().and_then(key_of) {
                Some((key, place)) => self.wrong_at(place, key, mistake.text()),
                None => self.wrong_at(url, "url", mistake.to_string()),
            }
        }
    }

    /// Returns those of these keys that are set, with their places.
    pub fn set_keys(&self, keys: impl IntoIterator<Item = &'static str>) -> SetKeys {
        keys.into_iter().filter_map(|key| Some((key, self.place_of(key)?))).collect()
    }

    /// Returns the place of a key; `None` if it is not set.
    pub fn place_of(&self, key: &'static str) -> Option<Place> {
        self.table.get(key).map(|item| item.place().clone())
    }

    /// Returns the value as written.
    pub fn get(&self, key: &'static str) -> Option<Item<'a>> {
        self.table.get(key)
    }

    /// Reads a text.
    pub fn text(&self, key: &'static str) -> Option<Located<String>> {
        let item = self.get(key)?;
        Some(Located { value: item.text()?.to_owned(), place: item.place().clone() })
    }

    /// Reads true or false.
    pub fn boolean(&self, key: &'static str) -> Option<bool> {
        self.get(key)?.boolean()
    }

    /// Reads a whole number within `range`.
    pub fn number(&self, key: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
        self.get(key)?.number(range)
    }

    /// Reads a number within `range`.
    pub fn fraction(&self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        self.get(key)?.fraction(range)
    }

    /// Reads a duration within `range`.
    pub fn duration(&self, key: &'static str, range: RangeInclusive<Duration>) -> Option<Duration> {
        self.get(key)?.duration(range)
    }

    /// Reads a size in bytes within `range`.
    pub fn size(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        self.get(key)?.size(range)
    }

    /// Reads a text and parses it; the error of `parse` describes what would be valid.
    pub fn parsed<T, E: Display>(
        &self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let item = self.get(key)?;
        let text = item.text()?;
        parse(text).map_err(|error| item.mistake(format!("invalid value {text:?}: {error}"), "")).ok()
    }

    /// Reads a secret and resolves its reference. Messages never show the value.
    pub fn secret(&self, key: &'static str, allowed: References) -> Option<Located<Secret>> {
        let item = self.get(key)?;
        let (Value::Text(written) | Value::Untyped(written)) = &item.node.value else {
            item.mistake(format!("expected text in quotes, found {}", item.node.value.kind()), "");
            return None;
        };
        let value =
            resolve(written, allowed, self.context.follow).map_err(|text| item.mistake(text, "")).ok()?;
        Some(Located { value, place: item.place().clone() })
    }

    /// Reads a single value as text, and resolves it if it is a secret reference.
    pub fn option(&self, key: &'static str) -> Option<String> {
        let item = self.get(key)?;
        let value = resolve(&item.scalar()?, References::All, self.context.follow);
        value.map(|value| value.reveal().to_owned()).map_err(|text| item.mistake(text, "")).ok()
    }

    /// Reads a list of texts; in a variable they are separated by commas.
    pub fn texts(&self, key: &'static str) -> Vec<Located<String>> {
        let Some(item) = self.get(key) else { return Vec::new() };
        if let Value::Untyped(text) = &item.node.value {
            let found = |part: &str| Located { value: part.trim().to_owned(), place: item.place().clone() };
            return text.split(',').map(found).collect();
        }
        let found =
            |item: &Item<'_>| Some(Located { value: item.text()?.to_owned(), place: item.place().clone() });
        item.one_or_many().iter().filter_map(found).collect()
    }

    /// Reads a list of durations, each `most` at most.
    pub fn durations(&self, key: &'static str, most: Duration) -> Vec<Duration> {
        let read = |found: Located<String>| {
            let duration = parse_duration(found.value.trim()).ok().filter(|duration| *duration <= most);
            if duration.is_none() {
                let (wrong, most) = (&found.value, format_duration(most));
                let text =
                    format!("invalid value {wrong:?}: expected a duration up to {most}, such as \"500ms\"");
                self.wrong_at(&found.place, key, text);
            }
            duration
        };
        self.texts(key).into_iter().filter_map(read).collect()
    }

    /// Reads a table within this table.
    pub fn table(&self, key: &'static str) -> Option<Reader<'a>> {
        self.get(key)?.table().map(|table| Self::new(self.context, table))
    }

    /// Reads a table of names with numbers within `range`.
    pub fn fractions(&self, key: &'static str, range: &RangeInclusive<f64>) -> BTreeMap<String, f64> {
        let Some(table) = self.get(key).and_then(|item| item.table()) else { return BTreeMap::new() };
        table
            .all()
            .filter_map(|(name, item)| Some((name.to_owned(), item.fraction(range.clone())?)))
            .collect()
    }

    /// Reads a table of named tables, `[stores.NAME]`, sorted by name.
    pub fn tables(&self, key: &'static str) -> Vec<(String, Reader<'a>)> {
        let Some(table) = self.get(key).and_then(|item| item.table()) else { return Vec::new() };
        let inner =
            |(name, item): (&str, Item<'a>)| Some((name.to_owned(), Self::new(self.context, item.table()?)));
        let mut tables: Vec<_> = table.all().filter_map(inner).collect();
        tables.sort_by(|(a, _), (b, _)| a.cmp(b));
        tables
    }

    /// Reads a list of tables: `[[mail.dkim]]`.
    pub fn list_of_tables(&self, key: &'static str) -> Vec<Reader<'a>> {
        let items = self.get(key).map(|item| item.one_or_many()).unwrap_or_default();
        items.iter().filter_map(|item| Some(Self::new(self.context, item.table()?))).collect()
    }

    /// Reports a mistake if a required key is missing.
    pub fn required<T>(&self, key: &'static str, found: Option<T>, example: &str) -> Option<T> {
        let path = self.key(key);
        if found.is_none() && !self.context.report.has_mistake_at(&path) {
            let what = "is required".to_owned();
            let remedy = format!("set {example}");
            self.context.report.add(Mistake { place: self.place().clone(), key: path, what, remedy });
        }
        found
    }

    /// Reports every key that was not read as unknown.
    pub fn finish(&self) {
        self.table.finish();
    }
}

impl Context<'_> {
    /// Reports a mistake at a place.
    pub fn wrong(&self, place: &Place, key: impl Into<String>, text: impl Into<String>) {
        let (key, what) = (key.into(), text.into());
        self.report.add(Mistake { place: place.clone(), key, what, remedy: String::new() });
    }
}
