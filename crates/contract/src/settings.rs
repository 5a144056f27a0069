//! Existing setting names (`DISPATCH_MAX_ATTEMPTS`, `app.outbox.batchSize`) and the contract keys that they set.

use std::ops::RangeInclusive;
use std::time::Duration;

use postrider_config::{Mistake, Node, Place, Report, TableReader, Value, suggestion};

use crate::{Contract, Layer};

/// Every key that a contract's `[settings]` may name. `lane.…` keys belong to the lane that runs the contract.
const TARGETS: [&str; 15] = [
    "table.name",
    "attempts.max",
    "retry.base",
    "retry.factor",
    "retry.cap",
    "retry.jitter",
    "claim.batch",
    "claim.min_age",
    "group.run",
    "lease.for",
    "lease.without",
    "lane.poll",
    "lane.timeout",
    "lane.concurrency",
    "lane.batch",
];

/// The targets that are durations, as well as `retention.STATE`.
const DURATIONS: [&str; 7] =
    ["retry.base", "retry.cap", "claim.min_age", "lease.for", "lease.without", "lane.poll", "lane.timeout"];

pub(crate) fn is_target(key: &str) -> bool {
    TARGETS.contains(&key) || is_retention(key)
}

fn is_retention(key: &str) -> bool {
    key.strip_prefix("retention.").is_some_and(|state| !state.is_empty())
}

/// Returns the remedy for an unknown key.
pub(crate) fn targets(wrong: &str) -> String {
    suggestion(wrong, TARGETS)
}

/// The values of external settings, split into those of the contract and those of the lane.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalSettings {
    /// Values for [`Contract::parse_with`], which checks their types and ranges.
    pub layer: Layer,
    /// Values for the lane.
    pub lane: LaneDefaults,
}

/// Settings of the lane that runs the contract: defaults from `[lane]`, or external settings for `lane.…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneDefaults {
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
    /// under a dotted name it needs a unit. Returns the valid settings and the mistakes in the others, each at the name
    /// of its setting, so that a caller can report every mistake at once.
    pub fn external_settings(
        &self,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> (ExternalSettings, Vec<Mistake>) {
        let empty = || Node::table(Place::new("external settings"));
        let (mut values, mut lane, mut mistakes) = (empty(), empty(), Vec::new());
        for (setting, key) in &self.settings {
            let given = spellings(setting).into_iter().find_map(|name| Some((lookup(&name)?, name)));
            let Some((text, name)) = given else { continue };
            let (place, text) = (Place::new(name), text.trim());
            let is_duration = DURATIONS.contains(&key.as_str()) || is_retention(key);
            let text = if is_duration { with_unit(setting, text) } else { Ok(text.to_owned()) };
            match (text, key.strip_prefix("lane.")) {
                (Ok(text), Some(key)) => lane.set_at(&[key], &place, Value::Untyped(text)),
                (Ok(text), None) => {
                    let path: Vec<&str> = key.splitn(2, '.').collect();
                    values.set_at(&path, &place, Value::Untyped(text));
                }
                (Err((what, remedy)), _) => mistakes.push(Mistake { place, key: key.clone(), what, remedy }),
            }
        }
        let report = Report::new(&lane);
        let lane = LaneDefaults::read(&TableReader::new(&report, "lane".to_owned(), &lane));
        mistakes.extend(report.finish().err().into_iter().flat_map(postrider_config::Mistakes::into_vec));
        (ExternalSettings { layer: Layer::of("", values), lane }, mistakes)
    }
}

/// Returns the name; for a dotted one also its two spellings as an environment variable.
fn spellings(setting: &str) -> Vec<String> {
    let mut spellings = vec![setting.to_owned()];
    if setting.contains('.') {
        let mut snake = String::new();
        for c in setting.chars() {
            if c.is_uppercase() {
                snake.push('_');
            }
            snake.extend(if matches!(c, '.' | '-') { '_' } else { c }.to_uppercase());
        }
        spellings.push(snake);
        spellings.push(setting.replace(['.', '-'], "_").to_uppercase());
    }
    spellings
}

impl LaneDefaults {
    /// The allowed poll intervals.
    pub const POLLS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_hours(1);
    /// The allowed delivery timeouts.
    pub const TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_hours(1);
    /// The allowed numbers of concurrent deliveries.
    pub const CONCURRENCIES: RangeInclusive<u32> = 1..=10_000;
    /// The allowed batch sizes.
    pub const BATCHES: RangeInclusive<u32> = 1..=1000;

    fn read(reader: &TableReader<'_>) -> Self {
        Self {
            poll: reader.get("poll").and_then(|item| item.duration(Self::POLLS)),
            timeout: reader.get("timeout").and_then(|item| item.duration(Self::TIMEOUTS)),
            concurrency: reader.get("concurrency").and_then(|item| item.number(Self::CONCURRENCIES)),
            batch: reader.get("batch").and_then(|item| item.number(Self::BATCHES)),
        }
    }
}

/// Adds the unit that the setting's name implies to a plain number. The error is what is wrong, and how to fix it.
fn with_unit(setting: &str, text: &str) -> Result<String, (String, String)> {
    let Ok(number) = text.parse::<i64>() else { return Ok(text.to_owned()) };
    let lower = setting.to_lowercase();
    if number < 0 {
        return Err((format!("invalid value `{number}`"), "a duration can't be negative".to_owned()));
    }
    if ["_ms", "millis", "milliseconds"].iter().any(|unit| lower.ends_with(unit)) {
        return Ok(format!("{number}ms"));
    }
    // A dotted name comes from a framework where a plain number may mean milliseconds: reject it rather than be wrong
    // by a factor of a thousand.
    if setting.contains('.') && !lower.ends_with("seconds") {
        let what = format!("invalid value `{number}`: a duration needs a unit");
        return Err((what, format!("write {number}ms or {number}s")));
    }
    Ok(format!("{number}s"))
}
