//! Tests how starts and ends of servers are reported, with shell commands instead of servers.

use super::*;

fn server(script: &str) -> Server {
    let launch = Launch {
        name: "the test's server",
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: Vec::new(),
        user: None,
        last_signal: "KILL",
    };
    Server::new(launch, Folder::create("test", None, "KILL").unwrap())
}

#[test]
fn a_server_that_ends_at_once_is_reported_with_its_log() {
    let mut server = server("echo the disk is full >&2; exit 3");
    let error = server.start(|| false).unwrap_err().to_string();
    assert!(error.contains("the test's server is not ready: it ended with exit status: 3"), "{error}");
    assert!(error.contains("the disk is full"), "{error}");
    assert!(!server.is_running());
}

#[test]
fn a_kill_reaches_children_in_groups_of_their_own() {
    let mut server = server("set -m; sleep 600 & echo $! >child; wait");
    let file = server.folder().join("child");
    server.start(|| std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n'))).unwrap();
    let child: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    assert!(signal::is_alive(child));
    server.kill();
    assert!(!signal::is_alive(child));
}

/// The loop counts while it runs: a server that is frozen, but not stopped yet, would still add a line.
#[test]
fn a_frozen_server_does_nothing_until_it_is_thawed() {
    let mut server = server("while :; do echo; done >lines");
    let file = server.folder().join("lines");
    let lines = || std::fs::metadata(&file).map_or(0, |data| data.len());
    server.start(|| lines() > 0).unwrap();
    server.freeze();
    let frozen = lines();
    signal::pause(Duration::from_millis(50));
    assert_eq!(lines(), frozen);
    server.thaw();
    let until = Instant::now() + Duration::from_secs(30);
    while lines() == frozen && Instant::now() < until {
        signal::pause(Duration::from_millis(5));
    }
    assert!(lines() > frozen);
}

#[test]
fn a_dropped_server_leaves_no_folder() {
    let mut server = server("sleep 600");
    server.start(|| true).unwrap();
    let folder = server.folder().to_owned();
    assert!(folder.exists());
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn a_taken_port_is_retried_on_another() {
    let tries = std::cell::Cell::new(0);
    let outcome = on_free_port(|port| {
        tries.set(tries.get() + 1);
        if tries.get() < 3 {
            Err(Error::Failed { command: "bind".into(), output: String::new() })
        } else {
            Ok(port)
        }
    });
    assert!(outcome.is_ok());
    assert_eq!(tries.get(), 3);
}
