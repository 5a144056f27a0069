//! Invalid settings of queues are reported before anything starts.

use crate::sandbox::Sandbox;

const REST: &str = "[stores.main]\nurl = \"sqlite:app.db\"\n[transports.hooks]\nurl = \"webhook://\"\n\
    [transports.out]\nurl = \"file:outbox\"\n[mail]\nfrom = \"shop@example.com\"\n";

fn check_errors(settings: &str) -> String {
    let sandbox = Sandbox::new(Some(&format!("{REST}{settings}")));
    let output = sandbox.run(&["check"]);
    assert_eq!(output.code, Some(2), "{}{}", output.stdout, output.stderr);
    output.stderr
}

#[test]
fn j03_mistakes_in_a_queues_settings_are_reported_with_their_remedy() {
    let lane = "[lanes.jobs]\ncontract = \"dispatch_jobs\"\ntransport = \"hooks\"\nqueue = \"jobs\"\n";
    let queue = "[queues.jobs]\nurl = \"nats://127.0.0.1:4222\"\nqueue = \"jobs\"\n";
    for (settings, words) in [
        (lane.to_owned(), "no [queues.jobs]"),
        (format!("{lane}[queues.jobs]\nurl = \"nats://127.0.0.1:4222\"\n"), "queue = \"jobs\""),
        (format!("{lane}[queues.jobs]\nqueue = \"jobs\"\n"), "url = \"nats://host:4222\""),
        (
            format!("{lane}[queues.jobs]\nurl = \"kafka://127.0.0.1\"\nqueue = \"jobs\"\n"),
            "unknown scheme `kafka:`",
        ),
        (format!("{lane}{queue}speed = 9\n"), "queues.jobs.speed"),
        (format!("{lane}{}", queue.replace("\"jobs\"", "\"a.b\"")), "no blank"),
        (
            format!("{lane}[queues.jobs]\nurl = \"sqs://eu-west-1\"\nqueue = \"jobs.fifo\"\n"),
            "standard queue",
        ),
        (format!("{lane}[queues.jobs]\nurl = \"amqp://localhost\"\nqueue = \"amq.x\"\n"), "amq."),
        (
            format!("{lane}[queues.jobs]\nurl = \"amqp://localhost\"\nqueue = \"x\"\nsubject = \"y\"\n"),
            "for NATS",
        ),
        (format!("{lane}single = true\n{queue}"), "single = true"),
        (
            format!("{lane}{queue}{}", lane.replace("lanes.jobs", "lanes.more")),
            "each lane needs its own queue",
        ),
        (
            format!(
                "[lanes.mail]\ncontract = \"mail_outbox\"\ntransport = \"out\"\nqueue = \"jobs\"\n{queue}"
            ),
            "cannot use a queue",
        ),
        (
            format!(
                "{lane}[queues.jobs]\nurl = \"nats://user:secret@broker.example:4222\"\nqueue = \"jobs\"\n"
            ),
            "credentials in plain text",
        ),
    ] {
        let err = check_errors(&settings);
        assert!(err.contains(words), "{words}:\n{err}");
        assert!(!err.contains("secret@"), "no password is shown:\n{err}");
    }
}
