//! Compares `docs/reference/metrics.md` with `/metrics` of a run in which every kind of lane delivered something:
//! names, kinds and labels are equal.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::sandbox::{RunningBinary, Sandbox};
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::{Reply, WebhookReceiver as Hooks};

const REFERENCE: &str = include_str!("../../../../../docs/reference/metrics.md");
const LANES: [&str; 8] = ["mail", "events", "jobs", "notify", "intake", "send", "sent", "failed"];

/// Metric name → kind and labels.
type Families = BTreeMap<String, (String, BTreeSet<String>)>;

/// Parses the tables of the page: name, kind, labels, meaning.
fn documented() -> Families {
    let mut found = Families::new();
    for line in REFERENCE.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, labels, meaning] = cells.as_slice() else { panic!("four cells: {line}") };
        assert!(!meaning.is_empty(), "{line}");
        let labels = labels.split(',').map(|label| label.trim().trim_matches('`').to_owned());
        let labels = labels.filter(|label| !label.is_empty()).collect();
        let before = found.insert(name.trim_matches('`').to_owned(), ((*kind).to_owned(), labels));
        assert_eq!(before, None, "documented twice: {line}");
    }
    found
}

fn published(running: &RunningBinary) -> Families {
    let (code, text) = tokio::task::block_in_place(|| running.get("/metrics"));
    assert_eq!(code, 200);
    let mut found = Families::new();
    for line in text.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            assert!(text.contains(&format!("# HELP {name} ")), "{name} says nothing of its meaning");
            found.insert(name.to_owned(), (kind.to_owned(), BTreeSet::new()));
        }
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, labels)) = line.split_once('{') else { continue };
        let ends = ["", "_bucket", "_sum", "_count"];
        let family =
            ends.iter().find_map(|end| name.strip_suffix(end).filter(|name| found.contains_key(*name)));
        let family = found.get_mut(family.unwrap_or_else(|| panic!("no TYPE for {line}"))).unwrap();
        let labels =
            labels.split('}').next().unwrap().split("\",").filter_map(|label| label.split('=').next());
        family.1.extend(labels.filter(|label| *label != "le").map(str::to_owned));
    }
    found
}

fn settings(hooks: &Hooks, collector: &Hooks) -> String {
    let callback = hooks.url("callback");
    let emails = |name: &str, stage: &str, transport: &str, files: &str| {
        format!(
            "[lanes.{name}]\ncontract = \"emails\"\nstage = \"{stage}\"\npoll = \"50ms\"\n{transport}\n\
             [lanes.{name}.emails]\n{files}\n"
        )
    };
    let base = "base = \"mnt\"";
    let calls = format!(
        "callback_url = \"{callback}\"\ncallback_secret = \"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\""
    );
    [
        format!("[telemetry]\notlp = \"{}\"\n[stores.main]\nurl = \"sqlite:app.db\"\n", collector.url("")),
        "[transports.out]\nurl = \"file:outbox\"\n[transports.hooks]\n\
         url = \"webhook://?allow=127.0.0.0/8&plain_http=allowed\"\n[mail]\nfrom = \"shop@example.com\"\n"
            .to_owned(),
        "[lanes.mail]\ncontract = \"mail_outbox\"\ntransport = \"out\"\npoll = \"50ms\"\n".to_owned(),
        "[lanes.events]\ncontract = \"outbox\"\ntransport = \"out\"\npoll = \"50ms\"\n".to_owned(),
        "[lanes.jobs]\ncontract = \"dispatch_jobs\"\ntransport = \"hooks\"\npoll = \"50ms\"\n".to_owned(),
        "[lanes.notify]\ncontract = \"open_event_notifications\"\ntransport = \"out\"\npoll = \"50ms\"\n\
         [lanes.notify.mail]\nmanage_url = \"https://seats.example.org/{subscription_id}\"\n"
            .to_owned(),
        emails("intake", "intake", "", base),
        emails("send", "send", "transport = \"out\"", base),
        emails("sent", "sent_callback", "transport = \"hooks\"", &calls),
        emails("failed", "failed_callback", "transport = \"hooks\"", &calls),
    ]
    .concat()
}

/// Inserts a row for each lane.
async fn insert_rows(sandbox: &Sandbox, hooks: &Hooks) {
    let mail = ["--to", "ann@example.net", "--from", "shop@example.com", "--subject", "x", "--text", "x"];
    sandbox.run(&[&["send", "mail", "--lane", "mail"], &mail[..]].concat()).success();
    sandbox.run(&[&["send", "mail", "--lane", "intake"], &mail[..]].concat()).success();
    sandbox.run(&["send", "record", "--lane", "events", "--topic", "deals", "--payload", "{}"]).success();
    let job = hooks.url("job");
    sandbox
        .run(&["send", "webhook", "--lane", "jobs", &job, "--code", "a:b:c:d", "--payload", "{}"])
        .success();
    let sql = sandbox.sql().await;
    sqlx::query("INSERT INTO emails (id, status, eml_file_path) VALUES ('lost', 'READY', 'gone.eml')")
        .execute(&sql)
        .await
        .unwrap();
    // A row without anything to join: it is read, and skipped or failed.
    sqlx::query(
        "INSERT INTO open_event_notifications (open_event_id, subscription_id, dedupe_key, fanout_status, fanout_attempts) \
         VALUES (1, 1, 'd', 'pending', 0)",
    )
    .execute(&sql)
    .await
    .unwrap();
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_and_their_reference_are_equal() {
    let hooks = Hooks::start(|_, _| Reply::status(200)).await;
    let collector = Hooks::start(|_, _| Reply::status(200)).await;
    let sandbox = Sandbox::new(Some(&settings(&hooks, &collector)));
    std::fs::create_dir_all(sandbox.path("mnt")).unwrap();
    sandbox.run(&["migrate"]).success();
    insert_rows(&sandbox, &hooks).await;
    let running = sandbox.start();
    for lane in LANES {
        wait_until(&format!("lane {lane} did something"), TIMEOUT, || async {
            let (_, text) = tokio::task::block_in_place(|| running.get("/metrics"));
            let name = format!("postrider_rows_claimed_total{{lane=\"{lane}\"}} ");
            let claimed = text.lines().find_map(|line| line.strip_prefix(&name)?.parse::<f64>().ok());
            claimed.filter(|claimed| *claimed >= 1.0)
        })
        .await;
    }
    let mut documented = documented();
    // These metrics need a broker; the tests of `queues` cover them.
    documented.retain(|name, _| !name.starts_with("postrider_queue_"));
    // Gauges of the table are refreshed at intervals.
    let equal =
        wait_until("the published metrics equal the documented ones", Duration::from_secs(20), || async {
            Some(published(&running)).filter(|shown| *shown == documented)
        });
    if tokio::time::timeout(Duration::from_secs(15), equal).await.is_err() {
        assert_equal(&documented, &published(&running));
    }
}

fn assert_equal(documented: &Families, shown: &Families) {
    let of = |families: &Families, name: &String| families.get(name).cloned();
    let names: BTreeSet<&String> = documented.keys().chain(shown.keys()).collect();
    let different: Vec<String> = names
        .into_iter()
        .filter(|name| of(documented, name) != of(shown, name))
        .map(|name| format!("{name}: documented {:?}, shown {:?}", of(documented, name), of(shown, name)))
        .collect();
    assert!(different.is_empty(), "docs/reference/metrics.md and /metrics differ:\n{}", different.join("\n"));
}
