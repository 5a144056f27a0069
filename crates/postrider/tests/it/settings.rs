use crate::shop::{SQLITE, Shop};

#[test]
fn two_mistakes_in_one_file_are_one_message_and_exit_code_2() {
    let shop = Shop::new(Some(&format!("{SQLITE}concurency = 4\n[server]\nlisten = \"everywhere\"\n")));
    for command in [&["run"][..], &["check"], &["status"], &["migrate"], &["list", "mail"]] {
        let said = shop.run(command).code(2);
        assert_eq!(said.out, "");
        let mistakes = "postrider.toml:12: lanes.mail.concurency: unknown key; did you mean `concurrency`?\n\
                        postrider.toml:14: server.listen: `everywhere`: expected an address and a port, such as \
                        \"127.0.0.1:8080\", or \"off\"\n2 mistakes";
        assert!(said.err.contains(mistakes), "{}", said.err);
    }
    assert!(!shop.path("app.db").exists(), "nothing was made");
    assert!(!shop.path("outbox").exists(), "nothing was made");
}

#[test]
fn an_unknown_contract_is_named_with_the_nearest() {
    let shop = Shop::new(Some(&SQLITE.replace("\"mail_outbox\"", "\"mail_outbx\"")));
    let said = shop.run(&["run"]).code(2);
    assert!(
        said.err.contains("there is no built-in contract `mail_outbx`; did you mean `mail_outbox`?"),
        "{}",
        said.err
    );
}

#[test]
fn m05_a_setting_out_of_range_is_named() {
    let shop = Shop::ready();
    let said = shop.run_with(&["run"], &[("DISPATCH_BACKOFF_JITTER", "1.5")]).code(2);
    assert!(said.err.contains("DISPATCH_BACKOFF_JITTER"), "{}", said.err);
}

#[test]
fn a_named_file_must_be_there() {
    let shop = Shop::new(None);
    let said = shop.run(&["status", "--config", "nowhere.toml"]).code(2);
    assert!(said.err.contains("nowhere.toml: cannot be read"), "{}", said.err);
    let said = shop.run_with(&["status"], &[("POSTRIDER_CONFIG", "elsewhere.toml")]).code(2);
    assert!(said.err.contains("elsewhere.toml"), "{}", said.err);
}

#[test]
fn relative_paths_start_at_the_settings_file() {
    let shop = Shop::new(None);
    std::fs::create_dir(shop.path("etc")).unwrap();
    std::fs::write(shop.path("etc/mine.toml"), SQLITE).unwrap();
    shop.run(&["migrate", "--config", "etc/mine.toml"]).fine();
    assert!(shop.path("etc/app.db").exists());
}

#[test]
fn a_secret_is_never_printed() {
    let shop = Shop::new(Some(
        &SQLITE.replace("sqlite:app.db", "postgres://app:hunter2@127.0.0.1:1/app?connect_timeout=1"),
    ));
    for command in [&["status"][..], &["check"], &["list", "mail"]] {
        let said = shop.run_with(command, &[("RUST_LOG", "debug")]).code(1);
        assert!(!said.err.contains("hunter2") && !said.out.contains("hunter2"), "{}{}", said.out, said.err);
    }
}
