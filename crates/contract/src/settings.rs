//! Existing setting names (`DISPATCH_MAX_ATTEMPTS`, `app.outbox.batchSize`) and the contract keys that they set.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::problem::Problem;
use crate::{Contract, Layer, words};

/// The type of a key's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Whole,
    Fraction,
    Duration,
}

/// Every key that a contract's `[settings]` may name. `lane.…` keys belong to the lane that runs the contract.
const TARGETS: [(&str, Kind); 15] = [
    ("table.name", Kind::Text),
    ("attempts.max", Kind::Whole),
    ("retry.base", Kind::Duration),
    ("retry.factor", Kind::Fraction),
    ("retry.cap", Kind::Duration),
    ("retry.jitter", Kind::Fraction),
    ("claim.batch", Kind::Whole),
    ("claim.min_age", Kind::Duration),
    ("group.run", Kind::Whole),
    ("lease.for", Kind::Duration),
    ("lease.without", Kind::Duration),
    ("lane.poll", Kind::Duration),
    ("lane.timeout", Kind::Duration),
    ("lane.concurrency", Kind::Whole),
    ("lane.batch", Kind::Whole),
];

pub(crate) fn is_target(key: &str) -> bool {
    kind(key).is_some()
}

/// Returns the remedy for an unknown key.
pub(crate) fn targets(wrong: &str) -> String {
    words::meant(wrong, TARGETS.iter().map(|(key, _)| *key))
}

fn kind(key: &str) -> Option<Kind> {
    if key.strip_prefix("retention.").is_some_and(|state| !state.is_empty()) {
        return Some(Kind::Duration);
    }
    TARGETS.iter().find(|(known, _)| *known == key).map(|(_, kind)| *kind)
}

/// The values of external settings, split into those of the contract and those of the lane.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outside {
    /// Values for [`Contract::parse_with`], which checks their ranges and reports them under the external names.
    pub layer: Layer,
    /// Values for the lane.
    pub lane: LaneSettings,
}

/// Settings of the lane that runs the contract: defaults from `[lane]`, or external settings for `lane.…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneSettings {
    pub poll: Option<Duration>,
    pub timeout: Option<Duration>,
    pub concurrency: Option<u32>,
    pub batch: Option<u32>,
}

impl Contract {
    /// Reads every external setting of `[settings]` with `lookup` (the environment, or a test's values).
    ///
    /// A dotted name is also found as an environment variable: `app.outbox.pollInterval` as `APP_OUTBOX_POLL_INTERVAL`
    /// and `APP_OUTBOX_POLLINTERVAL`. A plain number for a duration means seconds, or milliseconds if the name says so;
    /// under a dotted name it needs a unit. Returns the valid settings and the problems of the others, so that a caller
    /// can report every mistake at once.
    pub fn outside(&self, origin: &str, lookup: impl Fn(&str) -> Option<String>) -> (Outside, Vec<Problem>) {
        let mut found = Outside { layer: Layer::new(origin, "", toml::Table::new()), ..Outside::default() };
        let mut problems = Vec::new();
        for (setting, key) in &self.settings {
            let said = forms(setting).into_iter().find_map(|name| lookup(&name).map(|text| (name, text)));
            let Some((name, text)) = said else { continue };
            if let Err((what, remedy)) = found.take(key, &name, Unit::of(setting), text.trim()) {
                problems.push(Problem { origin: origin.to_owned(), place: None, key: name, what, remedy });
            }
        }
        (found, problems)
    }
}

/// Returns the name; for a dotted one also its two spellings as an environment variable.
fn forms(setting: &str) -> Vec<String> {
    let mut forms = vec![setting.to_owned()];
    if setting.contains('.') {
        let mut snake = String::new();
        for c in setting.chars() {
            if c.is_uppercase() {
                snake.push('_');
            }
            snake.extend(if matches!(c, '.' | '-') { '_' } else { c }.to_uppercase());
        }
        forms.push(snake);
        forms.push(setting.replace(['.', '-'], "_").to_uppercase());
    }
    forms
}

type Wrong = (String, String);

impl Outside {
    fn take(&mut self, key: &str, name: &str, unit: Unit, text: &str) -> Result<(), Wrong> {
        let kind = kind(key).expect("parse refused every other target");
        if let Some(key) = key.strip_prefix("lane.") {
            return self.lane.take(key, unit, text);
        }
        let value = match kind {
            Kind::Text => toml::Value::String(text.to_owned()),
            Kind::Whole => toml::Value::Integer(whole(text)?),
            Kind::Fraction => toml::Value::Float(fraction(text)?),
            Kind::Duration => toml::Value::String(format!("{}ms", duration(unit, text)?.as_millis())),
        };
        let (section, field) = key.split_once('.').expect("every target has two parts");
        let section =
            self.layer.values.entry(section).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if let toml::Value::Table(section) = section {
            section.insert(field.to_owned(), value);
        }
        self.layer.names.insert(key.to_owned(), name.to_owned());
        Ok(())
    }
}

impl LaneSettings {
    /// The allowed poll intervals.
    pub const POLLS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_hours(1);
    /// The allowed delivery timeouts.
    pub const TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_hours(1);
    /// The allowed numbers of concurrent deliveries.
    pub const CONCURRENCIES: RangeInclusive<u32> = 1..=10_000;
    /// The allowed batch sizes.
    pub const BATCHES: RangeInclusive<u32> = 1..=1000;

    fn take(&mut self, key: &str, unit: Unit, text: &str) -> Result<(), Wrong> {
        match key {
            "poll" => self.poll = Some(within(&Self::POLLS, duration(unit, text)?)?),
            "timeout" => self.timeout = Some(within(&Self::TIMEOUTS, duration(unit, text)?)?),
            "concurrency" => self.concurrency = Some(within(&Self::CONCURRENCIES, whole(text)?)?),
            _ => self.batch = Some(within(&Self::BATCHES, whole(text)?)?),
        }
        Ok(())
    }
}

fn whole(text: &str) -> Result<i64, Wrong> {
    text.parse().map_err(|_| (format!("{text:?} is no whole number"), "write for example 5".to_owned()))
}

/// Returns the value if it is in the range.
fn within<T: PartialOrd + fmt::Debug, G: TryInto<T> + fmt::Debug + Copy>(
    range: &RangeInclusive<T>,
    given: G,
) -> Result<T, Wrong> {
    given.try_into().ok().filter(|value| range.contains(value)).ok_or_else(|| {
        (format!("{given:?} is out of range"), format!("allowed: {:?} to {:?}", range.start(), range.end()))
    })
}

fn fraction(text: &str) -> Result<f64, Wrong> {
    let number: Option<f64> = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| (format!("{text:?} is no number"), "write for example 0.2".to_owned()))
}

/// The unit of a plain number for a duration.
#[derive(Clone, Copy)]
enum Unit {
    Seconds,
    Millis,
    /// A dotted name comes from a framework where a plain number may mean milliseconds: reject it rather than be wrong
    /// by a factor of a thousand.
    Unsaid,
}

impl Unit {
    fn of(setting: &str) -> Self {
        let lower = setting.to_lowercase();
        if ["_ms", "millis", "milliseconds"].iter().any(|unit| lower.ends_with(unit)) {
            Self::Millis
        } else if setting.contains('.') && !lower.ends_with("seconds") {
            Self::Unsaid
        } else {
            Self::Seconds
        }
    }
}

/// Parses a duration with its unit, or a plain number if the unit is known.
fn duration(unit: Unit, text: &str) -> Result<Duration, Wrong> {
    let Ok(number) = text.parse::<i64>() else {
        return crate::duration(text)
            .map_err(|remedy| (format!("{text:?} is no duration"), remedy.to_owned()));
    };
    let number = u64::try_from(number)
        .map_err(|_| (format!("{number} is out of range"), "a duration can't be negative".to_owned()))?;
    match unit {
        Unit::Seconds => Ok(Duration::from_secs(number)),
        Unit::Millis => Ok(Duration::from_millis(number)),
        Unit::Unsaid => Err((format!("{number} has no unit"), format!("write {number}ms or {number}s"))),
    }
}
