//! What a table guarantees under a contract, in words, from facts that a store has gathered.

mod lacks;

use postrider_contract::{Columns, Hold, LeaseBy, MessageField, OnError, RESULTS, Role};
use postrider_seams::inspect::{COUNT_LIMIT, Finding, Level};

use super::Opened;
use super::hazards::Hazards;
use crate::own::recipients::RECIPIENTS;
use crate::{Dialect, own};

/// What only the database can tell.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// `PostgreSQL 15.18`.
    pub server: String,
    /// Why nothing can be written: a read-only server or file, a full disk.
    pub write_refusal: Option<String>,
    /// How the plan of the claim falls short; `None` where it reads an index in the claim's own order.
    pub claim_scan: Option<String>,
    /// DDL that is missing, as `migrate` would run it.
    pub missing: Vec<String>,
    /// Columns that should be unique, and how many of their values are there more than once among the newest rows.
    pub duplicates: Vec<(String, u64)>,
    /// Rows of unknown states, in words.
    pub strange: Vec<String>,
    /// How the lane hears of new rows.
    pub waking: Waking,
    /// The columns that the contract names, those that this table lacks too.
    pub declared: Columns,
    /// Which of our own tables are there, in the order of [`own::TABLES`].
    pub own_tables: [bool; own::TABLES.len()],
    /// What the table's own rules would do to the lane.
    pub hazards: Hazards,
}

/// How a lane hears of new rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waking {
    /// The database wakes it.
    AtOnce,
    /// By polling: the database can't wake anybody.
    #[default]
    Polls,
    /// By polling, until `migrate --notify` adds the trigger.
    NoTrigger,
    /// By polling: notifications do not come through a transaction pooler.
    BehindPooler { trigger: bool },
}

impl Opened {
    /// Everything that `check` says of this lane's table.
    pub fn findings(&self, dialect: Dialect, facts: &Facts) -> Vec<Finding> {
        let mut findings = vec![ok(format!("{}; sessions in UTC, {}", facts.server, isolation(dialect)))];
        findings.extend(facts.write_refusal.iter().map(|why| Finding {
            level: Level::Error,
            text: format!("nothing can be written: {why}"),
            mend: None,
        }));
        findings.push(ok(format!("claims are exclusive: {}", exclusion(dialect))));
        findings.extend(self.fence_findings(dialect));
        findings.push(self.lease_finding());
        findings.push(self.owner_finding());
        findings.extend(self.counter_finding());
        findings.extend(self.recipients_finding(dialect));
        findings.extend(self.order_finding().filter(|_| facts.hazards.ordered));
        findings.extend(facts.hazards.findings.iter().cloned());
        findings.push(claim_finding(facts));
        findings.extend(facts.missing.iter().map(|ddl| self.missing_finding(ddl, &facts.declared)));
        findings.extend(self.age_finding(facts));
        findings.extend(self.ageless_finding());
        findings.extend(facts.duplicates.iter().map(|(columns, values)| duplicate_finding(columns, *values)));
        findings.extend(facts.strange.iter().map(|text| Finding {
            level: Level::Warning,
            text: text.clone(),
            mend: None,
        }));
        findings.push(ok(lacks::waking(facts.waking).to_owned()));
        // What lacks the last of them has its own finding.
        let there =
            own::TABLES.iter().zip(facts.own_tables).all(|(table, there)| there || *table == RECIPIENTS);
        findings.push(own_tables_finding(dialect, there));
        findings
    }

    /// A time of whole seconds tells two claims of one row apart only if they are a second apart.
    fn fence_findings(&self, dialect: Dialect) -> Vec<Finding> {
        let fence = &self.stage.lease.fence;
        let names: Vec<&str> = fence.iter().filter_map(|role| self.contract.column(*role)).collect();
        let coarse: Vec<&str> = fence
            .iter()
            .filter(|role| role.is_time())
            .filter_map(|role| self.contract.column(*role))
            .filter(|name| {
                self.shape.column(name).is_some_and(|column| whole_seconds(dialect, &column.sql_type))
            })
            .collect();
        let only_times = fence.iter().all(|role| role.is_time());
        if coarse.is_empty() || !only_times {
            return vec![ok(format!(
                "stale workers cannot overwrite results (guarded by {})",
                names.join(" and ")
            ))];
        }
        let text = format!(
            "stale workers are detected by {} in whole seconds: a claim of the same row waits for the next second, and \
             claims of other programs within one second cannot be distinguished",
            coarse.join(" and ")
        );
        vec![Finding {
            level: Level::Warning,
            text,
            mend: coarse.first().map(|column| self.finer(dialect, column)),
        }]
    }

    fn finer(&self, dialect: Dialect, column: &str) -> String {
        let table = &self.contract.table.name;
        match dialect {
            Dialect::Mysql => format!("ALTER TABLE `{table}` MODIFY `{column}` DATETIME(6) NULL"),
            Dialect::Postgres => format!("ALTER TABLE \"{table}\" ALTER \"{column}\" TYPE timestamp(6)"),
            Dialect::Sqlite => "write times with milliseconds".to_owned(),
        }
    }

    fn order_finding(&self) -> Option<Finding> {
        let group = self.contract.group.as_ref().filter(|group| group.keeps_order())?;
        let then = match &group.on_error {
            OnError::Always(Hold::Block) => {
                "a row that is tried again, or that failed for good, holds back those behind it"
            }
            OnError::Always(Hold::Wait) => "a row that is tried again holds back those behind it",
            OnError::Always(Hold::Next | Hold::Parallel) => {
                "one at a time; a row that is tried again lets the next go"
            }
            OnError::ByColumn { .. } => "each says what its failure does to those behind it",
        };
        Some(ok(format!("rows of the same {} keep their order: {then}", group.by)))
    }

    /// Correct, but every claim reads lines of the history.
    fn counter_finding(&self) -> Option<Finding> {
        let history = self.contract.counted_history()?;
        let text = format!(
            "the table has no column for attempts: they are counted in {}, which costs each claim some reads",
            history.table
        );
        Some(Finding { level: Level::Warning, text, mend: None })
    }

    /// A mail has several recipients: what becomes of it where some of them refuse it.
    fn recipients_finding(&self, dialect: Dialect) -> Option<Finding> {
        let place = match (self.contract.keeps_recipient_results(), self.remembers_recipients()) {
            _ if !self.stage.sends_mail() => return None,
            (true, _) => "the table itself",
            (false, true) => RECIPIENTS,
            (false, false) if self.contract.message.contains_key(RESULTS) => {
                return Some(self.unwritten_results());
            }
            (false, false) => {
                let text = "nothing remembers which recipients have a mail: if some recipients refuse it for now, the row \
                            fails at once with a reason that names them, instead of being retried for them; run `postrider migrate`";
                let mend = own::create(dialect).into_iter().find(|create| create.contains(RECIPIENTS));
                return Some(Finding { level: Level::Warning, text: text.to_owned(), mend });
            }
        };
        Some(ok(format!(
            "a mail that some recipients refuse for now is retried for them alone: {place} remembers who has it"
        )))
    }

    /// The contract names a column for them and never fills it: no table of ours can help.
    fn unwritten_results(&self) -> Finding {
        let column = match self.contract.message.get(RESULTS) {
            Some(MessageField::Column(column)) => column.name.as_str(),
            _ => "COLUMN",
        };
        let text = format!(
            "nothing remembers which recipients have a mail: the contract reads {RESULTS} from {column}, and no [write] fills it on \
             retry, so if some recipients refuse a mail for now, the row fails at once with a reason that names them; add [write] \
             retry.{column} = \"$outcome.recipients?\" to the contract, or take {RESULTS} out of [message]"
        );
        Finding { level: Level::Warning, text, mend: None }
    }

    /// What the owner column adds; where the contract has one and the table lacks it, that is named as well.
    fn owner_finding(&self) -> Finding {
        let seconds = self.stage.lease.duration.as_secs();
        ok(if self.contract.column(Role::Owner).is_some() {
            "rows of a claim whose answer is lost are released within seconds".to_owned()
        } else {
            format!(
                "rows of a claim whose answer is lost wait for their lease ({seconds} s): the table has no column that \
                 says who claimed a row"
            )
        })
    }

    /// Only where the contract knows such a column and the table lacks it.
    fn age_finding(&self, facts: &Facts) -> Option<Finding> {
        let lacks = facts.missing.iter().any(|ddl| ddl.contains("ADD COLUMN"));
        (lacks && self.contract.column(Role::Created).is_none()).then(|| Finding {
            level: Level::Warning,
            text: "the table has no time of creation: rows do not expire by age, and nothing waits for claim.min_age"
                .to_owned(),
            mend: None,
        })
    }

    fn lease_finding(&self) -> Finding {
        let seconds = self.stage.lease.duration.as_secs();
        match self.stage.lease.by {
            LeaseBy::Due => ok(format!("rows of a crashed worker fall due again within {seconds} s")),
            LeaseBy::Time if self.contract.column(Role::LeaseUntil).is_some() => {
                ok(format!("rows of a crashed worker are recovered within {seconds} s"))
            }
            LeaseBy::Time if self.stage.lease.duration == self.stage.lease.without => Finding {
                level: Level::Warning,
                text: format!(
                    "the table has no lease columns: a lease is the claim time + {seconds} s, so rows of a crashed \
                     worker wait that long"
                ),
                mend: None,
            },
            LeaseBy::Time => {
                ok(format!("rows of a crashed worker are recovered {seconds} s after their claim"))
            }
        }
    }
}

fn ok(text: String) -> Finding {
    Finding { level: Level::Ok, text, mend: None }
}

fn isolation(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres | Dialect::Mysql => "READ COMMITTED",
        Dialect::Sqlite => "WAL, one writer",
    }
}

fn exclusion(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "SKIP LOCKED, picked and marked in one statement",
        Dialect::Mysql => "SKIP LOCKED, picked and marked in one transaction",
        Dialect::Sqlite => "one writer, picked and marked in one transaction",
    }
}

fn claim_finding(facts: &Facts) -> Finding {
    match &facts.claim_scan {
        None => ok("the claim reads an index in its own order, whatever the backlog".to_owned()),
        Some(how) => Finding {
            level: Level::Warning,
            text: format!("the claim reads more than it takes: {how}; it slows as the table grows"),
            mend: facts.missing.iter().find(|ddl| ddl.contains("INDEX")).cloned(),
        },
    }
}

fn duplicate_finding(columns: &str, values: u64) -> Finding {
    Finding {
        level: Level::Warning,
        text: format!(
            "{columns} should be unique, but {values} values are there more than once among the newest {COUNT_LIMIT} rows: such \
             rows are delivered twice"
        ),
        mend: None,
    }
}

fn own_tables_finding(dialect: Dialect, there: bool) -> Finding {
    if there {
        return ok(
            "locks, pauses, suppressions and crashes are kept in the database, for all instances".to_owned()
        );
    }
    Finding {
        level: Level::Warning,
        text:
            "without our own tables every instance runs the singleton duties, no lane can be paused, no recipient suppressed, and a row that \
             kills its workers is tried without end"
                .into(),
        // Recipients have a finding of their own, where mails are sent.
        mend: Some(own::create(dialect).into_iter().filter(|create| !create.contains(RECIPIENTS)).collect::<Vec<_>>().join(";\n")),
    }
}

/// Does the type keep no fraction of a second?
fn whole_seconds(dialect: Dialect, sql_type: &str) -> bool {
    let name = sql_type.to_ascii_lowercase();
    match dialect {
        Dialect::Postgres => name.contains("(0)"),
        Dialect::Mysql => matches!(name.as_str(), "datetime" | "timestamp"),
        Dialect::Sqlite => false,
    }
}
