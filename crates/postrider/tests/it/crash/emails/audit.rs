//! Compares the table with the mails that the relay accepted and the callbacks that the application received.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::journal::{self, Entry};

/// The lease in seconds.
pub const LEASE: i64 = 6;
/// Seconds that a sweep, a restart and a busy machine may add to a lease.
const GRACE: i64 = 90;

/// The states in the order in which a mail can first reach them.
pub const STEPS: [&str; 11] = [
    "ACCEPTED",
    "INTAKING",
    "INVALID",
    "READY",
    "PROCESSING",
    "SENT",
    "CALLING-SENT-CALLBACK",
    "SENT-ACKNOWLEDGED",
    "FAILED",
    "CALLING-FAILED-CALLBACK",
    "FAILED-ACKNOWLEDGED",
];

/// Every move that rule E1 allows.
const MOVES: [(&str, &str); 14] = [
    ("ACCEPTED", "INTAKING"),
    ("INTAKING", "READY"),
    ("INTAKING", "INVALID"),
    ("INTAKING", "ACCEPTED"),
    ("READY", "PROCESSING"),
    ("PROCESSING", "SENT"),
    ("PROCESSING", "FAILED"),
    ("PROCESSING", "READY"),
    ("SENT", "CALLING-SENT-CALLBACK"),
    ("CALLING-SENT-CALLBACK", "SENT-ACKNOWLEDGED"),
    ("CALLING-SENT-CALLBACK", "SENT"),
    ("FAILED", "CALLING-FAILED-CALLBACK"),
    ("CALLING-FAILED-CALLBACK", "FAILED-ACKNOWLEDGED"),
    ("CALLING-FAILED-CALLBACK", "FAILED"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub state: String,
    /// A whole second in SQL, a microsecond in records; compared only within one mail.
    pub second: Option<i64>,
}

#[derive(Debug, Clone, Default)]
pub struct History {
    pub latest: String,
    pub steps: Vec<Step>,
    /// Whether the history keeps steps back as well, as it does in SQL.
    pub every_move: bool,
}

pub struct Evidence {
    pub histories: BTreeMap<String, History>,
    pub mails: Vec<Entry>,
    pub calls: Vec<serde_json::Value>,
}

#[derive(Default)]
pub struct Findings {
    pub violations: Vec<String>,
    pub steps_back: usize,
    /// Copies beyond the first.
    pub copies: usize,
    pub calls: usize,
}

fn id(number: u32) -> String {
    format!("mail-{number:06}")
}

fn subject(number: u32) -> String {
    format!("Notice {number:06}")
}

/// Whether the relay refuses the mail permanently: one in five.
fn is_refused(number: u32) -> bool {
    number.is_multiple_of(5)
}

/// Writes the payloads; returns id and file of each mail.
pub fn write_payloads(base: &Path, rows: u32) -> Vec<(String, String)> {
    let folder = base.join("payloads");
    std::fs::create_dir_all(&folder).expect("a folder");
    let write = |number: u32| {
        let to = if is_refused(number) { "rcpt-550" } else { "slow-0.04" };
        let payload = serde_json::json!({
            "id": id(number), "from": "app@example.org", "to": format!("{to}-{number}@example.net"),
            "subject": subject(number), "body_text": format!("Number {number}."),
        });
        let path = folder.join(format!("{}.json", id(number)));
        std::fs::write(&path, payload.to_string()).expect("a payload");
        (id(number), path.display().to_string())
    };
    (0..rows).map(write).collect()
}

pub fn compare(evidence: &Evidence, rows: u32) -> Findings {
    let mails = journal::by_subject(&evidence.mails);
    let mut findings = Findings::default();
    if evidence.histories.len() != rows as usize {
        findings
            .violations
            .push(format!("{rows} mails were accepted, {} are there", evidence.histories.len()));
    }
    for number in 0..rows {
        let Some(history) = evidence.histories.get(&id(number)) else {
            findings.violations.push(format!("{} is gone", id(number)));
            continue;
        };
        let copies = mails.get(subject(number).as_str()).map_or(0, Vec::len);
        let about = |call: &&serde_json::Value| call["id"] == id(number).as_str();
        let calls: Vec<&str> =
            evidence.calls.iter().filter(about).filter_map(|call| call["status"].as_str()).collect();
        findings.mail(&id(number), history, is_refused(number), copies, &calls);
    }
    findings
}

impl Findings {
    fn mail(&mut self, id: &str, history: &History, refused: bool, copies: usize, calls: &[&str]) {
        let (end, status) =
            if refused { ("FAILED-ACKNOWLEDGED", "FAILED") } else { ("SENT-ACKNOWLEDGED", "SENT") };
        let steps = &history.steps;
        let mut require = |holds: bool, what: &str| {
            if !holds {
                let steps: Vec<&str> = steps.iter().map(|step| step.state.as_str()).collect();
                self.violations.push(format!(
                    "{id}: {what} ({}, {copies} copies, calls {calls:?}, history {steps:?})",
                    history.latest
                ));
            }
        };
        require(history.latest == end, "it is not where it should be");
        require((copies == 0) == refused, "the relay has it, or has it not");
        require(!calls.is_empty(), "the application got no callback");
        require(calls.iter().all(|call| *call == status), "the application got a wrong status");
        require(steps.first().is_some_and(|step| step.state == STEPS[0]), "its history has no beginning");
        require(steps.last().is_some_and(|step| step.state == history.latest), "its history has no end");
        let pairs = || steps.iter().zip(steps.iter().skip(1));
        let allowed = |(from, to): (&Step, &Step)| {
            MOVES.contains(&(from.state.as_str(), to.state.as_str()))
                && from.second.zip(to.second).is_none_or(|(from, to)| from <= to)
        };
        require(pairs().all(allowed), "its history has a gap, or is out of order");
        let held = |(from, to): (&Step, &Step)| {
            let claimed = from.state.ends_with("ING") || from.state.starts_with("CALLING");
            let long = from.second.zip(to.second).is_some_and(|(from, to)| to - from > LEASE + GRACE);
            claimed && long && history.every_move
        };
        require(!pairs().any(held), "it was stuck beyond its lease");
        let place = |step: &Step| STEPS.iter().position(|known| *known == step.state);
        self.steps_back += pairs().filter(|(from, to)| place(from) > place(to)).count();
        self.copies += copies.saturating_sub(1);
        self.calls += calls.len().saturating_sub(1);
    }
}

/// The audit must find the faults that it exists for.
#[test]
fn the_audit_finds_lost_mails_gaps_and_silence() {
    let steps = |states: &[&str]| {
        let step = |(second, state): (i64, &&str)| Step { state: (*state).to_owned(), second: Some(second) };
        (0..).zip(states).map(step).collect::<Vec<Step>>()
    };
    let whole = [&STEPS[..2], &STEPS[3..8]].concat();
    let violations = |steps: Vec<Step>, copies: usize, calls: &[&str]| {
        let latest = steps.last().unwrap().state.clone();
        let mut findings = Findings::default();
        findings.mail("a", &History { latest, steps, every_move: true }, false, copies, calls);
        findings.violations.join("\n")
    };
    assert_eq!(violations(steps(&whole), 1, &["SENT"]), "");
    assert!(violations(steps(&whole), 0, &["SENT"]).contains("relay"));
    assert!(violations(steps(&whole), 1, &[]).contains("no callback"));
    assert!(violations(steps(&whole), 1, &["FAILED"]).contains("wrong status"));
    assert!(violations(steps(&whole[..5]), 1, &["SENT"]).contains("not where it should be"));
    let gap: Vec<&str> = whole.iter().copied().filter(|state| *state != "PROCESSING").collect();
    assert!(violations(steps(&gap), 1, &["SENT"]).contains("gap"));
    let mut stuck = steps(&whole);
    stuck.iter_mut().skip(2).for_each(|step| step.second = step.second.map(|second| second + 1000));
    assert!(violations(stuck, 1, &["SENT"]).contains("stuck"));
}
