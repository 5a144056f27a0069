//! A receiver of callbacks that records head and body of each request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Head and body of each call.
type Calls = Arc<Mutex<Vec<(String, String)>>>;

#[derive(Clone)]
pub struct CallbackReceiver {
    pub url: String,
    calls: Calls,
}

impl CallbackReceiver {
    /// Answers `refused` calls with 400 and accepts the others; each after a pause.
    pub fn start(refused: usize, pause: Duration) -> Self {
        Self::refusing("", refused, pause)
    }

    /// Counts and refuses only calls with this word in their body.
    pub fn refusing(word: &'static str, refused: usize, pause: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/mails", listener.local_addr().expect("it is bound"));
        let calls = Calls::default();
        let received = Arc::clone(&calls);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let calls = Arc::clone(&received);
                // A killed client closes its connection, which ends this thread.
                std::thread::spawn(move || serve(stream, &calls, (word, refused), pause));
            }
        });
        Self { url, calls }
    }

    pub fn heads(&self) -> Vec<String> {
        self.calls.lock().expect("no panic holds it").iter().map(|(head, _)| head.clone()).collect()
    }

    pub fn bodies(&self) -> Vec<serde_json::Value> {
        let calls = self.calls.lock().expect("no panic holds it");
        calls.iter().map(|(_, body)| serde_json::from_str(body).expect("a callback is JSON")).collect()
    }
}

/// Answers call after call until the client closes the connection.
fn serve(
    stream: TcpStream,
    calls: &Mutex<Vec<(String, String)>>,
    (word, refused): (&str, usize),
    pause: Duration,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            (reader.read_line(&mut head).ok()? > 0).then_some(())?;
        }
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1)?.split("\r\n").next()?.parse().ok()?;
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        sleep(pause);
        let number = {
            let mut calls = calls.lock().expect("no panic holds it");
            calls.push((head, String::from_utf8(body).ok()?));
            let matches = calls.last().is_some_and(|(_, body)| body.contains(word));
            matches.then(|| calls.iter().filter(|(_, body)| body.contains(word)).count())
        };
        let status =
            if number.is_some_and(|number| number <= refused) { "400 Bad Request" } else { "204 No Content" };
        let response = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        reader.get_mut().write_all(response.as_bytes()).ok()?;
    }
}

#[expect(clippy::disallowed_methods, reason = "a receiver that takes its time, in a thread of its own")]
fn sleep(pause: Duration) {
    std::thread::sleep(pause);
}
