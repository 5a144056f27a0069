use std::fmt::Write;
use std::path::Path;

use crate::shop::Shop;

const COMMANDS: [&[&str]; 35] = [
    &[],
    &["run"],
    &["demo"],
    &["migrate"],
    &["check"],
    &["status"],
    &["list"],
    &["show"],
    &["requeue"],
    &["cancel"],
    &["pause"],
    &["resume"],
    &["purge"],
    &["suppress"],
    &["suppress", "add"],
    &["suppress", "remove"],
    &["suppress", "list"],
    &["contract"],
    &["contract", "list"],
    &["contract", "show"],
    &["contract", "verify"],
    &["contract", "ddl"],
    &["send"],
    &["send", "mail"],
    &["send", "record"],
    &["send", "webhook"],
    &["account"],
    &["account", "create"],
    &["account", "regenerate"],
    &["secret"],
    &["secret", "key"],
    &["secret", "encrypt"],
    &["secret", "reencrypt"],
    &["completions"],
    &["manual"],
];

/// The reference is what the binary says. `UPDATE_REFERENCE=1 cargo test -p postrider help` writes it anew.
#[test]
fn the_reference_is_what_help_says() {
    let shop = Shop::new(None);
    let mut text = String::new();
    for command in COMMANDS {
        let mut arguments = command.to_vec();
        arguments.push("--help");
        let said = shop.run(&arguments);
        write!(text, "$ postrider {}\n{}\n", arguments.join(" "), said.fine().out).unwrap();
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
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = shop.run(&["completions", shell]).fine();
        assert!(said.out.contains("requeue"), "{shell}: {}", said.out);
    }
}

#[test]
fn every_command_has_its_manual_page() {
    let shop = Shop::new(None);
    shop.run(&["manual", "pages"]).fine();
    for page in ["postrider.1", "postrider-requeue.1", "postrider-send-mail.1"] {
        let text = std::fs::read_to_string(shop.path("pages").join(page)).expect(page);
        assert!(text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    std::fs::write(shop.path("taken"), "").unwrap();
    let said = shop.run(&["manual", "taken"]).code(1);
    assert!(said.err.contains("taken"), "{}", said.err);
}
