use std::fmt::Write;
use std::path::Path;

use crate::shop::Shop;

/// Every command with its subcommands, as `--help` lists them; the first is the program itself.
pub fn commands(shop: &Shop) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while let Some(command) = found.get(next).cloned() {
        next += 1;
        let said = help(shop, &command);
        let listed = said.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
        let lines = listed.lines().take_while(|line| line.starts_with("  "));
        let names = lines.filter_map(|line| line[2..].split_once(' ')).filter(|(name, _)| !name.is_empty());
        for (name, _) in names.filter(|(name, _)| *name != "help") {
            found.push(command.iter().cloned().chain([name.to_owned()]).collect());
        }
    }
    found.sort();
    found
}

fn help(shop: &Shop, command: &[String]) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
    shop.run(&words).fine().out
}

/// The commands without subcommands.
pub fn leaves(shop: &Shop) -> Vec<Vec<String>> {
    let all = commands(shop);
    let is_leaf = |command: &&Vec<String>| {
        !all.iter().any(|other| other.len() > command.len() && other.starts_with(command))
    };
    all.iter().filter(is_leaf).cloned().collect()
}

/// The reference equals the output of `--help`. `UPDATE_REFERENCE=1 cargo test -p postrider help` rewrites it.
#[test]
fn the_reference_is_what_help_says() {
    let shop = Shop::new(None);
    let mut text = String::new();
    for command in commands(&shop) {
        let words = [&["postrider".to_owned()], &command[..]].concat().join(" ");
        write!(text, "$ {words} --help\n{}\n", help(&shop, &command)).unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.txt");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &text).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == text,
        "docs/reference/cli.txt is not what --help says: UPDATE_REFERENCE=1 cargo test -p postrider help"
    );
}

#[test]
fn misuse_is_exit_code_2_and_goes_to_stderr() {
    let shop = Shop::new(None);
    for arguments in
        [&[][..], &["fly"], &["requeue", "mail"], &["requeue", "mail", "7", "--state", "failed"], &["list"]]
    {
        let said = shop.run(arguments).code(2);
        assert_eq!(said.out, "", "{arguments:?}");
        assert!(said.err.contains("Usage"), "{arguments:?}: {}", said.err);
    }
}

#[test]
fn every_shell_gets_its_completions() {
    let shop = Shop::new(None);
    let commands = commands(&shop);
    assert!(commands.len() > 30, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = shop.run(&["completions", shell]).fine();
        for name in commands.iter().filter_map(|command| command.last()) {
            assert!(said.out.contains(name.as_str()), "{shell} knows no {name}");
        }
    }
}

#[test]
fn every_command_has_its_manual_page() {
    let shop = Shop::new(None);
    shop.run(&["manual", "pages"]).fine();
    for command in commands(&shop) {
        let name = [&["postrider".to_owned()], &command[..]].concat().join("-");
        let page = format!("{name}.1");
        let text = std::fs::read_to_string(shop.path("pages").join(&page)).expect(&page);
        assert!(text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    std::fs::write(shop.path("taken"), "").unwrap();
    let said = shop.run(&["manual", "taken"]).code(1);
    assert!(said.err.contains("taken"), "{}", said.err);
}
