//! The audit at the end of the demo: compares plain SQL on the application's connection with the mail server's journal.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::time::Duration;

use super::application::{Application, Look, Written};
use crate::failure::Failure;
use crate::table::plain;

/// Address → the Message-ID of every mail that it received.
type Journal = HashMap<String, Vec<String>>;

/// The numbers of the audit and the rules that they must satisfy.
pub struct Audit {
    look: Look,
    written: Written,
    held: Vec<String>,
    /// Reason → failed rows.
    reasons: Vec<(String, i64)>,
    retried: i64,
    accepted: usize,
    twice: usize,
    webhooks: usize,
    laws: Vec<Law>,
}

/// A rule that must hold, and whether it does.
struct Law {
    text: &'static str,
    holds: bool,
}

impl Audit {
    /// Reads the numbers from the database and the receivers.
    pub async fn take(
        application: &Application,
        journal: &Journal,
        webhooks: &(Vec<String>, u64),
        written: Written,
        held: Vec<String>,
    ) -> Result<Self, Failure> {
        let pool = application.pool();
        let look = application.look().await?;
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
        let mut laws = laws_of_rows(&look, u64::try_from(orders).unwrap_or(0), application.rows());
        laws.extend(laws_of_mails(journal, &sent, &written, &held));
        let jobs: Vec<(String, i64)> = sqlx::query_as(
            "SELECT id, (SELECT COUNT(*) FROM dispatch_attempts WHERE job_id = j.id AND status = 'SUCCESS') \
             FROM dispatch_jobs AS j",
        )
        .fetch_all(pool)
        .await?;
        laws.push(law_of_webhooks(webhooks, &jobs, &written));
        let accepted = journal.values().map(Vec::len).sum();
        let twice = journal.values().filter(|mails| mails.len() > 1).count();
        let webhooks = jobs.len();
        Ok(Self { look, written, held, reasons, retried, accepted, twice, webhooks, laws })
    }

    /// Prints the summary; an error if a rule does not hold.
    pub fn tell(&self, elapsed: Duration) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let (seconds, written, all) = (elapsed.as_secs_f64(), &self.written, self.look.all());
        writeln!(out, "\nSummary")?;
        writeln!(out, "  {all:>6}  orders, each with its mail, in {} transactions", written.transactions)?;
        writeln!(out, "  {:>6}  orders rolled back on purpose", written.rolled_back.len())?;
        writeln!(out, "  {:>6}  mails sent, {} of them after a retry", self.look.sent, self.retried)?;
        writeln!(out, "  {:>6}  mails failed, each with its reason:", self.look.failed)?;
        for (reason, count) in &self.reasons {
            writeln!(out, "          {count:>4}  {}", plain(reason, 90))?;
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
        for law in &self.laws {
            writeln!(out, "  {}  {}", if law.holds { "ok    " } else { "BROKEN" }, law.text)?;
        }
        writeln!(
            out,
            "\nNext: `postrider run` needs no settings; then `postrider send mail --help`, `postrider send webhook --help`."
        )?;
        if self.laws.iter().all(|law| law.holds) {
            return Ok(());
        }
        Err(Failure::Failed("a check of the demo failed: see above".to_owned()))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a demo has no 2^52 rows")]
fn rate(rows: u64, seconds: f64) -> f64 {
    rows as f64 / seconds
}

fn laws_of_rows(look: &Look, orders: u64, asked: u32) -> Vec<Law> {
    let complete = orders == u64::from(asked) && look.all() == orders;
    vec![
        Law { text: "every committed order has its row", holds: complete },
        Law {
            text: "every row is sent or failed: none is waiting or claimed",
            holds: look.sent + look.failed == orders,
        },
    ]
}

fn law_of_webhooks((genuine, forged): &(Vec<String>, u64), jobs: &[(String, i64)], written: &Written) -> Law {
    let told: HashSet<&String> = genuine.iter().collect();
    let delivered = jobs.iter().all(|(id, successes)| *successes == 1 && told.contains(id));
    let complete = jobs.len() == written.transactions as usize && told.len() == jobs.len();
    Law {
        text: "every webhook arrived with a valid signature, and its attempt is recorded",
        holds: delivered && complete && *forged == 0,
    }
}

fn laws_of_mails(journal: &Journal, sent: &HashSet<String>, written: &Written, held: &[String]) -> Vec<Law> {
    let cut_short = |(address, mails): (&String, &Vec<String>)| {
        mails.len() == 1 || (held.contains(address) && mails.windows(2).all(|pair| pair[0] == pair[1]))
    };
    vec![
        Law {
            text: "every sent row is in the mail server's log",
            holds: sent.iter().all(|address| journal.contains_key(address)),
        },
        Law {
            text: "every mail in the log belongs to a sent row",
            holds: journal.keys().all(|address| sent.contains(address)),
        },
        Law {
            text: "no mail went to an order that was rolled back",
            holds: !written.rolled_back.iter().any(|address| journal.contains_key(address)),
        },
        Law {
            text: "a mail arrived twice only if the kill interrupted it, and with the same Message-ID",
            holds: journal.iter().all(cut_short),
        },
    ]
}
