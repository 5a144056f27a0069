//! Flags that a command, or the lane's database, has no use for are refused, not ignored.

use crate::sandbox::Sandbox;

#[test]
fn a_settings_file_is_refused_by_commands_that_read_none() {
    let sandbox = Sandbox::new(None);
    for command in [
        &["contract", "list"][..],
        &["contract", "verify", "jobs.toml"],
        &["secret", "key"],
        &["settings"],
        &["demo"],
        &["manual", "pages"],
        &["completions", "bash"],
    ] {
        for flag in ["--config", "-c"] {
            let output = sandbox.run(&[&[flag, "missing.toml"], command].concat()).code(2);
            let text = format!("`postrider {}` reads no settings file: leave out --config", command[0]);
            assert!(output.stderr.contains(&text), "{command:?}: {}", output.stderr);
            let output = sandbox.run(&[command, &[flag, "missing.toml"]].concat()).code(2);
            assert!(output.stderr.contains(&text), "{command:?}: {}", output.stderr);
        }
    }
    // The variable may be there for other commands.
    sandbox.run_with(&["contract", "list"], &[("POSTRIDER_CONFIG", "missing.toml")]).success();
    sandbox.run_with(&["status"], &[("POSTRIDER_CONFIG", "missing.toml")]).code(2);
}

#[test]
fn a_part_of_a_template_is_not_printed_as_json() {
    let sandbox = Sandbox::new(None);
    let output = sandbox.run(&["template", "render", "open-seat", "--part", "html", "--json"]).code(2);
    assert!(output.stderr.contains("--part") && output.stderr.contains("--json"), "{}", output.stderr);
}

#[test]
fn notifications_are_refused_where_the_database_has_none() {
    let sandbox = Sandbox::new(Some(crate::sandbox::SQLITE));
    let output = sandbox.run(&["migrate", "--notify"]).code(2);
    let text = "--notify is for PostgreSQL only, and these lanes are on another database: `mail`";
    assert!(output.stderr.contains(text), "{}", output.stderr);
    assert!(sandbox.run(&["check"]).code(1).stdout.contains("has no table"), "nothing was done");
    sandbox.run(&["migrate"]).success();
}

#[test]
fn search_indexes_are_refused_where_the_database_has_none() {
    let settings = "[stores.cloud]\nurl = \"dynamodb://key:secret@us-east-1?endpoint=http://127.0.0.1:1\"\n\
                    [transports.out]\nurl = \"file:outbox\"\n\
                    [lanes.send]\ncontract = \"emails\"\nstage = \"send\"\nemails = { base = \"mails\" }\n";
    let output = Sandbox::new(Some(settings)).run(&["migrate", "--search"]).code(2);
    let text =
        "--search is for PostgreSQL, MySQL and SQLite only, and these lanes are on another database: `send`";
    assert!(output.stderr.contains(text), "{}", output.stderr);
}

#[test]
fn the_order_of_a_list_is_refused_where_rows_have_none() {
    let settings = "[stores.cloud]\nurl = \"dynamodb://key:secret@us-east-1?endpoint=http://127.0.0.1:1\"\n\
                    [transports.out]\nurl = \"file:outbox\"\n[mail]\nfrom = \"shop@example.com\"\n\
                    [lanes.send]\ncontract = \"emails\"\nstage = \"send\"\nemails = { base = \"mails\" }\n";
    let sandbox = Sandbox::new(Some(settings));
    for more in [&[][..], &["--json"]] {
        let output = sandbox.run(&[&["list", "send", "--oldest"], more].concat()).code(2);
        assert!(
            output.stderr.contains("--oldest: DynamoDB keeps rows in no order of time"),
            "{}",
            output.stderr
        );
    }
}
