//! Parses `[lane]` and `[metrics]`: the defaults of a lane that runs this contract, and its metric aliases.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::reader::Scope;
use crate::{LaneSettings, Metric};

pub(super) fn lane(scope: &Scope<'_>) -> LaneSettings {
    let mut lane = LaneSettings::default();
    let Some(scope) = scope.scope("lane") else { return lane };
    lane.poll = duration(&scope, "poll", LaneSettings::POLLS);
    lane.timeout = duration(&scope, "timeout", LaneSettings::TIMEOUTS);
    lane.concurrency = scope.get("concurrency").and_then(|item| item.number(LaneSettings::CONCURRENCIES));
    scope.finish();
    lane
}

fn duration(scope: &Scope<'_>, key: &'static str, range: RangeInclusive<Duration>) -> Option<Duration> {
    let item = scope.get(key)?;
    let found = item.duration()?;
    if !range.contains(&found) {
        let allowed = format!("allowed: {:?} to {:?}", range.start(), range.end());
        item.wrong(format!("{found:?} is out of range"), allowed);
    }
    Some(found)
}

pub(super) fn metrics(scope: &Scope<'_>) -> BTreeMap<Metric, String> {
    let mut names = BTreeMap::new();
    let Some(scope) = scope.scope("metrics") else { return names };
    for metric in Metric::ALL {
        let Some(item) = scope.get(metric.key()) else { continue };
        let Some(name) = item.text() else { continue };
        let end = metric.ending();
        if is_name(name) && name.ends_with(end) {
            names.insert(metric, name.to_owned());
        } else {
            item.wrong(
                format!("{name:?} is no name for this figure"),
                format!("small letters, digits and _, and {end} at the end"),
            );
        }
    }
    scope.finish();
    names
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}
