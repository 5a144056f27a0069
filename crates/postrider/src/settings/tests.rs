use std::path::Path;
use std::time::Duration;

use postrider_contract::Schedule;

use super::*;

fn load(text: &str, variables: &[(&str, &str)]) -> Result<Settings, InvalidSettings> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("postrider.toml"), text).unwrap();
    load_in(folder.path(), variables)
}

fn load_in(folder: &Path, variables: &[(&str, &str)]) -> Result<Settings, InvalidSettings> {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Settings::load(&Sources { config: None, folder: folder.to_owned(), variables })
}

/// Formats each mistake as a line, without the folder.
fn mistakes(text: &str, variables: &[(&str, &str)]) -> String {
    let text = load(text, variables).unwrap_err().to_string();
    text.lines()
        .map(|line| line.split_once("/postrider.toml").map_or(line, |(_, rest)| rest))
        .collect::<Vec<_>>()
        .join("\n")
}

const GOOD: &str = r#"
[stores.main]
url = "sqlite:app.db"
[transports.relay]
url = "smtp://127.0.0.1:25"
[lanes.mail]
contract = "mail_outbox"
"#;

#[test]
fn the_only_store_transport_and_stage_need_no_name() {
    let settings = load(GOOD, &[]).unwrap();
    let lane = settings.lane("mail").unwrap();
    assert_eq!((lane.store.as_str(), lane.transport.as_str(), lane.stage), ("main", "relay", 0));
    assert_eq!(lane.limits.batch, lane.contract.claim.batch, "the contract's, where the lane says nothing");
    assert_eq!(settings.server, Server::default());
    assert!(!settings.creates_tables, "tables are created automatically only without a file");
}

#[test]
fn without_a_file_the_built_in_settings_stand_in() {
    let folder = tempfile::tempdir().unwrap();
    let settings = load_in(folder.path(), &[]).unwrap();
    assert_eq!(
        settings.lanes.iter().map(|lane| lane.name.as_str()).collect::<Vec<_>>(),
        ["dispatch_jobs", "mail_outbox", "outbox"]
    );
    assert!(settings.creates_tables);
    assert_eq!(settings.generated_key_file.as_deref(), Some(Path::new("postrider.key")));
    let keyed = load_in(folder.path(), &[("POSTRIDER_SECRET_KEY_FILE", "elsewhere")]).unwrap();
    assert_eq!(keyed.generated_key_file, None, "keys that are set replace the generated one");
    let allowed = [("POSTRIDER__TRANSPORTS__WEBHOOKS__ALLOW", "127.0.0.0/8")];
    assert!(load_in(folder.path(), &allowed).unwrap().creates_tables, "a target is no table");
    let touched = load_in(folder.path(), &[("POSTRIDER__STORES__MAIN__URL", "postgres://db/app")]).unwrap();
    assert!(!touched.creates_tables, "another database is not ours to change unasked");
}

#[test]
fn two_mistakes_are_both_reported_with_line_key_and_remedy() {
    let text = format!("{GOOD}concurency = 4\nbatch = 0\n");
    assert_eq!(
        mistakes(&text, &[]),
        ":8:1: lanes.mail.concurency: unknown key; did you mean `concurrency`?\n\
         :9:9: lanes.mail.batch: invalid value `0`: expected a whole number from 1 to 1000\n\
         2 mistakes in the settings; nothing was started or changed"
    );
}

#[test]
fn names_that_lead_nowhere_are_reported_with_the_nearest() {
    let text = "[stores.main]\nurl = \"postgre://u:hunter2@h/d\"\n[transports.relay]\nurl = \"smtp://127.0.0.1\"\n\
                [lanes.a]\ncontract = \"mail_outbx\"\nstore = \"mian\"\n[lanes.b]\ncontract = \"mail_outbox\"\nstage = \"dispach\"\n";
    let text = mistakes(text, &[]);
    assert!(
        text.contains(":2:7: stores.main.url: unknown scheme `postgre:`; did you mean `postgres`?"),
        "{text}"
    );
    assert!(
        text.contains(
            ":6:12: lanes.a.contract: there is no built-in contract `mail_outbx`; did you mean `mail_outbox`?"
        ),
        "{text}"
    );
    assert!(text.contains(":7:9: lanes.a.store: no [stores.mian]; did you mean `main`?"), "{text}");
    assert!(
        text.contains(
            ":10:9: lanes.b.stage: contract `mail_outbox` has no stage `dispach`; did you mean `dispatch`?"
        ),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn a_lane_overrides_its_contract_and_mistakes_keep_their_line() {
    let good = format!(
        "{GOOD}[lanes.mail.retry]\nbase = \"1s\"\njitter = 0.0\n[lanes.mail.columns]\nattempts = \"retryCount\"\n"
    );
    let settings = load(&good, &[]).unwrap();
    let contract = &settings.lane("mail").unwrap().contract;
    assert_eq!(contract.column(postrider_contract::ColumnRole::Attempts), Some("retryCount"));
    let wrong = mistakes(&format!("{GOOD}[lanes.mail.retry]\nbase = \"1s\"\njitter = 7\n"), &[]);
    assert!(wrong.starts_with(":10:10: lanes.mail.retry.jitter: "), "{wrong}");
    let wrong = mistakes(GOOD, &[("POSTRIDER__LANES__MAIL__RETRY__JITTER", "7")]);
    assert!(
        wrong.starts_with(
            "POSTRIDER__LANES__MAIL__RETRY__JITTER: lanes.mail.retry.jitter: invalid value `7`: expected a number"
        ),
        "{wrong}"
    );
}

#[test]
fn m05_the_specifications_own_names_work_and_are_named_when_wrong() {
    let settings =
        load(GOOD, &[("DISPATCH_MAX_ATTEMPTS", "9"), ("DISPATCH_BACKOFF_BASE_SECONDS", "7")]).unwrap();
    let stage = &settings.lane("mail").unwrap().contract.stages[0];
    assert_eq!(stage.attempts.max, 9);
    assert!(
        matches!(stage.retry_rule.schedule, Schedule::Exponential { base, .. } if base == Duration::from_secs(7))
    );
    let wrong = mistakes(GOOD, &[("DISPATCH_BACKOFF_JITTER", "3")]);
    assert!(wrong.starts_with("DISPATCH_BACKOFF_JITTER: "), "{wrong}");
    let both = mistakes(GOOD, &[("DISPATCH_BACKOFF_JITTER", "3"), ("DISPATCH_BACKOFF_BASE_SECONDS", "soon")]);
    assert!(
        both.contains("DISPATCH_BACKOFF_JITTER") && both.contains("DISPATCH_BACKOFF_BASE_SECONDS"),
        "{both}"
    );
}

#[test]
fn a_variable_wins_over_the_file_and_is_named_when_wrong() {
    let text = format!("{GOOD}concurrency = 2\n");
    let settings = load(&text, &[("POSTRIDER__LANES__MAIL__CONCURRENCY", "8")]).unwrap();
    assert_eq!(settings.lane("mail").unwrap().limits.concurrency, 8);
    let wrong = mistakes(&text, &[("POSTRIDER__LANES__MAIL__CONCURRENCY", "lots")]);
    assert!(
        wrong
            .starts_with("POSTRIDER__LANES__MAIL__CONCURRENCY: lanes.mail.concurrency: invalid value `lots`"),
        "{wrong}"
    );
}

#[test]
fn secrets_are_followed_and_never_shown() {
    let text = GOOD.replace("sqlite:app.db", "env://DATABASE") + "[lanes.x]\ncontract = \"nothing\"\n";
    let variables = [("DATABASE", "postgres://app:hunter2@db/app")];
    assert!(!mistakes(&text, &variables).contains("hunter2"));
    let settings = load(&GOOD.replace("sqlite:app.db", "env://DATABASE"), &variables).unwrap();
    assert_eq!(settings.stores["main"].url.reveal(), "postgres://app:hunter2@db/app");
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn a_password_of_its_own_joins_the_url() {
    let text = GOOD.replace(
        "url = \"smtp://127.0.0.1:25\"",
        "url = \"smtps://relay.example\"\nuser = \"shop\"\npassword = \"env://PW\"",
    );
    let settings = load(&text, &[("PW", "a/b@c")]).unwrap();
    assert_eq!(settings.transports["relay"].url.reveal(), "smtps://shop:a%2Fb%40c@relay.example");
}

#[test]
fn what_is_not_toml_has_its_line() {
    let text = mistakes("[server]\nlisten = \n", &[]);
    assert!(text.starts_with(":2:10: not TOML: "), "{text}");
}

#[test]
fn nothing_to_run_is_a_mistake() {
    assert!(mistakes("", &[]).contains("there is no lane to run"));
    assert!(mistakes(&format!("{GOOD}enabled = false\n"), &[]).contains("there is no lane to run"));
}

#[test]
fn m08_mail_settings_of_a_lane_go_over_the_global_ones() {
    let text = format!(
        "[mail]\nfrom = \"a@example.com\"\nsize_limit = \"1MB\"\n{GOOD}[lanes.mail.mail]\nfrom = \"b@example.com\"\n"
    );
    let settings = load(&text, &[]).unwrap();
    let mail = &settings.lane("mail").unwrap().mail;
    assert_eq!((mail.from.as_deref(), mail.size_limit), (Some("b@example.com"), 1 << 20));
    let wrong = mistakes(&format!("[mail]\nfrom = \"nobody\"\n{GOOD}"), &[]);
    assert!(wrong.contains("from: "), "{wrong}");
}

#[test]
fn a_providers_key_is_a_secret() {
    let text = GOOD.replace("url = \"smtp://127.0.0.1:25\"", "url = \"resend://\"\nkey = \"env://KEY\"");
    let settings = load(&text, &[("KEY", "re_hunter2")]).unwrap();
    let options = [("key".to_owned(), "re_hunter2".to_owned())];
    assert_eq!(settings.transports["relay"].options(), options);
    assert!(!format!("{settings:?}").contains("hunter2"));
    assert!(mistakes(&text, &[]).contains("`KEY` is not set"));
    let smtp = mistakes(&GOOD.replace("25\"", "25\"\nkey = \"hunter2\""), &[]);
    assert!(
        smtp.contains("transports.relay.key: is only for mail providers") && !smtp.contains("hunter2"),
        "{smtp}"
    );
}

const EVENTS: &str = r#"
[stores.main]
url = "sqlite:app.db"
[transports.broker]
url = "kafka://127.0.0.1:9092"
[lanes.events]
contract = "outbox"
"#;

/// Returns poll, batch, attempts, first backoff, publish timeout and least age.
fn of_events(settings: &Settings) -> (Duration, u32, u32, Option<Duration>, Duration, Duration) {
    let lane = settings.lane("events").unwrap();
    let stage = &lane.contract.stages[0];
    let base = match &stage.retry_rule.schedule {
        Schedule::Exponential { base, .. } => Some(*base),
        Schedule::Delays { .. } => None,
    };
    let (limits, age) = (lane.limits, lane.contract.claim.min_age);
    (limits.poll_interval, limits.batch, stage.attempts.max, base, limits.timeout, age)
}

#[test]
fn o04_the_specifications_defaults() {
    let (second, half) = (Duration::from_secs(1), Duration::from_millis(500));
    let settings = load(EVENTS, &[]).unwrap();
    assert_eq!(of_events(&settings), (half, 50, 3, Some(second), second * 5, second));
    assert!(
        !settings.lane("events").unwrap().limits.single_claimer,
        "any number of instances share the work"
    );
}

#[test]
fn o04_the_specifications_variables_win_over_the_file() {
    let file = format!(
        "{EVENTS}poll = \"9s\"\nbatch = 9\ntimeout = \"9s\"\nclaim.min_age = \"3s\"\nretry.base = \"9s\"\n"
    );
    let variables = [
        ("APP_OUTBOX_POLL_INTERVAL", "250ms"),
        ("APP_OUTBOX_BATCH_SIZE", "77"),
        ("APP_OUTBOX_MAX_RETRIES", "5"),
        ("APP_OUTBOX_INITIAL_BACKOFF", "2s"),
        ("APP_OUTBOX_PUBLISH_TIMEOUT", "7s"),
    ];
    let seconds = Duration::from_secs;
    let wanted = (Duration::from_millis(250), 77, 5, Some(seconds(2)), seconds(7), seconds(3));
    assert_eq!(of_events(&load(&file, &variables).unwrap()), wanted);
    let found = mistakes(EVENTS, &[("APP_OUTBOX_BATCH_SIZE", "0"), ("APP_OUTBOX_POLL_INTERVAL", "1ms")]);
    assert!(found.contains("APP_OUTBOX_BATCH_SIZE") && found.contains("APP_OUTBOX_POLL_INTERVAL"), "{found}");
}

#[test]
fn records_have_settings_of_their_own() {
    let settings = load(&format!("{EVENTS}dead_letter = true\npayload_limit = \"2MB\"\n"), &[]).unwrap();
    let records = &settings.lane("events").unwrap().records;
    assert_eq!(records.dead_letter, Some(DeadLetter::Usual));
    assert_eq!(records.payload_limit, Some(2 << 20));
    let found = mistakes(&format!("{EVENTS}dead_letter = \"a b\"\n"), &[]);
    assert!(found.contains("lanes.events.dead_letter"), "{found}");
    let found = mistakes(&format!("{GOOD}dead_letter = true\n"), &[]);
    assert!(found.contains("for lanes that publish records"), "{found}");
    let sqs = EVENTS.replace("kafka://127.0.0.1:9092", "sqs://a:b@eu-west-1");
    let found = mistakes(&format!("{sqs}dead_letter = \".dlq\"\n"), &[]);
    assert!(found.contains("SQS allows no dot"), "{found}");
}

#[test]
fn n09_several_senders_are_one_transport() {
    const MANY: &str = "[transports.resend]\nurl = \"resend://\"\nkey = \"k\"\n\
                        [transports.mail]\nurl = \"reliable:\"\nsenders = [\"resend\", \"relay\"]\n";
    let named = GOOD.replace("[lanes.mail]", "[lanes.mail]\ntransport = \"mail\"");
    let settings = load(
        &format!("{MANY}waits = [\"0s\", \"1s\"]\njitter = 0\ncool_down = \"5s\"\nrates = {{ resend = 2 }}\n{named}"),
        &[],
    )
    .unwrap();
    let reliable = settings.transports["mail"].reliable.as_ref().unwrap();
    assert_eq!(
        reliable.senders.iter().map(|sender| sender.value.as_str()).collect::<Vec<_>>(),
        ["resend", "relay"]
    );
    assert_eq!(reliable.rates["resend"].to_string(), "2");
    assert_eq!(reliable.plan.waits, [Duration::ZERO, Duration::from_secs(1)]);
    assert_eq!(reliable.plan.cool_down, Duration::from_secs(5));
    let wrong = |text: &str| mistakes(&format!("{}{named}", MANY.replace("\"relay\"]", text)), &[]);
    assert!(
        wrong("\"rely\"]").contains("transports.mail.senders: no [transports.rely]; did you mean `relay`?")
    );
    assert!(wrong("\"resend\"]").contains("`resend` is listed twice"));
    assert!(wrong("\"mail\"]").contains("`mail` cannot send mail directly"));
    assert!(wrong("\"relay\"]\nwaits = [\"soon\"]").contains("expected a duration up to 5m"));
    assert!(wrong("\"relay\"]\nrates = { other = 1 }").contains("`other` is not one of the senders"));
    assert!(wrong("\"relay\"]\nrates = { relay = 0 }").contains("expected a number"));
    assert!(
        wrong("\"relay\"]\nconnections = 3")
            .contains("transports.mail.connections: is not an option of reliable:")
    );
    let none = mistakes(&format!("[transports.mail]\nurl = \"reliable:\"\n{named}"), &[]);
    assert!(none.contains("transports.mail.senders: is required; set senders ="), "{none}");
}

#[test]
fn a_field_that_the_composer_does_not_read_is_a_mistake_at_the_lanes_line() {
    let text = format!("{GOOD}[lanes.mail.message]\nbody = \"body_text?\"\n");
    let found = mistakes(&text, &[]);
    assert!(found.starts_with(":9:8: lanes.mail.message.body: is not read by the composer;"), "{found}");

    let folder = tempfile::tempdir().unwrap();
    let lacking = Contract::builtin("outbox").unwrap().replace("payload     = ", "# payload = ");
    std::fs::write(folder.path().join("mine.toml"), lacking).unwrap();
    let text = GOOD.replace("mail_outbox", "./mine.toml").replace("smtp://127.0.0.1:25", "file:outbox");
    std::fs::write(folder.path().join("postrider.toml"), text).unwrap();
    let found = load_in(folder.path(), &[]).unwrap_err().to_string();
    assert!(
        found.contains("mine.toml") && found.contains("message.payload: is required by the composer"),
        "{found}"
    );
}

#[test]
fn keys_that_a_store_or_queue_has_no_use_for_are_refused() {
    let text = GOOD
        .replace("app.db\"", "app.db\"\nconnections = 4\ntimeout = \"3s\"\nlisten_url = \"postgres://x/y\"");
    let found = mistakes(&text, &[]);
    for key in ["connections: is only for PostgreSQL and MySQL", "timeout: is only for PostgreSQL and MySQL"]
    {
        assert!(found.contains(&format!("stores.main.{key}")), "{found}");
    }
    assert!(found.contains("stores.main.listen_url: is only for PostgreSQL"), "{found}");
    let queue = "[queues.jobs]\nurl = \"amqp://127.0.0.1/\"\nqueue = \"jobs\"\npatience = \"1m\"\n";
    let found = mistakes(&format!("{GOOD}{queue}"), &[]);
    assert!(found.contains("queues.jobs.patience: is for NATS and SQS"), "{found}");
}
