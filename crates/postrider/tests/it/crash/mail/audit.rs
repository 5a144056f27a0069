//! Compares the table with the journal of mails that the relay accepted.

use std::collections::BTreeSet;

use super::mails::{key, subject};
use super::setup::MailSetup;
use crate::support::journal::{self, Entry};

pub struct Findings {
    /// Violations; empty if all is well.
    pub violations: Vec<String>,
    /// Leases that ran out, as counted by their rows.
    pub reclaimed: u64,
    /// Deliveries beyond the first of a row.
    pub duplicates: u64,
}

const COLUMNS: [&str; 8] = [
    "idempotency_key",
    "status",
    "retry_count",
    "last_error",
    "claimed_by",
    "lease_until",
    "last_attempt_at",
    "sent_at",
];

pub async fn compare(setup: &MailSetup, rows: u32) -> Findings {
    let columns: Vec<String> = COLUMNS.iter().map(|column| setup.base.sql.text(column)).collect();
    let query = format!("SELECT {} FROM mail_outbox ORDER BY idempotency_key", columns.join(", "));
    let table = setup.base.sql.rows(&query).await.expect("the table can be read");
    let entries = journal::read(&setup.relay.journal());
    let accepted = journal::by_subject(&entries);

    let mut findings = Findings { violations: Vec::new(), reclaimed: 0, duplicates: 0 };
    let keys: Vec<&str> = table.iter().filter_map(|row| row[0].as_deref()).collect();
    let written: Vec<String> = (0..rows).map(key).collect();
    if keys != written {
        findings.violations.push(format!("{rows} rows were written, the table has {}", keys.len()));
    }
    let none = Vec::new();
    for (number, row) in (0..rows).zip(&table) {
        let mails = accepted.get(subject(number).as_str()).unwrap_or(&none);
        findings.row(row, mails);
    }
    findings.unknown_mails(&entries, rows);
    findings
}

impl Findings {
    /// Checks one row: it is sent, its counters are right, and its claim columns are cleared.
    fn row(&mut self, row: &[Option<String>], mails: &[&Entry]) {
        let [key, status, retries, error, owner, lease, attempted, sent] = row else {
            panic!("{} columns were asked for", COLUMNS.len());
        };
        let key = key.as_deref().unwrap_or("?");
        let retries: u64 = retries.as_deref().and_then(|count| count.parse().ok()).unwrap_or(0);
        let deliveries = mails.len() as u64;
        self.reclaimed += retries;
        self.duplicates += deliveries.saturating_sub(1);
        let mut require = |holds: bool, what: &str| {
            if !holds {
                let error = error.as_deref().unwrap_or("NULL");
                self.violations.push(format!(
                    "{key}: {what} (status {}, retry_count {retries}, {deliveries} deliveries, last_error {error})",
                    status.as_deref().unwrap_or("NULL")
                ));
            }
        };
        require(status.as_deref() == Some("sent"), "the relay takes every mail, so it must be sent");
        require(deliveries >= 1, "the relay never saw it: lost");
        // A claim ends as sent (once per row), or its lease runs out, which is counted; so this holds for every row.
        require(deliveries <= retries + 1, "delivered again though no lease was cut");
        require(error.is_none(), "a sent row keeps no error");
        require(owner.is_none() && lease.is_none(), "a sent row has no owner and no lease");
        require(attempted.is_some() && sent.is_some(), "a sent row says when");
        let ids: BTreeSet<&str> = mails.iter().map(|mail| mail.message_id.as_str()).collect();
        require(ids.len() <= 1, "its copies differ in Message-ID, so no receiver can drop one");
    }

    /// Checks that all mails belong to rows, and that no two rows share a Message-ID.
    fn unknown_mails(&mut self, entries: &[Entry], rows: u32) {
        let subjects: BTreeSet<String> = (0..rows).map(subject).collect();
        for entry in entries.iter().filter(|entry| !subjects.contains(&entry.subject)) {
            self.violations.push(format!("unknown mail `{}` to {:?}", entry.subject, entry.to));
        }
        let ids: BTreeSet<&str> = entries.iter().map(|entry| entry.message_id.as_str()).collect();
        let mails: BTreeSet<&str> = entries.iter().map(|entry| entry.subject.as_str()).collect();
        if ids.len() != mails.len() {
            self.violations.push(format!("{} mails, but {} Message-IDs", mails.len(), ids.len()));
        }
    }
}

/// The audit must find the faults that it exists for.
#[test]
fn the_audit_finds_lost_rows_uncounted_copies_and_leases_left_behind() {
    let mail = Entry { to: Vec::new(), message_id: "<a@b>".into(), subject: subject(0) };
    let other = Entry { message_id: "<c@d>".into(), ..mail.clone() };
    let row = |status: &str, retries: u32, owner: Option<&str>| {
        let (retries, owner) = (Some(retries.to_string()), owner.map(str::to_owned));
        let at = Some("then".to_owned());
        vec![Some(key(0)), Some(status.to_owned()), retries, None, owner, None, at.clone(), at]
    };
    let violations = |row: &[Option<String>], mails: &[&Entry]| {
        let mut findings = Findings { violations: Vec::new(), reclaimed: 0, duplicates: 0 };
        findings.row(row, mails);
        findings.violations.join("\n")
    };
    assert_eq!(violations(&row("sent", 0, None), &[&mail]), "");
    assert_eq!(violations(&row("sent", 1, None), &[&mail, &mail]), "", "a cut lease may bring a copy");
    assert!(violations(&row("sent", 0, None), &[&mail, &mail]).contains("no lease was cut"));
    assert!(violations(&row("sent", 1, None), &[&mail, &other]).contains("differ in Message-ID"));
    assert!(violations(&row("sent", 3, None), &[]).contains("lost"));
    assert!(violations(&row("dispatching", 0, None), &[&mail]).contains("must be sent"));
    assert!(violations(&row("sent", 0, Some("worker")), &[&mail]).contains("no owner"));
}
