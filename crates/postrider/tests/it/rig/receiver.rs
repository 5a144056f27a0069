//! A receiver of callbacks that records head and body of each request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Head and body of each call.
type Told = Arc<Mutex<Vec<(String, String)>>>;

#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    told: Told,
}

impl Receiver {
    /// Answers `refused` calls with 400 and accepts the others; each after a pause.
    pub fn start(refused: usize, pause: Duration) -> Self {
        Self::refusing("", refused, pause)
    }

    /// Counts and refuses only calls with this word in their body.
    pub fn refusing(word: &'static str, refused: usize, pause: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/mails", listener.local_addr().expect("it is bound"));
        let told = Told::default();
        let heard = Arc::clone(&told);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let heard = Arc::clone(&heard);
                // A killed client closes its connection, which ends this thread.
                std::thread::spawn(move || converse(stream, &heard, (word, refused), pause));
            }
        });
        Self { url, told }
    }

    pub fn heads(&self) -> Vec<String> {
        self.told.lock().expect("nobody panics with it").iter().map(|(head, _)| head.clone()).collect()
    }

    pub fn bodies(&self) -> Vec<serde_json::Value> {
        let told = self.told.lock().expect("nobody panics with it");
        told.iter().map(|(_, body)| serde_json::from_str(body).expect("a callback is JSON")).collect()
    }
}

/// Answers call after call until the client closes the connection.
fn converse(
    stream: TcpStream,
    heard: &Mutex<Vec<(String, String)>>,
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
        rest(pause);
        let place = {
            let mut heard = heard.lock().expect("nobody panics with it");
            heard.push((head, String::from_utf8(body).ok()?));
            let meant = heard.last().is_some_and(|(_, body)| body.contains(word));
            meant.then(|| heard.iter().filter(|(_, body)| body.contains(word)).count())
        };
        let status =
            if place.is_some_and(|place| place <= refused) { "400 Bad Request" } else { "204 No Content" };
        let said = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        reader.get_mut().write_all(said.as_bytes()).ok()?;
    }
}

#[expect(clippy::disallowed_methods, reason = "a receiver that takes its time, in a thread of its own")]
fn rest(pause: Duration) {
    std::thread::sleep(pause);
}
