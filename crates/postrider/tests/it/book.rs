//! Runs the commands of the documentation as a reader would: in an empty folder, one after another.
//!
//! A block "```LANGUAGE FILE" is a file to write. A block "```console" has commands after `$ ` and their output; `…`
//! matches anything within a line, and on a line of its own any lines. Commands that only read (`status`, `cat` and the
//! like) are repeated until their output matches, as a delivery takes a moment.

mod contracts;
mod page;
mod shell;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use postrider_services::Tool;

use crate::databases::{fresh, server};
use crate::sandbox::{Sandbox, pause};
use page::{Block, fits, read};
use shell::Shell;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Commands that change nothing and may therefore be repeated.
const READ_ONLY: [&str; 8] = [
    "postrider status",
    "postrider list",
    "postrider show",
    "postrider check",
    "cat ",
    "ls ",
    "grep ",
    "curl -s ",
];

/// Time limit for the output of a command to match the page.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The exactness with which the output must match the page.
#[derive(Clone, Copy)]
enum Match {
    Exact,
    /// Columns may be wider, as other databases print longer times.
    AnyWidth,
}

fn run_page(file: &str, before: &str, matching: Match) {
    Tool::Sqlite3.command().unwrap();
    let text = std::fs::read_to_string(root().join(file)).expect(file);
    let sandbox = Sandbox::new(None);
    let mut shell = Shell::start(&sandbox.path("."));
    shell.run(before);
    let mut commands = 0;
    for block in read(&text) {
        match block {
            Block::File { name, text } => {
                std::fs::write(sandbox.path(&name), shell.with_free_ports(&text)).expect(&name);
            }
            Block::Command { line, says } => {
                commands += 1;
                run_step(file, &mut shell, &line, &says, matching);
            }
        }
    }
    assert!(commands > 3, "{file} has commands");
}

fn run_step(file: &str, shell: &mut Shell, line: &str, says: &[String], matching: Match) {
    let is_query = line.starts_with("sqlite3 ") && line.contains("SELECT") && !line.contains("INSERT");
    let may_repeat = is_query || READ_ONLY.iter().any(|look| line.starts_with(look));
    let start = Instant::now();
    loop {
        let output = shell.run(line);
        let right = match matching {
            Match::Exact => fits(says, &output.lines().collect::<Vec<_>>()),
            Match::AnyWidth => {
                let output: Vec<String> = output.lines().map(squeeze).collect();
                let says: Vec<String> = says.iter().map(|line| squeeze(line)).collect();
                fits(&says, &output.iter().map(String::as_str).collect::<Vec<_>>())
            }
        };
        if right {
            return;
        }
        let late = !may_repeat || start.elapsed() > TIMEOUT;
        assert!(!late, "{file}: $ {line}\n--- the page says\n{}\n--- it said\n{output}", says.join("\n"));
        pause();
    }
}

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Follows the page on a server: a variable overrides the URL of the store, and `sqlite3` queries the server.
async fn run_on_server(variable: &str, name: &str) {
    for page in ["mail_outbox", "outbox", "dispatch_jobs", "emails"] {
        let url = fresh(&server(variable), &format!("book_{name}_{page}")).await;
        let ask = if name == "postgres" {
            format!("psql -qAt '{url}' -c \"$2\"")
        } else {
            let parts = url::Url::parse(&url).unwrap();
            let (host, port) = (parts.host_str().unwrap(), parts.port().unwrap());
            let password = parts.password().map_or_else(String::new, |password| format!(" -p{password}"));
            let login = format!("-u{}{password}", parts.username());
            let database = parts.path().trim_start_matches('/');
            format!(
                "mariadb {login} -h{host} -P{port} {database} -NB -e \"$2\" | sed 's/NULL//g' | tr '\\t' '|'"
            )
        };
        let before = format!("export POSTRIDER__STORES__MAIN__URL='{url}'; sqlite3() {{ {ask}; }}");
        let file = format!("docs/start/{page}.md");
        tokio::task::spawn_blocking(move || run_page(&file, &before, Match::AnyWidth)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_on_postgres() {
    run_on_server("POSTRIDER_TEST_POSTGRES", "postgres").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_on_mysql() {
    run_on_server("POSTRIDER_TEST_MYSQL", "mysql").await;
}

macro_rules! pages {
    ($($name:ident: $file:literal after $before:literal,)+) => {
        $(#[test] fn $name() { run_page($file, $before, Match::Exact); })+

        /// Every start page is tested here; one that is not could be wrong without notice.
        #[test]
        fn every_start_page_is_tested() {
            let followed = [$($file),+];
            for entry in std::fs::read_dir(root().join("docs/start")).unwrap() {
                let file = format!("docs/start/{}", entry.unwrap().file_name().to_string_lossy());
                assert!(followed.contains(&file.as_str()), "{file}");
            }
        }
    };
}

pages! {
    mails: "docs/start/mail_outbox.md" after ":",
    records: "docs/start/outbox.md" after ":",
    webhooks: "docs/start/dispatch_jobs.md" after ":",
    notifications: "docs/start/open_event_notifications.md" after ":",
    the_e_mail_pipeline: "docs/start/emails.md" after ":",
    a_custom_table: "docs/start/own_table.md" after ":",
    the_quick_start: "README.md" after ":",
    operations: "docs/operations.md" after "postrider settings > postrider.toml; postrider migrate",
    the_command_line: "docs/reference/cli.md" after "postrider settings > postrider.toml; postrider migrate",
}
