//! The tables of well-known libraries, recognised by their columns. Their contracts are the recipes of the book.

use std::fmt::Write as _;

use postrider_seams::TableDescription;

use crate::Purpose;
use crate::columns::squeezed;

/// The table of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The name of the recipe in `docs/recipes`.
    pub name: &'static str,
    /// The library.
    pub library: &'static str,
    purpose: Purpose,
    /// Columns that a table of this layout has, and hardly any other table.
    columns: &'static [&'static str],
    /// The contract of the recipe.
    pub contract: &'static str,
}

const LAYOUTS: &[Layout] = &[
    Layout {
        name: "transaction-outbox",
        library: "transaction-outbox of gruelbox",
        purpose: Purpose::Record,
        columns: &[
            "invocation",
            "nextattempttime",
            "attempts",
            "blocked",
            "version",
            "processed",
            "topic",
            "seq",
        ],
        contract: include_str!("../../../docs/recipes/transaction-outbox.toml"),
    },
    Layout {
        name: "namastack",
        library: "namastack-outbox",
        purpose: Purpose::Record,
        columns: &[
            "status",
            "record_key",
            "record_type",
            "payload",
            "context",
            "failure_count",
            "failure_reason",
            "next_retry_at",
            "partition_no",
        ],
        contract: include_str!("../../../docs/recipes/namastack.toml"),
    },
    Layout {
        name: "django-post-office",
        library: "django-post_office",
        purpose: Purpose::Mail,
        columns: &[
            "from_email",
            "html_message",
            "scheduled_time",
            "expires_at",
            "backend_alias",
            "number_of_retries",
            "last_updated",
            "priority",
        ],
        contract: include_str!("../../../docs/recipes/django-post-office.toml"),
    },
    Layout {
        name: "flowcatalyst",
        library: "FlowCatalyst",
        purpose: Purpose::Record,
        columns: &[
            "type",
            "message_group",
            "payload",
            "status",
            "retry_count",
            "error_message",
            "client_id",
            "updated_at",
        ],
        contract: include_str!("../../../docs/recipes/flowcatalyst.toml"),
    },
    Layout {
        name: "sbmt-outbox",
        library: "sbmt-outbox of Kuper",
        purpose: Purpose::Record,
        columns: &[
            "uuid",
            "event_name",
            "event_key",
            "bucket",
            "options",
            "payload",
            "status",
            "errors_count",
            "error_log",
            "processed_at",
            "updated_at",
        ],
        contract: include_str!("../../../docs/recipes/sbmt-outbox.toml"),
    },
    Layout {
        name: "laravel-emails",
        library: "laravel-database-emails",
        purpose: Purpose::Mail,
        columns: &[
            "recipient",
            "subject",
            "body",
            "attempts",
            "sending",
            "failed",
            "encrypted",
            "scheduled_at",
            "sent_at",
            "updated_at",
            "deleted_at",
        ],
        contract: include_str!("../../../docs/recipes/laravel-emails.toml"),
    },
    Layout {
        name: "rails-mails",
        library: "a Rails model",
        purpose: Purpose::Mail,
        columns: &[
            "mail_to",
            "mail_from",
            "body_text",
            "status",
            "attempts",
            "send_at",
            "locked_at",
            "locked_by",
            "lock_version",
        ],
        contract: include_str!("../../../docs/recipes/rails-mails.toml"),
    },
    Layout {
        name: "cap-published",
        library: "DotNetCore.CAP",
        purpose: Purpose::Record,
        columns: &["Version", "Name", "Content", "Retries", "Added", "ExpiresAt", "StatusName"],
        contract: include_str!("../../../docs/recipes/cap-published.toml"),
    },
];

/// Returns every known layout.
pub fn known() -> &'static [Layout] {
    LAYOUTS
}

/// Returns the layout of the table, if it is one of the known ones and has the purpose that was asked for.
pub fn matching(table: &TableDescription, purpose: Option<Purpose>) -> Option<&'static Layout> {
    let has = |name: &str| table.columns.iter().any(|column| squeezed(&column.name) == squeezed(name));
    let fits = |layout: &&Layout| {
        layout.columns.iter().all(|name| has(name)) && purpose.is_none_or(|purpose| purpose == layout.purpose)
    };
    LAYOUTS.iter().find(fits)
}

impl Layout {
    /// Returns the contract with the names of this table.
    pub fn draft(&self, table: &TableDescription) -> String {
        let mut out = format!(
            "# The table {} has the layout of {}. docs/recipes/{}.md says how to switch over.\n# Read every line, and run: postrider \
             contract verify FILE, postrider check\n\n",
            table.path(),
            self.library,
            self.name
        );
        let mut section = "";
        for line in self.contract.lines() {
            if line.starts_with('[') {
                section = line;
            }
            if section == "[table]" && line.starts_with("name") {
                let _ = write!(out, "name = {:?}", table.path());
            } else {
                out.push_str(&with_names(line, table));
            }
            out.push('\n');
        }
        out
    }
}

/// Keys whose values are roles, not columns.
const OF_ROLES: [&str; 3] = ["fence", "order", "after"];

/// Spells the columns of a line as the table does.
fn with_names(line: &str, table: &TableDescription) -> String {
    let key = line.split('=').next().unwrap_or_default().trim();
    if OF_ROLES.contains(&key) {
        return line.to_owned();
    }
    let (code, comment) = line.split_once('#').unwrap_or((line, ""));
    let mut out = String::with_capacity(line.len());
    let (mut word, mut quoted, mut braces) = (String::new(), false, 0_u32);
    // A name is one in quotes, or a key inside braces: other words are keys of the language.
    let end = |out: &mut String, word: &mut String, is_name: bool| {
        let found = table.columns.iter().find(|column| is_name && column.name.eq_ignore_ascii_case(word));
        out.push_str(found.map_or(word.as_str(), |column| column.name.as_str()));
        word.clear();
    };
    for c in code.chars() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        end(&mut out, &mut word, quoted || braces > 0);
        match c {
            '"' => quoted = !quoted,
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
        out.push(c);
    }
    end(&mut out, &mut word, false);
    if line.contains('#') {
        out.push('#');
        out.push_str(comment);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_seams::table::ColumnDescription;

    fn table(names: &[&str]) -> TableDescription {
        let column =
            |name: &&str| ColumnDescription { name: (*name).to_owned(), ..ColumnDescription::default() };
        TableDescription {
            schema: Some("app".to_owned()),
            name: "queue".to_owned(),
            columns: names.iter().map(column).collect(),
            ..TableDescription::default()
        }
    }

    #[test]
    fn a_layout_is_recognised_whatever_the_case_of_its_columns() {
        for layout in LAYOUTS {
            let lower: Vec<String> = layout.columns.iter().map(|name| name.to_lowercase()).collect();
            let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
            assert_eq!(matching(&table(&lower), None), Some(layout), "{}", layout.name);
            assert_eq!(matching(&table(&lower[1..]), None), None, "{}", layout.name);
        }
        assert_eq!(matching(&table(LAYOUTS[0].columns), Some(Purpose::Mail)), None);
    }

    #[test]
    fn the_draft_spells_names_as_the_table() {
        let mut names = LAYOUTS[0].columns.to_vec();
        names.extend(["Processed", "nextAttemptTime"]);
        names.retain(|name| !["processed", "nextattempttime"].contains(name));
        let draft = LAYOUTS[0].draft(&table(&names));
        assert!(draft.contains("name = \"app.queue\""), "{draft}");
        assert!(draft.contains("due       = \"nextAttemptTime\""), "{draft}");
        assert!(draft.contains("queued = { Processed = false, blocked = false }"), "{draft}");
    }

    #[test]
    fn words_of_the_language_keep_their_case() {
        let table = table(&["Version", "Name"]);
        assert_eq!(
            with_names("version  = \"version\"  # version", &table),
            "version  = \"Version\"  # version"
        );
        assert_eq!(with_names("fence = [\"version\"]", &table), "fence = [\"version\"]");
        assert_eq!(with_names("where = { version = \"v1\" }", &table), "where = { Version = \"v1\" }");
    }
}
