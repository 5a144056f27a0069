//! Compares the table with the records that a consumer received.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::broker::Protocol;
use super::producer::{key, payload};
use super::setup::OutboxSetup;

#[derive(Debug, Default)]
pub struct Findings {
    /// Violations; empty if all is well.
    pub violations: Vec<String>,
    /// Attempts beyond the first: expired leases, and records that the broker did not acknowledge.
    pub spent: u64,
    /// Copies beyond the first of a row, each by a separate attempt.
    pub copies: u64,
    /// Copies by the same attempt.
    pub echoes: u64,
}

/// One record as the consumer received it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Arrival {
    key: String,
    number: u32,
    attempt: u64,
}

const COLUMNS: [&str; 5] = ["idempotency_key", "status", "retry_count", "last_error", "processed_at"];

pub async fn compare(setup: &OutboxSetup, rows: u32) -> Findings {
    let columns: Vec<String> = COLUMNS.iter().map(|column| setup.sql.text(column)).collect();
    let query = format!("SELECT {} FROM outbox ORDER BY idempotency_key", columns.join(", "));
    let table = setup.sql.rows(&query).await.expect("the table can be read");
    let mut findings = Findings::default();
    let arrivals = findings.arrivals(&setup.broker.read(), rows);
    if table.len() != rows as usize {
        findings.violations.push(format!("{rows} rows were written, the table has {}", table.len()));
    }
    let mut attempts: HashMap<u32, Vec<u64>> = HashMap::new();
    for arrival in &arrivals {
        attempts.entry(arrival.number).or_default().push(arrival.attempt);
    }
    // Records without an acknowledgement when the broker stops are published again by the same attempt. Only NATS drops
    // the second copy; Kafka's mock cluster does not remember what an idempotent producer has sent.
    let echoes = setup.broker.protocol != Protocol::Nats;
    for (number, row) in (0..rows).zip(&table) {
        findings.row(number, row, attempts.get(&number).map_or(&[], Vec::as_slice), echoes);
    }
    findings.order(&arrivals);
    findings
}

impl Findings {
    /// Parses the consumer's output: every record equals one that was written, byte for byte.
    fn arrivals(&mut self, text: &str, rows: u32) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        for line in text.lines() {
            let record: serde_json::Value = serde_json::from_str(line).expect("the client prints JSON");
            let body = record["payload"].as_str().unwrap_or_default();
            let number = serde_json::from_str::<serde_json::Value>(body)
                .ok()
                .and_then(|body| u32::try_from(body["number"].as_u64()?).ok())
                .filter(|number| *number < rows && payload(*number) == body && record["key"] == key(*number));
            match number {
                Some(number) => {
                    let attempt = record["attempt"].as_u64().unwrap_or(0);
                    arrivals.push(Arrival { key: key(number), number, attempt });
                }
                None => self.violations.push(format!("unknown record {record}")),
            }
        }
        arrivals
    }

    /// Checks one row: it is delivered, and each of its copies belongs to an attempt that the row has counted.
    fn row(&mut self, number: u32, row: &[Option<String>], attempts: &[u64], may_echo: bool) {
        let [_, status, retries, error, processed] = row else {
            panic!("{} columns were asked for", COLUMNS.len());
        };
        let retries: u64 = retries.as_deref().and_then(|count| count.parse().ok()).unwrap_or(0);
        let different: HashSet<u64> = attempts.iter().copied().collect();
        let echoes = (attempts.len() - different.len()) as u64;
        self.spent += retries;
        self.echoes += echoes;
        self.copies += (different.len() as u64).saturating_sub(1);
        let mut require = |holds: bool, what: &str| {
            if !holds {
                self.violations.push(format!(
                    "row {number}: {what} (status {}, retry_count {retries}, arrived by attempts {attempts:?}, last_error {})",
                    status.as_deref().unwrap_or("NULL"),
                    error.as_deref().unwrap_or("NULL")
                ));
            }
        };
        require(
            status.as_deref() == Some("DELIVERED"),
            "the broker takes every record, so it must be delivered",
        );
        require(!attempts.is_empty(), "the consumer never got it: lost");
        require(may_echo || echoes == 0, "one attempt brought two copies");
        require(
            different.iter().all(|attempt| (1..=retries + 1).contains(attempt)),
            "a copy came from an attempt that the row has not counted",
        );
        require(error.is_none() && processed.is_some(), "a delivered row says when, and keeps no error");
    }

    /// Checks that the first copies of a key's records are in the order in which they were written.
    fn order(&mut self, arrivals: &[Arrival]) {
        let mut seen = HashSet::new();
        let mut latest: BTreeMap<&str, u32> = BTreeMap::new();
        for arrival in arrivals.iter().filter(|arrival| seen.insert(arrival.number)) {
            let before = latest.insert(&arrival.key, arrival.number);
            if let Some(before) = before.filter(|before| *before > arrival.number) {
                let Arrival { key, number, attempt } = arrival;
                self.violations
                    .push(format!("{key}: {number} (attempt {attempt}) first came after {before}"));
            }
        }
    }
}

/// The audit must find the faults that it exists for.
#[test]
fn the_audit_finds_lost_rows_uncounted_copies_and_broken_order() {
    let row = |status: &str, retries: u32| {
        let then = Some("then".to_owned());
        vec![Some("event".to_owned()), Some(status.to_owned()), Some(retries.to_string()), None, then]
    };
    let of_row = |row: &[Option<String>], attempts: &[u64], may_echo: bool| {
        let mut findings = Findings::default();
        findings.row(0, row, attempts, may_echo);
        findings.violations.join("\n")
    };
    assert_eq!(of_row(&row("DELIVERED", 0), &[1], false), "");
    assert_eq!(of_row(&row("DELIVERED", 1), &[1, 2], false), "", "a cut lease may bring a copy");
    assert_eq!(of_row(&row("DELIVERED", 1), &[1], false), "", "a broker may drop the copy");
    assert_eq!(of_row(&row("DELIVERED", 0), &[1, 1], true), "");
    assert!(of_row(&row("DELIVERED", 0), &[1, 1], false).contains("two copies"));
    assert!(of_row(&row("DELIVERED", 0), &[1, 2], false).contains("not counted"));
    assert!(of_row(&row("DELIVERED", 3), &[], false).contains("lost"));
    assert!(of_row(&row("PROCESSING", 0), &[1], false).contains("must be delivered"));

    let order = |numbers: &[u32]| {
        let arrivals: Vec<Arrival> =
            numbers.iter().map(|&number| Arrival { key: "a".into(), number, attempt: 1 }).collect();
        let mut findings = Findings::default();
        findings.order(&arrivals);
        findings.violations.join("\n")
    };
    assert_eq!(order(&[1, 2, 3, 2, 3, 4]), "", "the tail of a cut lease comes again");
    assert!(order(&[1, 3, 2]).contains("2 (attempt 1) first came after 3"));
    let strange = Findings::default().arrivals(r#"{"key": "deal-01", "attempt": 1, "payload": "x"}"#, 9);
    assert_eq!(strange, []);
}
