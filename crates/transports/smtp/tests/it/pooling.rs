//! Tests of the connection pool: bounded, reused, checked, closed with QUIT.

use std::sync::Arc;
use std::time::Duration;

use postrider_seams::Transport;
use tokio::time::{Instant, sleep};

use crate::fixtures::{all_delivered, deferred, delivered, send, settings, smtp, soon, to};
use crate::relay::{Act, Relay, commands, hear, hello, say, script, text};
use postrider_transport_smtp::{Settings, Smtp};

fn one(address: &str) -> Vec<Act> {
    script([commands(address), vec![say("250 ok\r\n250 ok\r\n354 go"), text(), say("250 ok")]])
}

#[tokio::test]
async fn a_connection_is_reused_by_the_next_call() {
    let relay = Relay::play(vec![script([hello(), one("b@y.test"), one("c@y.test")])]).await;
    let smtp = smtp(relay.port);
    delivered(&send(&smtp, &[to("b@y.test")]).await[0]);
    delivered(&send(&smtp, &[to("c@y.test")]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn g02_a_mail_whose_lease_ran_out_while_it_waited_is_not_sent() {
    let relay = Relay::play(vec![script([hello(), one("b@y.test"), one("d@y.test")])]).await;
    let smtp = smtp(relay.port);
    let lost = postrider_seams::LeaseCheck::new(|| false);
    let late = postrider_seams::Envelope { lease: lost, ..to("c@y.test") };
    let outcomes = send(&smtp, &[to("b@y.test")]).await;
    delivered(&outcomes[0]);
    let outcomes = send(&smtp, &[late, to("d@y.test")]).await;
    assert!(deferred(&outcomes[0]).reason.contains("lease"), "{outcomes:?}");
    delivered(&outcomes[1]);
    relay.finish().await;
}

#[tokio::test]
async fn an_idle_connection_that_the_relay_closed_is_no_failure() {
    let relay = Relay::play(vec![
        script([hello(), one("b@y.test"), vec![say("421 4.4.2 idle too long")]]),
        script([hello(), one("c@y.test")]),
    ])
    .await;
    let smtp = smtp(relay.port);
    delivered(&send(&smtp, &[to("b@y.test")]).await[0]);
    sleep(Duration::from_millis(100)).await;
    delivered(&send(&smtp, &[to("c@y.test")]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn an_idle_connection_that_dies_under_the_first_command_is_no_failure() {
    // The relay still seems alive when the call begins, and closes instead of replying.
    let relay = Relay::play(vec![
        script([hello(), one("b@y.test"), commands("c@y.test")]),
        script([hello(), one("c@y.test")]),
    ])
    .await;
    let smtp = smtp(relay.port);
    delivered(&send(&smtp, &[to("b@y.test")]).await[0]);
    delivered(&send(&smtp, &[to("c@y.test")]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn an_idle_connection_dropped_by_the_network_is_given_up_soon_and_is_no_failure() {
    let relay = Relay::play(vec![
        script([hello(), one("b@y.test"), commands("c@y.test"), vec![Act::HearEnd]]),
        script([hello(), one("c@y.test")]),
    ])
    .await;
    let mut settings = settings(relay.port);
    settings.timeouts.reuse = Duration::from_millis(100);
    let smtp = Smtp::new(settings).unwrap();
    delivered(&send(&smtp, &[to("b@y.test")]).await[0]);
    delivered(&send(&smtp, &[to("c@y.test")]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn a_connection_at_its_mail_limit_is_closed_with_quit() {
    let quit = || vec![hear("QUIT"), say("221 bye"), Act::HearEnd];
    let relay = Relay::play(vec![
        script([hello(), one("b@y.test"), quit()]),
        script([hello(), one("c@y.test"), quit()]),
    ])
    .await;
    let smtp = Smtp::new(Settings { per_connection: 1, ..settings(relay.port) }).unwrap();
    for outcome in send(&smtp, &[to("b@y.test"), to("c@y.test")]).await {
        delivered(&outcome);
    }
    relay.finish().await;
}

#[tokio::test]
async fn an_unused_connection_is_closed_after_a_while() {
    let relay = Relay::play(vec![script([
        hello(),
        one("b@y.test"),
        vec![hear("QUIT"), say("221 bye"), Act::HearEnd],
    ])])
    .await;
    let smtp = Smtp::new(Settings { idle: Duration::from_millis(50), ..settings(relay.port) }).unwrap();
    delivered(&send(&smtp, &[to("b@y.test")]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn closing_sends_quit() {
    let relay = Relay::play(vec![script([hello(), vec![hear("QUIT"), say("221 bye"), Act::HearEnd]])]).await;
    let smtp = smtp(relay.port);
    smtp.probe().await.unwrap();
    smtp.close().await;
    relay.finish().await;
}

#[tokio::test]
async fn a_probe_checks_an_idle_connection_and_replaces_a_dead_one() {
    let relay = Relay::play(vec![
        script([hello(), vec![hear("NOOP"), say("250 ok"), hear("NOOP")]]),
        script([hello(), one("b@y.test")]),
    ])
    .await;
    let smtp = smtp(relay.port);
    for _ in 0..3 {
        smtp.probe().await.unwrap();
    }
    delivered(&send(&smtp, &[to("b@y.test")]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn all_connections_together_are_bounded() {
    let slow = |address: &str| script([hello(), commands(address), vec![Act::Hang]]);
    let relay = Relay::play(vec![slow("b@y.test"), slow("b@y.test"), slow("b@y.test")]).await;
    let smtp = Arc::new(Smtp::new(Settings { connections: 2, ..settings(relay.port) }).unwrap());
    let deadline = Instant::now() + Duration::from_millis(400);
    let calls: Vec<_> = (0..6)
        .map(|_| {
            let smtp = Arc::clone(&smtp);
            tokio::spawn(async move { smtp.deliver(&[to("b@y.test")], deadline).await })
        })
        .collect();
    let mut untried = 0;
    for call in calls {
        let outcomes = call.await.unwrap();
        untried += usize::from(matches!(outcomes[0], postrider_seams::Outcome::Deferred(_)));
    }
    assert_eq!((relay.connections(), untried), (2, 4), "two connections, and four calls that never got one");
}

#[tokio::test]
async fn a_dropped_call_gives_its_place_back_and_not_its_connection() {
    let relay = Relay::play(vec![
        script([hello(), commands("b@y.test"), vec![Act::HearEnd]]),
        script([hello(), one("c@y.test")]),
    ])
    .await;
    let smtp = Smtp::new(Settings { connections: 1, ..settings(relay.port) }).unwrap();
    let call = [to("b@y.test")];
    assert!(tokio::time::timeout(Duration::from_millis(200), smtp.deliver(&call, soon())).await.is_err());
    delivered(&send(&smtp, &[to("c@y.test")]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn the_rate_holds_and_mails_beyond_it_are_deferred() {
    let mails: Vec<_> = (0..4).map(|_| to("b@y.test")).collect();
    let all = script(std::iter::once(hello()).chain((0..4).map(|_| one("b@y.test"))));
    let relay = Relay::play(vec![all]).await;
    let smtp = Smtp::new(Settings { rate: Some(10), ..settings(relay.port) }).unwrap();
    let started = Instant::now();
    let outcomes = send(&smtp, &mails).await;
    all_delivered(&outcomes);
    assert!(
        started.elapsed() >= Duration::from_millis(290),
        "four mails at ten a second: {:?}",
        started.elapsed()
    );
    relay.finish().await;

    let relay = Relay::play(vec![script([hello(), one("b@y.test"), vec![Act::Hang]])]).await;
    let smtp = Smtp::new(Settings { rate: Some(1), ..settings(relay.port) }).unwrap();
    let outcomes = smtp.deliver(&mails[..2], Instant::now() + Duration::from_millis(500)).await;
    delivered(&outcomes[0]);
    assert!(deferred(&outcomes[1]).reason.contains("rate limit"));
}
