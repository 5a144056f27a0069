//! Parses `[lane]` and `[metrics]`: the defaults of a lane that runs this contract, and its metric aliases.

use std::collections::BTreeMap;

use postrider_config::TableReader;

use crate::{LaneDefaults, Metric};

pub(super) fn lane(scope: &TableReader<'_>) -> LaneDefaults {
    let mut lane = LaneDefaults::default();
    let Some(scope) = scope.scope("lane") else { return lane };
    lane.poll = scope.get("poll").and_then(|item| item.duration(LaneDefaults::POLLS));
    lane.timeout = scope.get("timeout").and_then(|item| item.duration(LaneDefaults::TIMEOUTS));
    lane.concurrency = scope.get("concurrency").and_then(|item| item.number(LaneDefaults::CONCURRENCIES));
    scope.finish();
    lane
}

pub(super) fn metrics(scope: &TableReader<'_>) -> BTreeMap<Metric, String> {
    let mut names = BTreeMap::new();
    let Some(scope) = scope.scope("metrics") else { return names };
    for metric in Metric::ALL {
        let Some(item) = scope.get(metric.key()) else { continue };
        let Some(name) = item.text() else { continue };
        let end = metric.ending();
        if is_name(name) && name.ends_with(end) {
            names.insert(metric, name.to_owned());
        } else {
            item.mistake(
                format!("invalid metric name {name:?}"),
                format!("use lowercase letters, digits and `_`, and end it with `{end}`"),
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
