//! Puts the guesses together and writes the draft.

use std::fmt::Write as _;

use postrider_seams::TableDescription;
use postrider_seams::table::{ColumnDescription, DatabaseKind};

use crate::columns::{Choice, Kind, kind};
use crate::message::{self, Chosen};
use crate::roles::Roles;
use crate::states::{self, States, key};
use crate::{Answers, Draft, Purpose, Question};

/// A draft in the making.
pub struct Guesser<'a> {
    table: &'a TableDescription,
    answers: &'a Answers,
    purpose: Purpose,
    why_purpose: String,
    roles: Roles,
    id: String,
    fields: Vec<Chosen>,
    questions: Vec<Question>,
}

impl<'a> Guesser<'a> {
    /// Guesses roles, purpose and message.
    pub fn new(table: &'a TableDescription, purpose: Option<Purpose>, answers: &'a Answers) -> Self {
        let mut questions = Vec::new();
        let (purpose, why_purpose) = chosen_purpose(table, purpose, answers, &mut questions);
        let roles = Roles::guess(table);
        let id = id(table, answers, &mut questions);
        let mut this =
            Self { table, answers, purpose, why_purpose, roles, id, fields: Vec::new(), questions };
        this.choose_fields();
        this
    }

    fn choose_fields(&mut self) {
        let roles: Vec<&str> = self.roles.iter().map(|(_, choice)| choice.column.as_str()).collect();
        let taken: Vec<&str> = roles.into_iter().chain([self.id.as_str()]).collect();
        self.fields = message::fields(self.table, self.purpose, &taken);
        for one_of in message::required(self.purpose) {
            let field = one_of[0];
            let question = question_key(field);
            if let Some(answer) = self.answers.get(question).cloned() {
                self.fields.retain(|(name, choice)| *name != field && choice.column != answer);
                self.fields.push((field, Choice { column: answer, others: Vec::new() }));
            } else if !self.fields.iter().any(|(name, _)| one_of.contains(name)) {
                let text = format!("which column holds the message's {field}? The composer needs it.");
                let texts = self.table.columns.iter().filter(|column| may_be_message(column));
                let choices = texts.map(|column| column.name.clone()).collect();
                self.questions.push(Question { key: question, text, choices });
            }
        }
    }

    /// Writes the draft.
    pub fn draft(mut self) -> Draft {
        let states = states::guess(self.table, &self.roles, self.answers);
        let states = states.unwrap_or_else(|| self.stateless());
        self.questions.extend(states.questions.iter().cloned());
        let same = states.claimed.is_none();
        if same {
            for role in ["claimed_at", "lease_until", "owner"] {
                self.roles.remove(role);
            }
        }
        let missing = self.complete_roles(same);
        let time = self.time();
        let mut out = String::new();
        self.head(&mut out);
        self.table_section(&mut out, time);
        self.columns_section(&mut out, &missing);
        self.message_section(&mut out);
        states_section(&mut out, &states);
        stage_section(&mut out, &states, self.roles.get("due"));
        self.rules(&mut out, same);
        Draft { text: out, questions: self.questions, layout: None }
    }

    /// States for a table that keeps none.
    fn stateless(&mut self) -> States {
        let text = "no column says whether a row was delivered: which one does? A table without a state cannot be drained \
                    as it is; see docs/guides/own-table.md";
        let choices = self.table.columns.iter().map(|column| column.name.clone()).collect();
        self.questions.push(Question { key: "status", text: text.to_owned(), choices });
        let status = self.answers.get("status").cloned().unwrap_or_else(|| "status".to_owned());
        self.roles.set("status", &status);
        let same = self.roles.get("due").is_some();
        States {
            ready: vec!["pending".to_owned()],
            claimed: (!same).then(|| "processing".to_owned()),
            delivered: "sent".to_owned(),
            dead: "failed".to_owned(),
            ..States::default()
        }
    }

    /// Adds the roles that every contract needs; returns those whose column the table lacks.
    fn complete_roles(&mut self, same: bool) -> Vec<&'static str> {
        let mut missing = Vec::new();
        if self.roles.get("attempts").is_none() {
            self.lacks(&mut missing, "attempts", "attempts", "the number of attempts");
        }
        let keeps_time = self.roles.get("claimed_at").or(self.roles.get("lease_until")).is_some();
        if !same && !keeps_time {
            match self.roles.get("updated").map(str::to_owned) {
                Some(updated) => self.roles.set("claimed_at", &updated),
                None => self.lacks(&mut missing, "claimed_at", "claimed_at", "when a row was claimed"),
            }
        }
        missing
    }

    fn lacks(&mut self, missing: &mut Vec<&'static str>, role: &'static str, column: &str, what: &str) {
        self.roles.set(role, column);
        missing.push(role);
        let text = format!(
            "no column holds {what}: which one does? The draft says {column}, a column that `postrider migrate` would add."
        );
        self.questions.push(Question { key: question_key(role), text, choices: Vec::new() });
    }

    /// How times are stored, if that is not the default.
    fn time(&mut self) -> Option<&'static str> {
        let columns: Vec<&ColumnDescription> =
            self.roles.times().into_iter().filter_map(|name| self.table.column(name)).collect();
        let mut forms: Vec<&str> = columns.into_iter().map(|column| form(self.table, column)).collect();
        forms.sort_unstable();
        forms.dedup();
        if forms.len() > 1 {
            let text = format!(
                "the times of the table have several forms ({}): which one do most have?",
                forms.join(", ")
            );
            let choices = forms.iter().map(|&form| form.to_owned()).collect();
            self.questions.push(Question { key: "time", text, choices });
        }
        forms.first().copied().filter(|form| *form != "native")
    }

    fn head(&self, out: &mut String) {
        let rows = self.table.rows;
        let from = if rows == 0 {
            "its columns; it has no rows".to_owned()
        } else {
            format!("its columns and {rows} rows")
        };
        let _ = writeln!(out, "# A draft for the table {}, from {from}.", self.table.path());
        out.push_str(
            "# Read every line, correct it, and run: postrider contract verify FILE, postrider check\n",
        );
        for (number, question) in (1..).zip(&self.questions) {
            let _ = writeln!(out, "#\n# QUESTION {number}: {}", question.text);
            if !question.choices.is_empty() {
                let _ = writeln!(out, "#   Possible: {}", question.choices.join(", "));
            }
        }
        let name = contract_name(&self.table.name);
        let _ = writeln!(out, "\ncontract = \"{name}\"\nversion  = \"1.0\"");
        let _ = writeln!(out, "composer = \"{}\"{}\n", self.purpose.composer(), comment(&self.why_purpose));
    }

    fn table_section(&self, out: &mut String, time: Option<&str>) {
        let _ = writeln!(out, "[table]\nname = {:?}", self.table.path());
        let _ = writeln!(out, "id   = {:?}", self.id);
        if let Some(time) = time {
            let _ = writeln!(out, "time = \"{time}\"{}", comment("by the values of its times"));
        }
    }

    fn columns_section(&self, out: &mut String, missing: &[&str]) {
        out.push_str("\n[columns]\n");
        let width = self.roles.iter().map(|(role, _)| role.len()).max().unwrap_or(0);
        for (role, choice) in self.roles.iter() {
            let why = if missing.contains(role) {
                "the table has no such column".to_owned()
            } else if choice.others.is_empty() {
                String::new()
            } else {
                format!("by its name; also possible: {}", choice.others.join(", "))
            };
            let _ = writeln!(out, "{role:width$} = {:?}{}", choice.column, comment(&why));
        }
        let used = |column: &ColumnDescription| {
            self.roles.iter().any(|(_, choice)| choice.column == column.name)
                || self.fields.iter().any(|(_, choice)| choice.column == column.name)
                || column.name == self.id
        };
        let unused: Vec<&str> = self
            .table
            .columns
            .iter()
            .filter(|column| !used(column))
            .map(|column| column.name.as_str())
            .collect();
        if !unused.is_empty() {
            let _ = writeln!(out, "# Never changed, as far as no state names them: {}", unused.join(", "));
        }
    }

    fn message_section(&self, out: &mut String) {
        out.push_str("\n[message]\n");
        let width = self.fields.iter().map(|(field, _)| field.len()).max().unwrap_or(0);
        for (field, choice) in &self.fields {
            let why = if choice.others.is_empty() {
                String::new()
            } else {
                format!("by its name; also possible: {}", choice.others.join(", "))
            };
            let _ = writeln!(out, "{field:width$} = {:?}{}", choice.column, comment(&why));
        }
    }

    /// What follows the stage: due times, groups, leases, attempts, retries.
    fn rules(&self, out: &mut String, same: bool) {
        let column = |role: &str| self.roles.get(role).and_then(|name| self.table.column(name));
        if let Some(due) = column("due") {
            if due.nullable {
                let _ =
                    writeln!(out, "\n[due]\nnull = \"now\"{}", comment(&format!("{} may be NULL", due.name)));
            }
        } else {
            let role = ["attempted", "updated"].into_iter().find(|role| self.roles.get(role).is_some());
            let _ = match role {
                Some(role) => writeln!(
                    out,
                    "\n[due]\nafter = \"{role}\"{}",
                    comment("no column says when a row is due: the wait is counted from here")
                ),
                None => writeln!(out, "\n# No column says when a row is due: it is tried again at once."),
            };
        }
        self.group(out);
        if same {
            let fence = if self.roles.get("version").is_some() { "version" } else { "due" };
            let _ = writeln!(out, "\n[lease]\nby    = \"due\"\nfor   = \"1m\"\nfence = [\"{fence}\"]");
        } else {
            let _ = writeln!(out, "\n[lease]\nfor = \"5m\"");
        }
        let _ = writeln!(out, "\n[attempts]\nmax = 5");
        if column("attempts").is_some_and(|column| column.nullable) {
            let _ = writeln!(out, "nullable = true{}", comment("NULL counts as 0"));
        }
        let waits = column("due").is_some()
            || ["attempted", "updated"].into_iter().any(|role| self.roles.get(role).is_some());
        let _ = if waits {
            writeln!(out, "\n[retry]\nbase = \"30s\"\ncap  = \"1h\"")
        } else {
            writeln!(out, "\n[retry]\ndelays = [\"0s\"]")
        };
    }

    fn group(&self, out: &mut String) {
        let Some((_, key)) = self.fields.iter().find(|(field, _)| *field == "key") else { return };
        let is_number = self.table.column(&self.id).is_some_and(|column| kind(column) == Kind::Integer);
        let created = self.roles.get("created").map(|_| "created".to_owned());
        let sequence = message::sequence(self.table);
        let sequence = sequence.or_else(|| is_number.then(|| self.id.clone())).or(created);
        let Some(sequence) = sequence else { return };
        let why = "rows with the same value keep their order; remove [group] if they need none";
        let _ = writeln!(out, "\n[group]\nby       = {:?}{}", key.column, comment(why));
        let _ = writeln!(out, "sequence = [{sequence:?}]");
    }
}

fn states_section(out: &mut String, states: &States) {
    if !states.lines.is_empty() {
        out.push_str("\n[states]\n");
        let width = states.lines.iter().map(|(name, _, _)| name.len()).max().unwrap_or(0);
        for (name, holds, why) in &states.lines {
            let _ = writeln!(out, "{name:width$} = {holds}{}", comment(why));
        }
    }
    for (value, rows) in &states.others {
        let name = if value.is_empty() { "''" } else { value };
        let _ = writeln!(out, "# Left alone: {name} ({rows} of the sampled rows)");
    }
}

fn stage_section(out: &mut String, states: &States, due: Option<&str>) {
    let list: Vec<String> = states.ready.iter().map(|name| format!("{name:?}")).collect();
    let ready = if list.len() == 1 { list[0].clone() } else { format!("[{}]", list.join(", ")) };
    let why = |at: usize| if states.lines.is_empty() { comment(&states.reasons[at]) } else { String::new() };
    let claimed = states.claimed.as_deref().unwrap_or("same");
    let moved = match due {
        Some(due) if states.claimed.is_none() => comment(&format!("the claim moves {due} ahead")),
        _ => why(1),
    };
    let _ = writeln!(out, "\n[[stage]]\nname      = \"deliver\"\nready     = {ready}{}", why(0));
    let _ = writeln!(out, "claimed   = {claimed:?}{moved}");
    let _ = writeln!(out, "delivered = {:?}{}", states.delivered, why(2));
    let _ = writeln!(out, "retryable = {:?}", states.ready[0]);
    let _ = writeln!(out, "dead      = {:?}{}", states.dead, why(3));
}

fn comment(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("  # {text}") }
}

/// The key of the question about a field or a role.
fn question_key(of: &str) -> &'static str {
    const KEYS: [(&str, &str); 7] = [
        ("to", "message.to"),
        ("text", "message.text"),
        ("topic", "message.topic"),
        ("payload", "message.payload"),
        ("url", "message.url"),
        ("attempts", "columns.attempts"),
        ("claimed_at", "columns.claimed_at"),
    ];
    KEYS.iter().find(|(name, _)| *name == of).map_or("columns", |(_, key)| key)
}

fn may_be_message(column: &ColumnDescription) -> bool {
    matches!(kind(column), Kind::Text | Kind::Json | Kind::Bytes)
}

fn chosen_purpose(
    table: &TableDescription,
    purpose: Option<Purpose>,
    answers: &Answers,
    questions: &mut Vec<Question>,
) -> (Purpose, String) {
    let answered = answers
        .get("purpose")
        .and_then(|answer| Purpose::ALL.into_iter().find(|purpose| purpose.name() == answer));
    if let Some(purpose) = purpose.or(answered) {
        return (purpose, String::new());
    }
    if let Some(guessed) = message::purpose(table) {
        return guessed;
    }
    let text =
        "what is a row: a mail, a record for a broker, or a webhook? The draft says record.".to_owned();
    let choices = Purpose::ALL.map(|purpose| purpose.name().to_owned()).into();
    questions.push(Question { key: "purpose", text, choices });
    (Purpose::Record, String::new())
}

/// Chooses the key: a unique column, one that is named as a key before others.
fn id(table: &TableDescription, answers: &Answers, questions: &mut Vec<Question>) -> String {
    if let Some(answer) = answers.get("id") {
        return answer.clone();
    }
    let unique: Vec<&str> =
        table.unique.iter().filter(|key| key.len() == 1).map(|key| key[0].as_str()).collect();
    let named = |name: &&str| {
        let lower = name.to_ascii_lowercase();
        lower == "id" || lower == "uuid" || lower.ends_with("id")
    };
    let in_order =
        table.columns.iter().map(|column| column.name.as_str()).filter(|name| unique.contains(name));
    let in_order: Vec<&str> = in_order.collect();
    let exact = in_order.iter().find(|name| name.eq_ignore_ascii_case("id"));
    let chosen = exact.or_else(|| in_order.iter().find(|name| named(name))).or(in_order.first());
    if let Some(chosen) = chosen {
        return (*chosen).to_owned();
    }
    let composite = table.unique.iter().find(|key| key.len() > 1);
    let text = match composite {
        Some(key) => format!(
            "the only key has several columns ({}): which column alone is unique? A key of several columns is not \
             supported.",
            key.join(", ")
        ),
        None => "no column is unique: which one identifies a row?".to_owned(),
    };
    let first = table.columns.first().map(|column| column.name.clone()).unwrap_or_default();
    let choices = table.columns.iter().map(|column| column.name.clone()).collect();
    questions.push(Question { key: "id", text, choices });
    first
}

/// How the column stores times.
fn form(table: &TableDescription, column: &ColumnDescription) -> &'static str {
    match kind(column) {
        _ if table.database == DatabaseKind::Sqlite => "native",
        Kind::Integer => match column.example.as_deref().map(str::len) {
            Some(digits) if digits <= 11 => "epoch_s",
            _ => "epoch_ms",
        },
        Kind::Text => "iso8601",
        _ => "native",
    }
}

/// The name of the contract: the table's, with characters that a name may have.
fn contract_name(table: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = table.chars().map(plain).collect();
    if key(&name) == name && name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name
    } else {
        format!("outbox_{name}")
    }
}
