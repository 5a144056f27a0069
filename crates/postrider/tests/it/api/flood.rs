//! Clients that send nothing, send without end, or never disconnect: the listener and the lanes keep working.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{WITH_API, request};
use crate::sandbox::{RunningBinary, SQLITE, Sandbox, eventually, eventually_count};

/// Resident memory of the process in MB.
fn resident_memory(running: &RunningBinary) -> usize {
    memory(running, "VmRSS:")
}

/// Asserts that the process never had more than 200 MB of memory since it started.
#[track_caller]
pub fn assert_bounded_memory(running: &RunningBinary, when: &str) {
    assert_peak_memory(running, when, 200);
}

#[track_caller]
fn assert_peak_memory(running: &RunningBinary, when: &str, limit: usize) {
    let peak = memory(running, "VmHWM:");
    eprintln!("{when}: at most {peak} MB in use");
    assert!(peak < limit, "{when}: {peak} MB were in use");
}

fn memory(running: &RunningBinary, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}

/// Response time of `/healthz`.
fn health(address: &str) -> Duration {
    let start = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    start.elapsed()
}

/// A server of the test's own, which does nothing but answer: as long as it takes, the machine itself is busy.
fn control_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut byte = [0];
            while stream.read(&mut byte).is_ok_and(|read| read > 0) && stream.write_all(&byte).is_ok() {}
        }
    });
    address
}

/// The longest round trip to the control server until `done`, with the connection in the first.
fn control(address: &str, done: &AtomicBool) -> Duration {
    let mut start = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut longest = Duration::ZERO;
    loop {
        stream.write_all(b"?").unwrap();
        stream.read_exact(&mut [0]).unwrap();
        longest = longest.max(start.elapsed());
        if done.load(SeqCst) {
            return longest;
        }
        pause();
        start = Instant::now();
    }
}

#[expect(clippy::disallowed_methods, reason = "the control server's client is a thread of its own")]
fn pause() {
    std::thread::sleep(Duration::from_millis(1));
}

/// Measures `/healthz` all the time, on a thread of its own.
struct Watch {
    done: Arc<AtomicBool>,
    measuring: JoinHandle<HealthChecks>,
}

impl Watch {
    fn start(running: &RunningBinary) -> Self {
        let (done, mut checks) = (Arc::new(AtomicBool::new(false)), HealthChecks::of(running));
        let stop = Arc::clone(&done);
        let measuring = std::thread::spawn(move || {
            while !stop.load(SeqCst) || checks.samples.len() < 20 {
                checks.measure();
                pause();
            }
            checks
        });
        Self { done, measuring }
    }

    /// Stops and asserts that every health check since the start was answered quickly.
    #[track_caller]
    fn assert_quick_throughout(self, when: &str) {
        self.done.store(true, SeqCst);
        let checks = self.measuring.join().expect("every check was answered");
        checks.assert_quick(when);
    }
}

/// Response times of `/healthz`, each beside the longest of the control server during the same time.
struct HealthChecks {
    address: String,
    control: String,
    samples: Vec<(Duration, Duration)>,
}

impl HealthChecks {
    fn of(running: &RunningBinary) -> Self {
        Self { address: running.address(), control: control_server(), samples: Vec::new() }
    }

    fn measure(&mut self) {
        let done = AtomicBool::new(false);
        self.samples.push(std::thread::scope(|scope| {
            let beside = scope.spawn(|| control(&self.control, &done));
            let time = health(&self.address);
            done.store(true, SeqCst);
            (time, beside.join().unwrap())
        }));
    }

    /// Asserts that every health check was answered within 100 ms, apart from the time for which the machine itself
    /// stood still: a shared one stops the test and the process for a moment now and then.
    #[track_caller]
    fn assert_quick(&self, when: &str) {
        let own = |(time, beside): &(Duration, Duration)| time.saturating_sub(*beside);
        let slowest = self.samples.iter().max_by_key(|sample| own(sample)).unwrap();
        let longest = self.samples.iter().map(|(time, _)| time).max().unwrap();
        let control = self.samples.iter().map(|(_, beside)| beside).max().unwrap();
        eprintln!(
            "{when}: {} checks of /healthz, the longest took {longest:?}, the control server {control:?}; the slowest beside \
             it {slowest:?}",
            self.samples.len()
        );
        assert!(own(slowest) < Duration::from_millis(100), "{when}: {:?}", self.samples);
    }
}

fn open_connection(address: &str, head: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    // The listener may have closed the connection already to accept another.
    let _ = stream.write_all(head.as_bytes());
    stream
}

#[tokio::test]
async fn a_flood_does_not_affect_health_lanes_or_memory() {
    let sandbox = Sandbox::new(Some(&format!("{SQLITE}{WITH_API}")));
    sandbox.run(&["migrate"]).success();
    let running = sandbox.start();
    let key = running.first_key();
    let address = running.address();
    eventually("the API is open", || {
        (request(&running, &key, "GET", "/api/v1/lanes", &Value::Null).0 == 200).then_some(())
    });
    let mut held = Vec::new();
    let watch = Watch::start(&running);
    let pool = sandbox.sql().await;
    let authorized = format!("Host: a\r\nAuthorization: Bearer {key}\r\n");
    for _ in 0..120 {
        held.push(open_connection(
            &address,
            &format!("GET /api/v1/overview/stream HTTP/1.1\r\n{authorized}\r\n"),
        ));
    }
    for _ in 0..500 {
        held.push(open_connection(&address, "POST /api/v1/dispatch-jobs HTTP/1.1\r\nHost: a\r\nX-Slow: "));
    }
    watch.assert_quick_throughout("half-open connections");
    let watch = Watch::start(&running);
    sandbox.insert(&pool, "one@example.com").await;
    let part = vec![b' '; 1 << 20];
    let length = 30 << 20;
    for _ in 0..40 {
        let head = format!(
            "POST /api/v1/dispatch-jobs/batch HTTP/1.1\r\n{authorized}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        let mut stream = open_connection(&address, &head);
        stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        // Send all but the end, as far as the server reads it.
        for _ in 0..29 {
            if stream.write_all(&part).is_err() {
                break;
            }
        }
        held.push(stream);
        let memory = resident_memory(&running);
        assert!(memory < 200, "{memory} MB in use");
    }
    eventually_count(&pool, "sent", 1).await;
    let small = json!({"code": "a", "targetUrl": "https://example.com/"});
    assert_eq!(
        request(&running, &key, "POST", "/api/v1/dispatch-jobs", &small).0,
        201,
        "small bodies have room"
    );
    eprintln!("{} MB in use", resident_memory(&running));
    watch.assert_quick_throughout("stalled bodies");
    drop(held);
}

/// Two complete batches of 30 MB are parsed, checked and written one after the other, away from the threads that answer.
#[tokio::test]
async fn whole_batches_do_not_affect_health() {
    let sandbox = Sandbox::new(Some(&format!("{SQLITE}{WITH_API}")));
    sandbox.run(&["migrate"]).success();
    let running = sandbox.start();
    let key = running.first_key();
    eventually("the API is open", || {
        (request(&running, &key, "GET", "/api/v1/lanes", &Value::Null).0 == 200).then_some(())
    });
    let mut health = HealthChecks::of(&running);
    send_whole_batches(&running, &key, &mut health);
    health.assert_quick("whole batches");
    // Debug builds need 235 MB: both bodies, and one batch parsed and written.
    assert_peak_memory(&running, "whole batches", 260);
}

/// Sends two complete batches of 30 MB at once, while `/healthz` is measured.
fn send_whole_batches(running: &RunningBinary, key: &str, health: &mut HealthChecks) {
    let job = json!({"code": "a", "targetUrl": "https://example.com/", "payload": "x".repeat(30 << 10)});
    let batch = json!({"jobs": vec![job; 1000]});
    std::thread::scope(|scope| {
        let send = || request(running, key, "POST", "/api/v1/dispatch-jobs/batch", &batch);
        let sending = [scope.spawn(send), scope.spawn(send)];
        while !sending.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            health.measure();
        }
        for one in sending {
            let (code, answer) = one.join().unwrap();
            assert_eq!(code, 200, "{answer}");
        }
    });
}

#[tokio::test]
async fn stalled_sign_ins_do_not_affect_health_or_other_clients() {
    let sandbox = Sandbox::new(Some(&format!("{SQLITE}{WITH_API}")));
    sandbox.run(&["migrate"]).success();
    let running = sandbox.start();
    let key = running.first_key();
    let address = running.address();
    eventually("the API is open", || {
        (request(&running, &key, "GET", "/api/v1/lanes", &Value::Null).0 == 200).then_some(())
    });
    // Twice the connections that one address may have, each with a slow body.
    let head = "POST /console/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n";
    let mut held = Vec::new();
    let mut health = HealthChecks::of(&running);
    for _ in 0..512 {
        held.push(open_connection(&address, head));
    }
    for _ in 0..20 {
        health.measure();
        for stream in &mut held {
            let _ = stream.write_all(b" ");
        }
        assert_eq!(request(&running, &key, "GET", "/api/v1/lanes", &Value::Null).0, 200);
    }
    health.assert_quick("stalled sign-ins");
    // The connections that were not closed are answered soon.
    let mut last = held.pop().expect("the last one");
    last.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut answer = String::new();
    let _ = last.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
}
