//! Tests of relays that vanish in the middle of a mail, and of relays that are only slow.

use std::process::Command;
use std::time::Duration;

use postrider_seams::Transport as _;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};

use crate::fixtures::{delivered, retryable, send, smtp, to};
use crate::relay::{Act, Relay, commands, hello, say, script, text};

fn in_a_minute() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

/// Runs this test again in its own network namespace, so that it can take the network down; needs root.
#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_relay_is_given_up_after_ten_seconds() {
    const INSIDE: &str = "POSTRIDER_TEST_OWN_NETWORK";
    if std::env::var_os(INSIDE).is_none() {
        let script = "ip link set lo up && \
                      exec \"$0\" --exact unreachable::an_unreachable_relay_is_given_up_after_ten_seconds --nocapture";
        let program = std::env::current_exe().unwrap();
        let mut inside = Command::new("unshare");
        inside.args(["--net", "sh", "-c", script]).arg(program).env(INSIDE, "1");
        let ran = inside.output().expect("unshare runs");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "the test was run");
        return;
    }
    let relay = Relay::play(vec![script([hello(), commands("b@y.test"), vec![Act::Hang]])]).await;
    let smtp = smtp(relay.port);
    let mail = tokio::spawn(async move { smtp.deliver(&[to("b@y.test")], in_a_minute()).await });
    sleep(Duration::from_secs(1)).await;
    let down = Command::new("ip").args(["link", "set", "lo", "down"]).status().expect("ip runs");
    assert!(down.success());
    let lost = Instant::now();
    let outcomes = mail.await.unwrap();
    assert!(retryable(&outcomes[0]).unreachable, "{outcomes:?}");
    assert!(lost.elapsed() < Duration::from_secs(16), "{:?}", lost.elapsed());
}

/// The kernel of a slow relay's host answers our keepalive probes.
#[tokio::test]
async fn a_relay_that_is_slow_is_not_cut() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let smtp = smtp(listener.local_addr().unwrap().port());
    let relay = async {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        sleep(Duration::from_secs(14)).await;
        stream.write_all(b"220 relay.test\r\n").await.unwrap();
        let (mut line, mut in_text) = (String::new(), false);
        while stream.read_line(&mut line).await.unwrap() > 0 {
            in_text = (in_text && line != ".\r\n") || line == "DATA\r\n";
            if line == "DATA\r\n" {
                stream.write_all(b"354 go\r\n").await.unwrap();
            } else if !in_text {
                stream.write_all(b"250 ok\r\n").await.unwrap();
            }
            line.clear();
        }
    };
    let batch = [to("b@y.test")];
    tokio::select! {
        outcomes = smtp.deliver(&batch, in_a_minute()) => { delivered(&outcomes[0]); },
        () = relay => panic!("the connection was cut"),
    }
}

#[tokio::test]
async fn a_connection_that_hangs_does_not_stop_the_others() {
    let one = script([commands("c@y.test"), vec![say("250 ok\r\n250 ok\r\n354 go"), text(), say("250 ok")]]);
    let relay = Relay::play(vec![script([hello(), vec![Act::Hang]]), script([hello(), one])]).await;
    let smtp = smtp(relay.port);
    let batch = [to("b@y.test")];
    let hangs = smtp.deliver(&batch, in_a_minute());
    let goes_on = async {
        while relay.connections() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
        send(&smtp, &[to("c@y.test")]).await
    };
    tokio::select! {
        biased;
        outcomes = goes_on => { delivered(&outcomes[0]); },
        outcomes = hangs => panic!("nobody answered it: {outcomes:?}"),
    }
}
