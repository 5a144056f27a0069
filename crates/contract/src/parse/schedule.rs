//! Parses `[attempts]`, `[retry]` and `[lease]`: at the top for every stage, or overridden key by key in a stage.

use std::collections::BTreeMap;
use std::time::Duration;

use postrider_config::{Item, TableReader, suggestion};

use super::values::{ANY_DURATION, POSITIVE};
use crate::identifier::identifier;
use crate::{
    AttemptCounting, AttemptsRule, ColumnRole, Columns, LeaseBy, LeaseRule, Power, RetryAfter, RetryRule,
    Schedule,
};

#[derive(Default, Clone, Copy)]
pub(super) struct RawAttempts {
    count: Option<AttemptCounting>,
    max: Option<u32>,
    nullable: Option<bool>,
    strict: Option<bool>,
}

impl RawAttempts {
    /// Parses `[attempts]`; without the table no key is set.
    pub fn read(reader: Option<TableReader<'_>>) -> Self {
        let Some(reader) = reader else { return Self::default() };
        let counts = [
            ("retries", AttemptCounting::Retries),
            ("failures", AttemptCounting::Failures),
            ("attempts", AttemptCounting::Attempts),
            ("claims", AttemptCounting::Claims),
        ];
        let found = Self {
            count: reader.get("count").and_then(|item| item.choice(&counts)),
            max: reader.get("max").and_then(|item| item.number(1..=u32::MAX)),
            nullable: reader.get("nullable").and_then(|item| item.boolean()),
            strict: reader.get("strict").and_then(|item| item.boolean()),
        };
        reader.finish();
        found
    }

    /// Fills in the missing keys from `top`, then from the defaults: count failures, at most 5 attempts.
    pub fn over(self, top: Self) -> AttemptsRule {
        AttemptsRule {
            count: self.count.or(top.count).unwrap_or(AttemptCounting::Failures),
            max: self.max.or(top.max).unwrap_or(5),
            nullable: self.nullable.or(top.nullable),
            strict: self.strict.or(top.strict).unwrap_or(false),
        }
    }
}

#[derive(Default, Clone)]
pub(super) struct RawLease {
    by: Option<LeaseBy>,
    duration: Option<Duration>,
    without: Option<Duration>,
    fence: Option<Vec<ColumnRole>>,
    spend: Option<bool>,
    poison: Option<u32>,
}

impl RawLease {
    /// Parses `[lease]`; without the table no key is set.
    pub fn read(reader: Option<TableReader<'_>>) -> Self {
        let Some(reader) = reader else { return Self::default() };
        let found = Self {
            by: reader.get("by").and_then(|item| lease_by(&item)),
            duration: reader.get("for").and_then(|item| item.duration(POSITIVE)),
            without: reader.get("without").and_then(|item| item.duration(POSITIVE)),
            fence: reader.get("fence").map(|item| item.one_or_many().iter().filter_map(role).collect()),
            spend: reader.get("spend").and_then(|item| item.boolean()),
            poison: reader.get("poison").and_then(|item| item.number(1..=1000)),
        };
        reader.finish();
        found
    }

    /// Fills in the missing keys from `top`, then from the defaults: by time, 5 minutes.
    pub fn over(self, top: &Self, columns: &Columns) -> LeaseRule {
        let by = self.by.or(top.by).unwrap_or(LeaseBy::Time);
        let duration = self.duration.or(top.duration).unwrap_or(Duration::from_mins(5));
        LeaseRule {
            by,
            duration,
            duration_without_lease_until: self.without.or(top.without).unwrap_or(duration),
            fence: self.fence.or_else(|| top.fence.clone()).unwrap_or_else(|| default_fence(by, columns)),
            spend: self.spend.or(top.spend).unwrap_or(true),
            poison: self.poison.or(top.poison),
        }
    }
}

/// Parses `lease.by`. Earlier versions accepted `exclusive`, which had no effect: it gets an error message of its own.
fn lease_by(item: &Item<'_>) -> Option<LeaseBy> {
    if item.is("exclusive") {
        let remedy = "write \"time\" with a claimed_at column, or \"due\"; for one worker at a time set single = true in \
                      the lane";
        item.mistake(
            "\"exclusive\" is not supported: a lock alone does not keep a stale worker from settling rows",
            remedy,
        );
        return None;
    }
    item.choice(&[("time", LeaseBy::Time), ("due", LeaseBy::Due)])
}

/// Returns the default fence: `version`, else `owner` and `claimed_at`, else `claimed_at`; never an optional column.
fn default_fence(by: LeaseBy, columns: &Columns) -> Vec<ColumnRole> {
    let sure = |role: ColumnRole| columns.0.get(&role).is_some_and(|column| !column.optional);
    let candidates: [&[ColumnRole]; 3] = match by {
        LeaseBy::Due => [&[ColumnRole::Version], &[ColumnRole::Due], &[]],
        LeaseBy::Time => {
            [&[ColumnRole::Version], &[ColumnRole::Owner, ColumnRole::ClaimedAt], &[ColumnRole::ClaimedAt]]
        }
    };
    let found =
        candidates.into_iter().find(|roles| !roles.is_empty() && roles.iter().all(|role| sure(*role)));
    found.map(<[ColumnRole]>::to_vec).unwrap_or_default()
}

/// Parses the name of a role.
pub(super) fn role(item: &Item<'_>) -> Option<ColumnRole> {
    let text = item.text()?;
    named_role(text, item)
}

pub(super) fn named_role(text: &str, item: &Item<'_>) -> Option<ColumnRole> {
    let found = ColumnRole::from_name(text);
    if found.is_none() {
        let remedy = suggestion(text, ColumnRole::ALL.iter().map(|role| role.name()));
        item.mistake(format!("unknown role `{text}`"), remedy);
    }
    found
}

/// A duration, or `"lease"`: the duration of a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RawCap {
    Is(Duration),
    Lease,
}

impl RawCap {
    fn read(item: &Item<'_>) -> Option<Self> {
        if item.is("lease") {
            return Some(Self::Lease);
        }
        item.duration(POSITIVE).map(Self::Is)
    }
}

/// The keys of one schedule, as far as they are given.
#[derive(Default, Clone)]
struct RawSchedule {
    base: Option<Duration>,
    factor: Option<f64>,
    power: Option<Power>,
    cap: Option<RawCap>,
    jitter: Option<f64>,
    delays: Option<Vec<Duration>>,
    /// Whether `base` or `delays` is given, even with an invalid value, which has then been reported already.
    given: bool,
}

impl RawSchedule {
    fn read(reader: &TableReader<'_>) -> Self {
        let base = reader.get("base");
        let delays = reader.get("delays");
        if let (Some(_), Some(delays)) = (&base, &delays) {
            delays.mistake("cannot be combined with `base`", "remove one of the two");
        }
        Self {
            given: base.is_some() || delays.is_some(),
            base: base.and_then(|item| item.duration(POSITIVE)),
            factor: reader.get("factor").and_then(|item| item.fraction(1.0..=100.0)),
            power: reader
                .get("power")
                .and_then(|item| item.choice(&[("n", Power::N), ("n-1", Power::NMinusOne)])),
            cap: reader.get("cap").and_then(|item| RawCap::read(&item)),
            jitter: reader.get("jitter").and_then(|item| item.fraction(0.0..=1.0)),
            delays: delays.and_then(|item| read_delays(&item)),
        }
    }

    fn or(self, top: &Self) -> Self {
        // A stage with the other kind of schedule does not inherit the numbers of the first kind.
        let own_kind = self.given;
        let base = if own_kind { self.base } else { top.base };
        let delays = if own_kind { self.delays } else { top.delays.clone() };
        Self {
            given: self.given || top.given,
            base,
            delays,
            factor: self.factor.or(top.factor),
            power: self.power.or(top.power),
            cap: self.cap.or(top.cap),
            jitter: self.jitter.or(top.jitter),
        }
    }

    fn finished(self, lease: Duration) -> Option<Schedule> {
        let jitter = self.jitter.unwrap_or(0.0);
        let cap = self.cap.map(|cap| match cap {
            RawCap::Is(cap) => cap,
            RawCap::Lease => lease,
        });
        if let Some(delays) = self.delays {
            return Some(Schedule::Delays { delays, cap, jitter });
        }
        Some(Schedule::Exponential {
            base: self.base?,
            factor: self.factor.unwrap_or(2.0),
            power: self.power.unwrap_or(Power::NMinusOne),
            cap: cap.unwrap_or(Duration::from_hours(1)),
            jitter,
        })
    }
}

fn read_delays(item: &Item<'_>) -> Option<Vec<Duration>> {
    let items = item.list()?;
    if items.is_empty() {
        item.mistake("is empty", "list at least one delay, such as [\"30s\"]");
        return None;
    }
    items.iter().map(|item| item.duration(ANY_DURATION)).collect()
}

#[derive(Default, Clone)]
pub(super) struct RawRetry {
    schedule: RawSchedule,
    column: Option<String>,
    default: Option<String>,
    named: Option<BTreeMap<String, Schedule>>,
    retry_after: Option<RetryAfter>,
    path: Option<String>,
}

impl RawRetry {
    /// Parses `[retry]`; without the table no key is set.
    pub fn read(reader: Option<TableReader<'_>>) -> Self {
        let Some(reader) = reader else { return Self::default() };
        let named = reader.table("named").map(|named| named.all().filter_map(read_named).collect());
        let column = reader.get("column").and_then(|item| {
            let text = item.text()?;
            identifier(text).map_err(|why| item.mistake(why, "")).ok()?;
            Some(text.to_owned())
        });
        let default = reader.get("default").and_then(|item| {
            let text = item.text()?;
            let known: Vec<&str> = named.iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
            if !known.contains(&text) {
                item.mistake(format!("no schedule is named `{text}`"), suggestion(text, known));
            }
            Some(text.to_owned())
        });
        let choices =
            [("minimum", RetryAfter::Minimum), ("exact", RetryAfter::Exact), ("ignore", RetryAfter::Ignore)];
        let retry_after = reader.get("retry_after").and_then(|item| item.choice(&choices));
        let schedule = RawSchedule::read(&reader);
        reader.finish();
        Self { schedule, column, default, named, retry_after, path: Some(reader.path) }
    }

    /// Fills in the missing keys from `top`, then from the defaults. `lease` is the duration of the stage's claims.
    pub fn over(self, top: &Self, reader: &TableReader<'_>, lease: Duration) -> RetryRule {
        let named = self.named.or_else(|| top.named.clone()).unwrap_or_default();
        let default = self.default.or_else(|| top.default.clone());
        let by_name = default.as_ref().and_then(|name| named.get(name)).cloned();
        let merged = self.schedule.or(&top.schedule);
        let is_given = merged.given || default.is_some();
        let schedule = by_name.or_else(|| merged.finished(lease)).unwrap_or_else(|| {
            if !is_given {
                let path = self.path.or_else(|| top.path.clone()).unwrap_or_else(|| "retry".to_owned());
                reader.report.add_for_key(
                    &path,
                    "has no schedule",
                    "add base = \"30s\", `delays`, or `named` with `default`",
                );
            }
            Schedule::Delays { delays: vec![Duration::ZERO], cap: None, jitter: 0.0 }
        });
        let retry_after = self.retry_after.or(top.retry_after).unwrap_or_default();
        RetryRule { schedule, column: self.column.or_else(|| top.column.clone()), named, retry_after }
    }
}

fn read_named((name, item): (&str, Item<'_>)) -> Option<(String, Schedule)> {
    let reader = item.table()?;
    let raw = RawSchedule::read(&reader);
    let is_given = raw.given;
    if raw.cap == Some(RawCap::Lease) {
        item.mistake(
            "cap = \"lease\" is not allowed in a named schedule",
            "write a duration, such as cap = \"1h\"",
        );
    }
    let schedule = raw.finished(Duration::from_hours(1));
    reader.finish();
    if schedule.is_none() && !is_given {
        item.mistake("has no schedule", "add `base` or `delays`");
    }
    Some((name.to_owned(), schedule?))
}
