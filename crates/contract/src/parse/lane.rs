//! Parses `[lane]` and `[metrics]`: the defaults of a lane that runs this contract, and its metric aliases.

use std::collections::BTreeMap;

use postrider_config::TableReader;

use crate::{LaneDefaults, Metric};

pub(super) fn lane(reader: &TableReader<'_>) -> LaneDefaults {
    let mut lane = LaneDefaults::default();
    let Some(reader) = reader.table("lane") else { return lane };
    lane.poll = reader.get("poll").and_then(|item| item.duration(LaneDefaults::POLLS));
    lane.timeout = reader.get("timeout").and_then(|item| item.duration(LaneDefaults::TIMEOUTS));
    lane.concurrency = reader.get("concurrency").and_then(|item| item.number(LaneDefaults::CONCURRENCIES));
    reader.finish();
    lane
}

pub(super) fn metrics(reader: &TableReader<'_>) -> BTreeMap<Metric, String> {
    let mut names = BTreeMap::new();
    let Some(reader) = reader.table("metrics") else { return names };
    for metric in Metric::ALL {
        let Some(item) = reader.get(metric.key()) else { continue };
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
    reader.finish();
    names
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}
