//! `--help` equals the reference; wrong arguments exit with 2; completions and manual pages exist for every command.

use std::fmt::Write;
use std::path::Path;

use crate::sandbox::Sandbox;

/// Every command with its subcommands, as `--help` lists them; the first is the program itself.
pub fn commands(sandbox: &Sandbox) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while let Some(command) = found.get(next).cloned() {
        next += 1;
        let output = help(sandbox, &command);
        let listed = output.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
        let lines = listed.lines().take_while(|line| line.starts_with("  "));
        let names = lines.filter_map(|line| line[2..].split_once(' ')).filter(|(name, _)| !name.is_empty());
        for (name, _) in names.filter(|(name, _)| *name != "help") {
            found.push(command.iter().cloned().chain([name.to_owned()]).collect());
        }
    }
    found.sort();
    found
}

fn help(sandbox: &Sandbox, command: &[String]) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
    sandbox.run(&words).success().stdout
}

/// The commands without subcommands.
pub fn leaves(sandbox: &Sandbox) -> Vec<Vec<String>> {
    let all = commands(sandbox);
    let is_leaf = |command: &&Vec<String>| {
        !all.iter().any(|other| other.len() > command.len() && other.starts_with(command))
    };
    all.iter().filter(is_leaf).cloned().collect()
}

/// The reference equals the output of `--help`. `UPDATE_REFERENCE=1 cargo test -p postrider help` rewrites it.
#[test]
fn the_reference_equals_the_help() {
    let sandbox = Sandbox::new(None);
    let mut text = String::new();
    for command in commands(&sandbox) {
        let words = [&["postrider".to_owned()], &command[..]].concat().join(" ");
        write!(text, "$ {words} --help\n{}\n", help(&sandbox, &command)).unwrap();
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
fn misuse_exits_with_code_2_and_prints_to_stderr() {
    let sandbox = Sandbox::new(None);
    for arguments in
        [&[][..], &["fly"], &["requeue", "mail"], &["requeue", "mail", "7", "--state", "failed"], &["list"]]
    {
        let output = sandbox.run(arguments).code(2);
        assert_eq!(output.stdout, "", "{arguments:?}");
        assert!(output.stderr.contains("Usage"), "{arguments:?}: {}", output.stderr);
    }
}

#[test]
fn every_shell_has_completions() {
    let sandbox = Sandbox::new(None);
    let commands = commands(&sandbox);
    assert!(commands.len() > 30, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = sandbox.run(&["completions", shell]).success();
        for name in commands.iter().filter_map(|command| command.last()) {
            assert!(output.stdout.contains(name.as_str()), "{shell} knows no {name}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let sandbox = Sandbox::new(None);
    sandbox.run(&["manual", "pages"]).success();
    for command in commands(&sandbox) {
        let name = [&["postrider".to_owned()], &command[..]].concat().join("-");
        let page = format!("{name}.1");
        let text = std::fs::read_to_string(sandbox.path("pages").join(&page)).expect(&page);
        assert!(text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    std::fs::write(sandbox.path("taken"), "").unwrap();
    let output = sandbox.run(&["manual", "taken"]).code(1);
    assert!(output.stderr.contains("taken"), "{}", output.stderr);
}
