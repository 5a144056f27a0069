//! The book's commands, run as a reader would run them: in an empty folder, one after another.
//!
//! A block "```LANGUAGE FILE" is a file to write. A block "```console" has commands behind `$ ` and what they say; `…`
//! stands for anything within a line, and on a line of its own for any lines. What only looks (`status`, `cat` and the
//! like) is looked at again until it says what the page says: a delivery takes a moment.

mod page;
mod shell;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use postrider_services::Tool;

use crate::shop::{Shop, pause};
use page::{Block, fits, read};
use shell::Shell;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Commands that change nothing, and may so be given again.
const LOOKS: [&str; 8] = [
    "postrider status",
    "postrider list",
    "postrider show",
    "postrider check",
    "cat ",
    "ls ",
    "grep ",
    "curl -s ",
];

/// For a page's words to come true.
const PATIENCE: Duration = Duration::from_secs(30);

fn follow(file: &str, before: &str) {
    Tool::Sqlite3.command().unwrap();
    let text = std::fs::read_to_string(root().join(file)).expect(file);
    let shop = Shop::new(None);
    let mut shell = Shell::start(&shop.path("."));
    shell.run(before);
    let mut commands = 0;
    for block in read(&text) {
        match block {
            Block::File { name, text } => std::fs::write(shop.path(&name), shell.here(&text)).expect(&name),
            Block::Command { line, says } => {
                commands += 1;
                obey(file, &mut shell, &line, &says);
            }
        }
    }
    assert!(commands > 3, "{file} has commands");
}

fn obey(file: &str, shell: &mut Shell, line: &str, says: &[String]) {
    let asks = line.starts_with("sqlite3 ") && line.contains("SELECT") && !line.contains("INSERT");
    let again = asks || LOOKS.iter().any(|look| line.starts_with(look));
    let start = Instant::now();
    loop {
        let said = shell.run(line);
        if fits(says, &said.lines().collect::<Vec<_>>()) {
            return;
        }
        let late = !again || start.elapsed() > PATIENCE;
        assert!(!late, "{file}: $ {line}\n--- the page says\n{}\n--- it said\n{said}", says.join("\n"));
        pause();
    }
}

macro_rules! pages {
    ($($name:ident: $file:literal after $before:literal,)+) => {
        $(#[test] fn $name() { follow($file, $before); })+

        /// A start that nobody follows is a start that nobody knows to work.
        #[test]
        fn every_start_is_followed() {
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
    a_table_of_ones_own: "docs/start/own_table.md" after ":",
    the_command_line: "docs/reference/cli.md" after "postrider settings > postrider.toml; postrider migrate",
}
