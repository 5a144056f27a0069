//! Per-second rates and the last hour, from the engine's counters.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use postrider_engine::LaneStatus;
use tokio::time::Instant;

/// Time over which a rate is averaged.
const WINDOW: Duration = Duration::from_secs(10);
/// Length of one step of the history.
pub const STEP: Duration = Duration::from_secs(30);
/// Steps of the history: an hour.
const POINTS: usize = 120;

/// Delivered and failed rows.
type Pair = (u64, u64);

/// The delivery rates of every lane, now and over the last hour.
#[derive(Debug, Default)]
pub struct Rates(BTreeMap<String, Lane>);

#[derive(Debug, Default)]
struct Lane {
    recent: VecDeque<(Instant, Pair)>,
    step: Option<(Instant, Pair)>,
    history: VecDeque<(f64, f64)>,
}

impl Rates {
    /// Adds the lanes' current counters.
    pub fn record(&mut self, now: Instant, lanes: &[LaneStatus]) {
        for lane in lanes {
            self.0.entry(lane.lane.clone()).or_default().record(now, (lane.delivered, lane.failed));
        }
    }

    /// Returns delivered and failed rows per second, over the last ten seconds.
    pub fn now(&self, lane: &str) -> (f64, f64) {
        let recent = self.0.get(lane).map(|lane| &lane.recent);
        let ends = recent.and_then(|recent| Some((recent.front()?, recent.back()?)));
        ends.map_or((0.0, 0.0), |((from, before), (to, after))| {
            rate(to.duration_since(*from), *before, *after)
        })
    }

    /// Returns the same for every [`STEP`] of the last hour, oldest first.
    pub fn history(&self, lane: &str) -> (Vec<f64>, Vec<f64>) {
        self.0.get(lane).map(|lane| lane.history.iter().copied().unzip()).unwrap_or_default()
    }
}

impl Lane {
    fn record(&mut self, now: Instant, pair: Pair) {
        self.recent.push_back((now, pair));
        while self.recent.front().is_some_and(|(at, _)| now.duration_since(*at) > WINDOW) {
            self.recent.pop_front();
        }
        let (since, before) = *self.step.get_or_insert((now, pair));
        let passed = now.duration_since(since);
        if passed < STEP {
            return;
        }
        self.history.push_back(rate(passed, before, pair));
        if self.history.len() > POINTS {
            self.history.pop_front();
        }
        self.step = Some((now, pair));
    }
}

fn rate(passed: Duration, before: Pair, after: Pair) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "rows a second for people")]
    let of = |before: u64, after: u64| match passed.as_secs_f64() {
        0.0 => 0.0,
        seconds => (after.saturating_sub(before) as f64 / seconds * 100.0).round() / 100.0,
    };
    (of(before.0, after.0), of(before.1, after.1))
}
