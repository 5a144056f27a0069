//! A database or a broker that is away, seen from the terminal: said at once, and looked at again.

use postrider_services::{Durability, Postgres};

use crate::shop::{SQLITE, Shop, eventually};

/// A port that nobody listens on.
const NOBODY: &str = "127.0.0.1:1";

/// "Refused" is what the first try found; whoever only waited could not say so.
#[test]
fn a_database_that_is_away_is_told_by_its_first_answer() {
    for (scheme, called) in [("postgres", "PostgreSQL"), ("mysql", "MySQL")] {
        let shop = Shop::new(Some(&SQLITE.replace("sqlite:app.db", &format!("{scheme}://app@{NOBODY}/app"))));
        for command in [&["status"][..], &["check"], &["list", "mail"], &["migrate"]] {
            let said = shop.run(command).code(1);
            let text = format!("{}{}", said.out, said.err);
            assert!(
                text.contains(&format!("{called} {NOBODY}/app: could not connect")),
                "{command:?}: {text}"
            );
            assert!(text.contains("Connection refused"), "{command:?}: {text}");
            assert!(text.contains("is the server up"), "what to do: {text}");
        }
    }
}

#[test]
fn a_target_that_is_away_is_told_by_its_first_answer() {
    let lanes = ["nats", "kafka", "amqp"].map(|name| {
        format!(
            "[transports.{name}]\nurl = \"{name}://{NOBODY}\"\n\
             [lanes.{name}]\ncontract = \"outbox\"\ntransport = \"{name}\"\n"
        )
    });
    let shop = Shop::new(Some(&format!("[stores.main]\nurl = \"sqlite:app.db\"\n{}", lanes.concat())));
    shop.run(&["migrate"]).fine();
    let status = shop.run(&["status"]).fine().out;
    let check = shop.run(&["check"]).code(1).out;
    for name in ["nats", "kafka", "amqp"] {
        for text in [&status, &check] {
            let line = text.lines().find(|line| line.contains(&format!("transport `{name}`"))).expect(text);
            assert!(line.contains("onnection refused") && line.contains("is it up"), "{line}");
        }
    }
}

#[test]
fn watching_outlives_the_database_and_sees_it_come_back() {
    let mut server = Postgres::start(Durability::ProcessCrash).unwrap();
    let shop = Shop::new(Some(&SQLITE.replace("sqlite:app.db", &server.url())));
    shop.run(&["migrate"]).fine();
    let out = shop.path("watch.out");
    let file = std::fs::File::create(&out).unwrap();
    let mut watching = shop.command(&["status", "--watch", "1", "--json"]).stdout(file).spawn().unwrap();
    let last = |wanted: &str| {
        let text = std::fs::read_to_string(&out).unwrap();
        text.lines().last().is_some_and(|line| line.contains(wanted)).then_some(())
    };
    eventually("it is there", || last("\"states\""));
    server.stop();
    eventually("it is away", || last("\"error\":\"PostgreSQL"));
    server.start_again().unwrap();
    eventually("it is there again", || last("\"states\""));
    watching.kill().unwrap();
    watching.wait().unwrap();
}
