//! The parameters of a run: its size, and the seed of its random choices.

use std::str::FromStr;
use std::time::Duration;

use rand::SeedableRng as _;
use rand::rngs::StdRng;

use crate::support::database::Kind;

#[derive(Debug, Clone)]
pub struct CrashParameters {
    pub kind: Kind,
    pub seed: u64,
    pub kills: u32,
    pub rows: u32,
}

impl CrashParameters {
    pub fn of_mail(kind: Kind) -> Self {
        let kills = variable("POSTRIDER_CRASH_KILLS").unwrap_or(8).max(3);
        Self { kind, seed: seed(), kills, rows: variable("POSTRIDER_CRASH_ROWS").unwrap_or(kills * 150) }
    }

    /// Kills two of four workers, with `share` of the rows of the largest run, as not every combination needs them all.
    pub fn of_outbox(kind: Kind, share: u32) -> Self {
        let rows = variable("POSTRIDER_CRASH_ROWS").unwrap_or(2000);
        Self { kind, seed: seed(), kills: 2, rows: (rows / share).max(400) }
    }

    pub fn of_notify() -> Self {
        let kills = variable("POSTRIDER_CRASH_KILLS").unwrap_or(2);
        Self {
            kind: Kind::Sqlite,
            seed: seed(),
            kills,
            rows: variable("POSTRIDER_CRASH_ROWS").unwrap_or(300),
        }
    }

    /// A plan with `usual` rows in a short run, and `most` rows at most in a long one.
    pub fn of_emails(usual: u32, most: u32) -> Self {
        let kills = variable("POSTRIDER_CRASH_KILLS").unwrap_or(3);
        let rows = variable("POSTRIDER_CRASH_ROWS").unwrap_or(usual).min(most);
        Self { kind: Kind::MariaDb, seed: seed(), kills, rows }
    }

    /// A random generator that depends only on the seed and on the caller.
    pub fn rng(&self, whose: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed ^ whose)
    }

    /// Time limit for the rows to reach a final state after the kills. Rows that were in flight at two crashes are
    /// delivered one at a time, some seconds each.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(360 + u64::from(self.rows / 50))
    }
}

fn seed() -> u64 {
    variable("POSTRIDER_CRASH_SEED").unwrap_or_else(rand::random)
}

fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, which is not a number")))
}
