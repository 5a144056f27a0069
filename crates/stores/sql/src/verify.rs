//! Describes what a table guarantees under a contract, from facts that a store has gathered.

mod claim_plan;
mod deletion;
mod duplicates;
pub mod hazards;
mod lacks;
pub(crate) mod missing;
mod unknown_states;
mod writable;

use postrider_contract::{
    ColumnRole, Columns, GroupMode, LeaseBy, MessageValue, OnError, RESULTS, Transition,
};
use postrider_seams::inspect::{COUNT_LIMIT, Finding, Level};

use self::hazards::Hazards;
use crate::Dialect;
use crate::ddl::former::FormerIndex;
use crate::internal;
use crate::open_table::OpenTable;
use crate::settle::recipients::RECIPIENTS;

/// Number of rows below which the plans of MySQL tell nothing.
pub const MIN_ROWS_FOR_PLAN_CHECK: i64 = 1000;

/// The facts that only the database knows.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Name and version of the server: `PostgreSQL 15.18`.
    pub server: String,
    /// The reason why nothing can be written: a read-only server or file, a full disk.
    pub write_refusal: Option<String>,
    /// How the claim finds its rows.
    pub claim_plan: ClaimPlan,
    /// Missing DDL, as `migrate` would run it.
    pub missing: Vec<String>,
    /// Indexes of earlier versions that the contract no longer needs.
    pub unneeded: Vec<FormerIndex>,
    /// Columns that should be unique, and how many of their values occur more than once among the newest rows.
    pub duplicates: Vec<(String, u64)>,
    /// Sentences about rows in unknown states.
    pub unknown_states: Vec<String>,
    /// The way in which the lane learns of new rows.
    pub waking: Waking,
    /// The columns that the contract names, including those that this table lacks.
    pub declared: Columns,
    /// Whether each internal table exists, in the order of [`internal::TABLES`].
    pub internal_tables: [bool; internal::TABLES.len()],
    /// Conflicts between the table's constraints and the contract.
    pub hazards: Hazards,
}

/// The result of examining the claim's query plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ClaimPlan {
    /// It reads an index in the order of claims.
    ByIndex,
    /// It reads more rows than it takes: how.
    Shortfall(String),
    /// It says nothing: the table is so small that the planner scans it even with every index.
    #[default]
    NotChecked,
}

impl From<Option<String>> for ClaimPlan {
    /// The plan was examined, and has this shortcoming.
    fn from(shortfall: Option<String>) -> Self {
        shortfall.map_or(Self::ByIndex, Self::Shortfall)
    }
}

/// The way in which a lane learns of new rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waking {
    /// The database notifies it.
    AtOnce,
    /// By polling: the database has no notifications.
    #[default]
    Polls,
    /// By polling, until `migrate` adds the trigger.
    NoTrigger,
    /// By polling: notifications do not pass through a transaction pooler.
    BehindPooler { trigger: bool },
}

impl OpenTable {
    /// Returns all findings of `check` about this lane's table.
    pub fn findings(&self, dialect: Dialect, facts: &Facts) -> Vec<Finding> {
        let mut findings = vec![ok(format!("{}; sessions in UTC, {}", facts.server, isolation(dialect)))];
        findings.extend(facts.write_refusal.iter().map(|why| Finding {
            level: Level::Error,
            text: format!("nothing can be written: {why}"),
            fix: None,
        }));
        findings.push(ok(format!("claims are exclusive: {}", exclusion(dialect))));
        findings.extend(self.fence_findings(dialect));
        findings.push(self.lease_finding());
        findings.push(self.owner_finding());
        findings.extend(self.counter_finding());
        findings.extend(self.deletion_finding());
        findings.extend(self.recipients_finding(dialect));
        findings.extend(self.order_finding().filter(|_| facts.hazards.ordered));
        findings.extend(facts.hazards.findings.iter().cloned());
        findings.push(claim_finding(facts));
        findings.extend(facts.missing.iter().map(|ddl| self.missing_finding(ddl, &facts.declared)));
        findings.extend(facts.unneeded.iter().map(unneeded_finding));
        findings.extend(self.age_finding(facts));
        findings.extend(self.ageless_finding());
        findings.extend(facts.duplicates.iter().map(|(columns, values)| duplicate_finding(columns, *values)));
        findings.extend(facts.unknown_states.iter().map(|text| Finding {
            level: Level::Warning,
            text: text.clone(),
            fix: None,
        }));
        findings.push(ok(lacks::waking(facts.waking).to_owned()));
        // A missing table of recipient results has its own finding.
        let there = internal::TABLES
            .iter()
            .zip(facts.internal_tables)
            .all(|(table, there)| there || *table == RECIPIENTS);
        findings.push(internal_tables_finding(dialect, there));
        findings
    }

    /// A fence of whole seconds distinguishes two claims of one row only if they are a second apart.
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
            fix: coarse.first().map(|column| self.finer(dialect, column)),
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
            OnError::ByColumn { column, .. } => {
                &format!("the column {column} decides for each row whether later rows wait for it")
            }
            OnError::Always(GroupMode::Block) => {
                "later rows wait for a row that is tried again, or that failed permanently"
            }
            OnError::Always(GroupMode::Wait) => "later rows wait for a row that is tried again",
            OnError::Always(GroupMode::Next | GroupMode::Parallel) => {
                "one at a time; later rows continue if a row is tried again"
            }
        };
        Some(ok(format!("rows of the same {} keep their order: {then}", group.by)))
    }

    /// Counting attempts in the history is correct, but every claim reads history records.
    fn counter_finding(&self) -> Option<Finding> {
        let history = self.contract.counted_history()?;
        let text = format!(
            "the table has no column for attempts: they are counted in {}, so each claim also reads the history",
            history.table
        );
        Some(Finding { level: Level::Warning, text, fix: None })
    }

    /// Reports what happens to a mail with several recipients if some of them refuse it.
    fn recipients_finding(&self, dialect: Dialect) -> Option<Finding> {
        let place = match (self.contract.keeps_recipient_results(), self.remembers_recipients()) {
            _ if !self.stage.sends_mail() => return None,
            (true, _) => "the table itself",
            (false, true) => RECIPIENTS,
            (false, false) if self.contract.message.contains_key(RESULTS) => {
                return Some(self.unwritten_results());
            }
            (false, false) => {
                let text = "no table or column records which recipients received a mail: if some recipients refuse it for now, the row \
                            fails at once with a reason that names them, instead of being retried for them; run `postrider migrate`";
                let fix = internal::create(dialect).into_iter().find(|create| create.contains(RECIPIENTS));
                return Some(Finding { level: Level::Warning, text: text.to_owned(), fix });
            }
        };
        let uncounted = if self.recipient_results_on(Transition::Deferred) {
            String::new()
        } else {
            format!(
                "; a mail that is interrupted between two recipients costs an attempt, unless the contract has [write] \
                 deferred.{} = \"$outcome.recipients or keep\"",
                self.results_column()
            )
        };
        Some(ok(format!(
            "a mail that some recipients refuse for now is retried for them alone: {place} records who received it{uncounted}"
        )))
    }

    /// The column that the contract reads the results from.
    fn results_column(&self) -> &str {
        match self.contract.message.get(RESULTS) {
            Some(MessageValue::Column(column)) => column.name.as_str(),
            _ => "COLUMN",
        }
    }

    /// The contract names a column for the results and never writes it: an internal table cannot help.
    fn unwritten_results(&self) -> Finding {
        let column = self.results_column();
        let text = format!(
            "no table or column records which recipients received a mail: the contract reads {RESULTS} from {column}, and no [write] fills it on \
             retry, so if some recipients refuse a mail for now, the row fails at once with a reason that names them; add [write] \
             retry.{column} = \"$outcome.recipients or keep\" to the contract, or remove {RESULTS} from [message]"
        );
        Finding { level: Level::Warning, text, fix: None }
    }

    /// The benefit of the owner column; if the contract has one that the table lacks, the finding names it.
    fn owner_finding(&self) -> Finding {
        let seconds = self.stage.lease.duration.as_secs();
        ok(if self.contract.column(ColumnRole::Owner).is_some() {
            "rows of a claim whose answer is lost are released within seconds".to_owned()
        } else {
            format!(
                "rows of a claim whose answer is lost wait for their lease ({seconds} s): the table has no column that \
                 records the worker"
            )
        })
    }

    /// Only if the contract has such a column and the table lacks it.
    fn age_finding(&self, facts: &Facts) -> Option<Finding> {
        let lacks = facts.missing.iter().any(|ddl| ddl.contains("ADD COLUMN"));
        (lacks && self.contract.column(ColumnRole::Created).is_none()).then(|| Finding {
            level: Level::Warning,
            text: "the table has no time of creation: rows do not expire by age, and nothing waits for claim.min_age"
                .to_owned(),
            fix: None,
        })
    }

    fn lease_finding(&self) -> Finding {
        let seconds = self.stage.lease.duration.as_secs();
        match self.stage.lease.by {
            LeaseBy::Due => ok(format!("rows of a crashed worker are due again within {seconds} s")),
            LeaseBy::Time if self.contract.column(ColumnRole::LeaseUntil).is_some() => ok(format!(
                "rows of a crashed worker are recovered by the first sweep after their lease of {seconds} s"
            )),
            LeaseBy::Time if self.stage.lease.duration == self.stage.lease.duration_without_lease_until => {
                Finding {
                    level: Level::Warning,
                    text: format!(
                        "the table has no lease columns: a lease is the claim time + {seconds} s, so rows of a crashed \
                     worker wait that long"
                    ),
                    fix: None,
                }
            }
            LeaseBy::Time => ok(format!(
                "rows of a crashed worker are recovered by the first sweep {seconds} s after their claim"
            )),
        }
    }
}

fn ok(text: String) -> Finding {
    Finding { level: Level::Ok, text, fix: None }
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
    match &facts.claim_plan {
        ClaimPlan::ByIndex => {
            ok("the claim reads an index in claim order, so its cost does not grow with the backlog"
                .to_owned())
        }
        ClaimPlan::NotChecked => ok(format!(
            "the claim's query plan is not checked: the table has fewer than {MIN_ROWS_FOR_PLAN_CHECK} rows"
        )),
        ClaimPlan::Shortfall(how) => Finding {
            level: Level::Warning,
            text: format!("the claim reads more rows than it claims: {how}; it slows as the table grows"),
            fix: facts.missing.iter().find(|ddl| ddl.contains("INDEX")).cloned(),
        },
    }
}

fn unneeded_finding(index: &FormerIndex) -> Finding {
    Finding {
        level: Level::Warning,
        text: format!(
            "the index {} of an earlier version is no longer needed, and every write of a row maintains it",
            index.name
        ),
        fix: Some(index.drop.clone()),
    }
}

fn duplicate_finding(columns: &str, values: u64) -> Finding {
    Finding {
        level: Level::Warning,
        text: format!(
            "{columns} should be unique, but {values} values are there more than once among the newest {COUNT_LIMIT} rows: such \
             rows are delivered twice"
        ),
        fix: None,
    }
}

fn internal_tables_finding(dialect: Dialect, there: bool) -> Finding {
    if there {
        return ok(
            "locks, pauses, suppressions and crashes are kept in the database, for all instances".to_owned()
        );
    }
    Finding {
        level: Level::Warning,
        text:
            "Postrider's internal tables are missing: every instance runs maintenance, lanes cannot be paused, recipients cannot be \
             suppressed, and a row that kills its workers is retried forever; run `postrider migrate`"
                .into(),
        // Recipient results have their own finding, in stages that send mail.
        fix: Some(internal::create(dialect).into_iter().filter(|create| !create.contains(RECIPIENTS)).collect::<Vec<_>>().join(";\n")),
    }
}

/// Whether the type stores no fraction of a second.
fn whole_seconds(dialect: Dialect, sql_type: &str) -> bool {
    let name = sql_type.to_ascii_lowercase();
    match dialect {
        Dialect::Postgres => name.contains("(0)"),
        Dialect::Mysql => matches!(name.as_str(), "datetime" | "timestamp"),
        Dialect::Sqlite => false,
    }
}
