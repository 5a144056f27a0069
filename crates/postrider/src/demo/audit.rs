//! The audit at the end of the demo: compares plain SQL on the application's connection with the mail server's journal.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::time::Duration;

use super::application::{Application, RowCounts, Written};
use crate::failure::Failure;
use crate::text_table::one_line;

/// Address → the Message-ID of every mail that it received.
type Journal = HashMap<String, Vec<String>>;

/// The numbers of the audit and the rules that they must satisfy.
pub struct Audit {
    counts: RowCounts,
    written: Written,
    held: Vec<String>,
    /// Reason → failed rows.
    reasons: Vec<(String, i64)>,
    retried: i64,
    accepted: usize,
    twice: usize,
    webhooks: usize,
    checks: Vec<Check>,
}

/// A rule that must hold, and whether it does.
struct Check {
    text: &'static str,
    holds: bool,
}

impl Audit {
    /// Reads the numbers from the database and the receivers.
    pub async fn collect(
        application: &Application,
        journal: &Journal,
        webhooks: &(Vec<String>, u64),
        written: Written,
        held: Vec<String>,
    ) -> Result<Self, Failure> {
        let pool = application.pool();
        let counts = application.count_rows().await?;
        let (orders,): (i64,) = sqlx::query_as("SELECT COUNT(*) FROM orders").fetch_one(pool).await?;
        // Cut the address, with which the reason starts, as it differs in each row.
        let reasons = sqlx::query_as(
            "SELECT COALESCE(substr(last_error, instr(last_error, ': ') + 2), '(none)'), COUNT(*) \
             FROM mail_outbox WHERE status = 'failed' GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
        )
        .fetch_all(pool)
        .await?;
        let (retried,): (i64,) =
            sqlx::query_as("SELECT COUNT(*) FROM mail_outbox WHERE status = 'sent' AND retry_count > 0")
                .fetch_one(pool)
                .await?;
        let sent: Vec<(String,)> =
            sqlx::query_as("SELECT to_addresses FROM mail_outbox WHERE status = 'sent'")
                .fetch_all(pool)
                .await?;
        let sent: HashSet<String> = sent.into_iter().map(|(address,)| address).collect();
        let mut checks = check_rows(&counts, u64::try_from(orders).unwrap_or(0), application.rows());
        checks.extend(check_mails(journal, &sent, &written, &held));
        let jobs: Vec<(String, i64)> = sqlx::query_as(
            "SELECT id, (SELECT COUNT(*) FROM dispatch_attempts WHERE job_id = j.id AND status = 'SUCCESS') \
             FROM dispatch_jobs AS j",
        )
        .fetch_all(pool)
        .await?;
        checks.push(check_webhooks(webhooks, &jobs, &written));
        let accepted = journal.values().map(Vec::len).sum();
        let twice = journal.values().filter(|mails| mails.len() > 1).count();
        let webhooks = jobs.len();
        Ok(Self { counts, written, held, reasons, retried, accepted, twice, webhooks, checks })
    }

    /// Prints the summary; an error if a rule does not hold.
    pub fn print(&self, elapsed: Duration) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let (seconds, written, all) = (elapsed.as_secs_f64(), &self.written, self.counts.all());
        writeln!(out, "\nSummary")?;
        writeln!(out, "  {all:>6}  orders, each with its mail, in {} transactions", written.transactions)?;
        writeln!(out, "  {:>6}  orders rolled back on purpose", written.rolled_back.len())?;
        writeln!(out, "  {:>6}  mails sent, {} of them after a retry", self.counts.sent, self.retried)?;
        writeln!(out, "  {:>6}  mails failed, each with its reason:", self.counts.failed)?;
        for (reason, count) in &self.reasons {
            writeln!(out, "          {count:>4}  {}", one_line(reason, 90))?;
        }
        writeln!(out, "  {:>6}  rows were held by the killed worker; all were taken back", self.held.len())?;
        writeln!(out, "  {:>6}  mails arrived, {} of them twice", self.accepted, self.twice)?;
        writeln!(
            out,
            "  {:>6}  webhooks delivered, each with a signature that its receiver checked",
            self.webhooks
        )?;
        writeln!(out, "  {seconds:>6.1}  seconds, {:.0} rows/s, paced by the shop", rate(all, seconds))?;
        writeln!(out, "\nChecked with SQL, and with the receivers' own logs")?;
        for check in &self.checks {
            writeln!(out, "  {}  {}", if check.holds { "ok    " } else { "BROKEN" }, check.text)?;
        }
        writeln!(
            out,
            "\nNext: `postrider run` needs no settings; then `postrider send mail --help`, `postrider send webhook --help`."
        )?;
        if self.checks.iter().all(|check| check.holds) {
            return Ok(());
        }
        Err(Failure::Failed("a check of the demo failed: see above".to_owned()))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a demo has no 2^52 rows")]
fn rate(rows: u64, seconds: f64) -> f64 {
    rows as f64 / seconds
}

fn check_rows(counts: &RowCounts, orders: u64, expected: u32) -> Vec<Check> {
    let complete = orders == u64::from(expected) && counts.all() == orders;
    vec![
        Check { text: "every committed order has its row", holds: complete },
        Check {
            text: "every row is sent or failed: none is waiting or claimed",
            holds: counts.sent + counts.failed == orders,
        },
    ]
}

fn check_webhooks(
    (genuine, forged): &(Vec<String>, u64),
    jobs: &[(String, i64)],
    written: &Written,
) -> Check {
    let received: HashSet<&String> = genuine.iter().collect();
    let delivered = jobs.iter().all(|(id, successes)| *successes == 1 && received.contains(id));
    let complete = jobs.len() == written.transactions as usize && received.len() == jobs.len();
    Check {
        text: "every webhook arrived with a valid signature, and its attempt is recorded",
        holds: delivered && complete && *forged == 0,
    }
}

fn check_mails(journal: &Journal, sent: &HashSet<String>, written: &Written, held: &[String]) -> Vec<Check> {
    let cut_short = |(address, mails): (&String, &Vec<String>)| {
        mails.len() == 1 || (held.contains(address) && mails.windows(2).all(|pair| pair[0] == pair[1]))
    };
    vec![
        Check {
            text: "every sent row is in the mail server's log",
            holds: sent.iter().all(|address| journal.contains_key(address)),
        },
        Check {
            text: "every mail in the log belongs to a sent row",
            holds: journal.keys().all(|address| sent.contains(address)),
        },
        Check {
            text: "no mail went to an order that was rolled back",
            holds: !written.rolled_back.iter().any(|address| journal.contains_key(address)),
        },
        Check {
            text: "a mail arrived twice only if the kill interrupted it, and with the same Message-ID",
            holds: journal.iter().all(cut_short),
        },
    ]
}
