//! Prints the results: one aligned line per case for people, or one JSON object per line for programs.

use std::io::IsTerminal as _;
use std::sync::OnceLock;

use serde::Serialize;
use tokio::time::Instant;

/// The time of the first message.
static START: OnceLock<Instant> = OnceLock::new();

/// One figure and its baseline of the same run.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    pub bench: &'static str,
    pub case: String,
    pub value: f64,
    pub unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

impl Figure {
    /// Creates a figure without a baseline.
    pub fn new(bench: &'static str, case: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { bench, case: case.into(), value: round(value), unit, ratio_to: None, ratio: None }
    }

    /// Adds another figure of the same run as the baseline.
    pub fn compared_with(mut self, name: &str, other: f64) -> Self {
        self.ratio_to = Some(name.to_owned());
        self.ratio = Some(round(self.value / other));
        self
    }
}

/// Rounds to three decimals, as a shared machine gives no higher precision.
fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Prints figures as they are measured.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    pub json: bool,
}

impl Report {
    /// Prints one figure.
    #[allow(clippy::print_stdout)] // figures are this program's data
    pub fn print(self, figure: &Figure) {
        if self.json {
            println!("{}", serde_json::to_string(figure).expect("a figure is plain data"));
            return;
        }
        let ratio = match (&figure.ratio_to, figure.ratio) {
            (Some(to), Some(ratio)) => format!("{ratio:>8.2} of {to}"),
            _ => String::new(),
        };
        println!("{:<8} {:<52} {:>12.1} {:<9}{ratio}", figure.bench, figure.case, figure.value, figure.unit);
    }

    /// Prints a progress message to stderr, with the time since the first one.
    #[allow(clippy::print_stderr)] // progress does not belong to the data
    pub fn progress(text: &str) {
        let json = std::env::args().any(|word| word == "--json");
        if json || !std::io::stderr().is_terminal() {
            return;
        }
        let seconds = START.get_or_init(Instant::now).elapsed().as_secs();
        eprintln!("  … {:>3}:{:02}  {text}", seconds / 60, seconds % 60);
    }
}

/// The median of some figures.
pub fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The value below which the given share of the figures lies.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index of a few thousand
pub fn percentile(figures: &mut [f64], share: f64) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[((figures.len() - 1) as f64 * share).round() as usize]
}
