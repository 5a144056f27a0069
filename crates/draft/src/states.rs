//! Which states the rows have: from a status column and its values, or from flags and times.

use postrider_seams::TableDescription;
use postrider_seams::table::{ColumnDescription, SampledValue};

use crate::columns::{Kind, choose, kind};
use crate::roles::Roles;
use crate::values::{Meaning, known, meaning, readiness};
use crate::{Answers, Question};

/// The states of the draft.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct States {
    /// The lines of `[states]`: name, what it holds as TOML, and a comment.
    pub lines: Vec<(String, String, String)>,
    pub ready: Vec<String>,
    /// `None`: the state does not change, and the claim moves the due time.
    pub claimed: Option<String>,
    pub delivered: String,
    pub dead: String,
    /// Why each of the four was chosen.
    pub reasons: [String; 4],
    pub questions: Vec<Question>,
    /// Values that no lane touches.
    pub others: Vec<(String, u64)>,
}

/// Guesses the states; `None` if the table has neither a status nor a flag nor a time of delivery.
pub fn guess(table: &TableDescription, roles: &Roles, answers: &Answers) -> Option<States> {
    match roles.get("status").and_then(|name| table.column(name)) {
        Some(status) => Some(ByValue::new(table, roles, status, answers).states()),
        None => by_flags(table, roles),
    }
}

/// States that are values of one column.
struct ByValue<'a> {
    table: &'a TableDescription,
    roles: &'a Roles,
    status: &'a ColumnDescription,
    answers: &'a Answers,
    values: Vec<(String, u64)>,
    closed: bool,
}

impl<'a> ByValue<'a> {
    fn new(
        table: &'a TableDescription,
        roles: &'a Roles,
        status: &'a ColumnDescription,
        answers: &'a Answers,
    ) -> Self {
        let found = known(table, status);
        Self { table, roles, status, answers, values: found.values, closed: found.closed }
    }

    fn states(&self) -> States {
        let mut states = States::default();
        let delivered = self.one("delivered", Meaning::Delivered, &[], "sent", 1);
        let ready = self.one("ready", Meaning::Ready, std::slice::from_ref(&delivered.value), "pending", 0);
        let taken = [delivered.value.clone(), ready.value.clone()];
        let dead = self.one("dead", Meaning::Dead, &taken, "failed", 9);
        let claimed = self.claimed([&delivered.value, &ready.value, &dead.value]);
        states
            .questions
            .extend([&ready, &delivered, &dead].into_iter().filter_map(|one| one.question.clone()));
        let mut more: Vec<&str> = self.values.iter().map(|(value, _)| value.as_str()).collect();
        more.retain(|value| meaning(value) == Some(Meaning::Ready) && *value != ready.value);
        more.sort_by_key(|value| readiness(value));
        states.ready = vec![self.name("ready", &ready.value, &mut states.lines, &ready.reason)];
        for value in &more {
            states.ready.push(self.name("ready", value, &mut states.lines, "by its name"));
        }
        if let Some((value, reason)) = &claimed {
            states.claimed = Some(self.name("claimed", value, &mut states.lines, reason));
        }
        states.delivered = self.name("delivered", &delivered.value, &mut states.lines, &delivered.reason);
        states.dead = self.name("dead", &dead.value, &mut states.lines, &dead.reason);
        let reason_of_claim = claimed.as_ref().map_or_else(
            || "no value means claimed: the claim moves the due time ahead instead".to_owned(),
            |(_, reason)| reason.clone(),
        );
        states.others.clone_from(&self.values);
        let used: Vec<&String> = [&delivered.value, &ready.value, &dead.value].into_iter().collect();
        states.others.retain(|(value, _)| {
            !used.contains(&value)
                && !more.contains(&value.as_str())
                && claimed.as_ref().is_none_or(|(claimed, _)| claimed != value)
        });
        states.reasons = [ready.reason, reason_of_claim, delivered.reason, dead.reason];
        states
    }

    /// Chooses the value of one state: by an answer, by its name, by the rows that hold it, or a usual one.
    fn one(&self, key: &'static str, wanted: Meaning, taken: &[String], usual: &str, number: i64) -> Chosen {
        if let Some(answer) = self.answers.get(key) {
            return Chosen::sure(answer, "answered");
        }
        let free = || self.values.iter().filter(|(value, _)| !taken.contains(value));
        let mut named: Vec<&(String, u64)> =
            free().filter(|(value, _)| meaning(value) == Some(wanted)).collect();
        named.sort_by_key(|(value, _)| if wanted == Meaning::Ready { readiness(value) } else { 0 });
        if let Some((value, rows)) = named.first() {
            return Chosen::sure(value, &format!("by its name; {rows} of the sampled rows"));
        }
        if let Some((value, reason)) = self.by_rows(wanted, taken) {
            return Chosen::sure(&value, &reason);
        }
        let usual = if kind(self.status) == Kind::Integer { number.to_string() } else { usual.to_owned() };
        let choices: Vec<String> = free().map(|(value, _)| value.clone()).collect();
        let value = match choices.first() {
            Some(first) if self.closed && !choices.contains(&usual) => first.clone(),
            _ => usual,
        };
        let column = &self.status.name;
        let what = match wanted {
            Meaning::Ready => "wait for delivery",
            Meaning::Claimed => "are held by a worker",
            Meaning::Delivered => "were delivered",
            Meaning::Dead => "failed permanently",
        };
        let text = format!("which value of {column} has rows that {what}? The draft says {value}.");
        Chosen {
            value,
            reason: "a usual value: no sampled row shows it".to_owned(),
            question: Some(Question { key, text, choices }),
        }
    }

    /// Chooses by what else the rows with a value hold: a time of delivery, or an error.
    fn by_rows(&self, wanted: Meaning, taken: &[String]) -> Option<(String, String)> {
        let values = self.status.values.as_deref()?;
        let place = |role: &str| {
            let name = self.roles.get(role)?;
            self.table.columns.iter().position(|column| column.name == name && column.nullable)
        };
        let share = |sampled: &SampledValue, role: &str| {
            place(role).map(|at| sampled.filled.get(at).copied().unwrap_or(0) == sampled.rows)
        };
        let free = |sampled: &&SampledValue| {
            sampled.value.as_ref().is_some_and(|value| !taken.contains(value) && meaning(value).is_none())
        };
        let mut fits = values.iter().filter(free).filter(|sampled| match wanted {
            Meaning::Delivered => {
                share(sampled, "finished") == Some(true) && share(sampled, "error") != Some(true)
            }
            Meaning::Dead => {
                share(sampled, "error") == Some(true) && share(sampled, "finished") != Some(true)
            }
            Meaning::Ready => {
                place("finished").is_some()
                    && share(sampled, "finished") == Some(false)
                    && share(sampled, "error") != Some(true)
            }
            Meaning::Claimed => false,
        });
        let chosen = fits.next().filter(|_| fits.next().is_none())?;
        let why = match wanted {
            Meaning::Delivered => "all its rows have a time of delivery",
            Meaning::Dead => "all its rows have an error",
            Meaning::Ready | Meaning::Claimed => "none of its rows has a time of delivery",
        };
        Some((chosen.value.clone()?, format!("{why}; {} of the sampled rows", chosen.rows)))
    }

    /// The value of claimed rows; `None` if the claim can move a due time instead.
    fn claimed(&self, taken: [&String; 3]) -> Option<(String, String)> {
        if let Some(answer) = self.answers.get("claimed") {
            return Some((answer.clone(), "answered".to_owned()));
        }
        let named = self.values.iter().find(|(value, _)| meaning(value) == Some(Meaning::Claimed));
        if let Some((value, rows)) = named {
            return Some((value.clone(), format!("by its name; {rows} of the sampled rows")));
        }
        if self.roles.get("due").is_some() && self.roles.get("claimed_at").is_none() {
            return None;
        }
        let value = match kind(self.status) {
            Kind::Integer => {
                let used = |number: &i64| self.values.iter().any(|(value, _)| *value == number.to_string());
                let number = (5..100).find(|number| !used(number) && !taken.contains(&&number.to_string()));
                number.unwrap_or(5).to_string()
            }
            _ if taken.iter().all(|value| value.chars().all(|c| !c.is_lowercase())) => {
                "PROCESSING".to_owned()
            }
            _ => "processing".to_owned(),
        };
        Some((value, "a new value, which no sampled row has".to_owned()))
    }

    /// Returns the name of a state, and adds a line for one that is not its own text.
    fn name(
        &self,
        role: &str,
        value: &str,
        lines: &mut Vec<(String, String, String)>,
        reason: &str,
    ) -> String {
        let is_number = kind(self.status) == Kind::Integer;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_name = value.chars().all(plain) && value.starts_with(|c: char| c.is_ascii_alphabetic());
        if !is_number && is_name {
            return value.to_owned();
        }
        let base = match role {
            "ready" => "queued",
            "claimed" => "taken",
            "delivered" => "done",
            _ => "failed",
        };
        let again = lines.iter().filter(|(name, _, _)| name.starts_with(base)).count();
        let name = if again == 0 { base.to_owned() } else { format!("{base}_{value}") };
        let literal = if is_number { value.to_owned() } else { format!("{value:?}") };
        lines.push((name.clone(), literal, reason.to_owned()));
        name
    }
}

struct Chosen {
    value: String,
    reason: String,
    question: Option<Question>,
}

impl Chosen {
    fn sure(value: &str, reason: &str) -> Self {
        Self { value: value.to_owned(), reason: reason.to_owned(), question: None }
    }
}

const DELIVERED_FLAGS: &[&str] = &[
    "processed",
    "sent",
    "delivered",
    "published",
    "done",
    "completed",
    "is_sent",
    "is_processed",
    "is_published",
    "is_delivered",
    "is_done",
    "dispatched",
    "handled",
];
const DEAD_FLAGS: &[&str] = &["failed", "dead", "blocked", "blacklisted", "is_failed", "has_failed"];
const CLAIMED_FLAGS: &[&str] = &["sending", "processing", "locked", "in_progress", "claimed", "is_locked"];
const DEAD_TIMES: &[&str] = &["failed_at", "dead_at", "gave_up_at", "abandoned_at"];

/// One condition that distinguishes states.
struct Flag {
    column: String,
    on: &'static str,
    off: &'static str,
}

impl Flag {
    fn set(&self, on: bool) -> String {
        format!("{} = {}", key(&self.column), if on { self.on } else { self.off })
    }
}

/// A column as a key of TOML.
pub fn key(column: &str) -> String {
    let bare = column.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if bare { column.to_owned() } else { format!("{column:?}") }
}

fn flag(table: &TableDescription, names: &[&str]) -> Option<Flag> {
    let is_flag = |column: &ColumnDescription| {
        let sampled = column.values.as_deref().unwrap_or_default();
        let zero_or_one =
            !sampled.is_empty() && sampled.iter().all(|one| matches!(one.value.as_deref(), Some("0" | "1")));
        match kind(column) {
            Kind::Boolean => true,
            Kind::Integer => zero_or_one || table.rows == 0,
            _ => false,
        }
    };
    let column = choose(table, names, is_flag)?.column;
    Some(Flag { column, on: "true", off: "false" })
}

fn time(table: &TableDescription, column: Option<String>) -> Option<Flag> {
    let column = column.filter(|name| table.column(name).is_some_and(|column| column.nullable))?;
    Some(Flag { column, on: "{ null = false }", off: "{ null = true }" })
}

fn by_flags(table: &TableDescription, roles: &Roles) -> Option<States> {
    let role = |name: &str| roles.get(name).map(str::to_owned);
    let dead_time =
        choose(table, DEAD_TIMES, |column| kind(column) == Kind::Time).map(|choice| choice.column);
    let delivered = flag(table, DELIVERED_FLAGS).or_else(|| time(table, role("finished")))?;
    let dead = flag(table, DEAD_FLAGS).or_else(|| time(table, dead_time));
    let claimed = flag(table, CLAIMED_FLAGS).or_else(|| time(table, role("claimed_at")));
    let state = |is: [bool; 3]| {
        let flags = [Some(&delivered), dead.as_ref(), claimed.as_ref()];
        let set = flags.iter().zip(is).filter_map(|(flag, on)| Some(flag.as_ref()?.set(on)));
        format!("{{ {} }}", set.collect::<Vec<_>>().join(", "))
    };
    let mut states = States {
        ready: vec!["queued".to_owned()],
        claimed: claimed.as_ref().map(|_| "taken".to_owned()),
        delivered: "done".to_owned(),
        dead: "failed".to_owned(),
        ..States::default()
    };
    let mut line = |name: &str, is: [bool; 3], why: &str| {
        states.lines.push((name.to_owned(), state(is), why.to_owned()));
    };
    line("queued", [false, false, false], &format!("by {}", delivered.column));
    if let Some(claimed) = &claimed {
        line("taken", [false, false, true], &format!("by {}", claimed.column));
    }
    line("done", [true, false, false], &format!("by {}", delivered.column));
    if let Some(dead) = &dead {
        line("failed", [false, true, false], &format!("by {}", dead.column));
    } else {
        let text = format!(
            "no column says that a row failed permanently: which one should? A boolean such as failed, or a time \
             such as failed_at, next to {}",
            delivered.column
        );
        states.questions.push(Question { key: "dead", text, choices: Vec::new() });
    }
    states.reasons = std::array::from_fn(|_| String::new());
    Some(states)
}
