//! Mistakes in the settings, as the binary reports them.

use crate::sandbox::{SQLITE, Sandbox};

#[test]
fn two_mistakes_in_one_file_are_reported_together_with_exit_code_2() {
    let sandbox = Sandbox::new(Some(&format!("{SQLITE}concurency = 4\n[server]\nlisten = \"everywhere\"\n")));
    for command in [&["run"][..], &["check"], &["status"], &["migrate"], &["list", "mail"]] {
        let output = sandbox.run(command).code(2);
        assert_eq!(output.stdout, "");
        let mistakes = "postrider.toml:12:1: lanes.mail.concurency: unknown key; did you mean `concurrency`?\n\
                        postrider.toml:14:10: server.listen: invalid value \"everywhere\": expected an address and a port, such as \
                        \"127.0.0.1:8080\", or \"off\"\n2 mistakes";
        assert!(output.stderr.contains(mistakes), "{}", output.stderr);
    }
    assert!(!sandbox.path("app.db").exists(), "nothing was made");
    assert!(!sandbox.path("outbox").exists(), "nothing was made");
}

#[test]
fn an_unknown_contract_is_reported_with_a_suggestion() {
    let sandbox = Sandbox::new(Some(&SQLITE.replace("\"mail_outbox\"", "\"mail_outbx\"")));
    let output = sandbox.run(&["run"]).code(2);
    assert!(
        output.stderr.contains("there is no built-in contract `mail_outbx`; did you mean `mail_outbox`?"),
        "{}",
        output.stderr
    );
}

#[test]
fn m05_a_setting_out_of_range_is_named() {
    let sandbox = Sandbox::ready();
    let output = sandbox.run_with(&["run"], &[("DISPATCH_BACKOFF_JITTER", "1.5")]).code(2);
    assert!(output.stderr.contains("DISPATCH_BACKOFF_JITTER"), "{}", output.stderr);
}

#[test]
fn a_named_file_must_exist() {
    let sandbox = Sandbox::new(None);
    let output = sandbox.run(&["status", "--config", "nowhere.toml"]).code(2);
    assert!(output.stderr.contains("nowhere.toml: cannot be read"), "{}", output.stderr);
    let output = sandbox.run_with(&["status"], &[("POSTRIDER_CONFIG", "elsewhere.toml")]).code(2);
    assert!(output.stderr.contains("elsewhere.toml"), "{}", output.stderr);
}

#[test]
fn relative_paths_start_at_the_settings_file() {
    let sandbox = Sandbox::new(None);
    std::fs::create_dir(sandbox.path("etc")).unwrap();
    std::fs::write(sandbox.path("etc/mine.toml"), SQLITE).unwrap();
    sandbox.run(&["migrate", "--config", "etc/mine.toml"]).success();
    assert!(sandbox.path("etc/app.db").exists());
}

#[test]
fn a_secret_is_never_printed() {
    let sandbox =
        Sandbox::new(Some(&SQLITE.replace("sqlite:app.db", "postgres://app:hunter2@127.0.0.1:1/app")));
    for command in [&["status"][..], &["check"], &["list", "mail"]] {
        let output = sandbox.run_with(command, &[("RUST_LOG", "debug")]).code(1);
        assert!(
            !output.stderr.contains("hunter2") && !output.stdout.contains("hunter2"),
            "{}{}",
            output.stdout,
            output.stderr
        );
    }
}
