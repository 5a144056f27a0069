//! Tests throttling: a proxy in front of the emulator rejects requests as AWS does.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use postrider_contract::Transition;
use postrider_seams::Store as _;
use postrider_seams::store::{Class, LeaseResult, Settlement};
use postrider_store_dynamodb::Database;

use crate::fixtures::{Fixture, claim, ids};

#[derive(Default)]
struct Mood {
    /// Requests of these names are rejected this many more times.
    refuse: Vec<(&'static str, usize)>,
    /// The token of requests of this name expires once so many of them were answered.
    expire: Option<(&'static str, usize)>,
    /// The times of the rejections.
    refused: Vec<Instant>,
    /// The `Limit` of each ExecuteStatement that reads pages.
    limits: Vec<i64>,
}

struct Proxy {
    endpoint: String,
    mood: Arc<Mutex<Mood>>,
}

impl Proxy {
    fn start(behind: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let mood = Arc::<Mutex<Mood>>::default();
        let (behind, shared) =
            (behind.trim_start_matches("http://").trim_end_matches('/').to_owned(), Arc::clone(&mood));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (behind, mood) = (behind.clone(), Arc::clone(&shared));
                std::thread::spawn(move || pass_on(stream, &behind, &mood));
            }
        });
        Self { endpoint, mood }
    }

    fn refuse(&self, name: &'static str, times: usize) {
        let mut mood = self.mood.lock().unwrap();
        mood.refuse.push((name, times));
        mood.refused.clear();
    }

    fn refused(&self) -> Vec<Instant> {
        self.mood.lock().unwrap().refused.clone()
    }
}

/// Forwards one request per connection.
fn pass_on(stream: TcpStream, behind: &str, mood: &Mutex<Mood>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length, mut target) = (String::new(), 0, String::new());
    loop {
        let mut line = String::new();
        (reader.read_line(&mut line).ok()? > 0).then_some(())?;
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if lower.starts_with("x-amz-target:") {
            line.trim().clone_into(&mut target);
        }
        if line == "\r\n" {
            break;
        }
        if !lower.starts_with("connection:") {
            head.push_str(&line);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut stream = reader.into_inner();
    if let Some(limit) = serde_json::from_slice::<serde_json::Value>(&body).ok()?["Limit"].as_i64() {
        mood.lock().unwrap().limits.push(limit);
    }
    let expired = has_expired(&target, mood).then_some("ExpiredTokenException");
    if let Some(code) = expired.or_else(|| turned_away(&target, mood).then_some("ThrottlingException")) {
        let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"no"}}"#);
        let said = format!(
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        return stream.write_all(said.as_bytes()).ok();
    }
    let mut other = TcpStream::connect(behind).ok()?;
    other.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).ok()?;
    other.write_all(&body).ok()?;
    let mut answer = Vec::new();
    other.read_to_end(&mut answer).ok()?;
    stream.write_all(&answer).ok()
}

fn has_expired(target: &str, mood: &Mutex<Mood>) -> bool {
    let mut mood = mood.lock().unwrap();
    match &mut mood.expire {
        Some((name, 0)) => target.ends_with(*name),
        Some((name, left)) => {
            *left -= usize::from(target.ends_with(*name));
            false
        }
        None => false,
    }
}

fn turned_away(target: &str, mood: &Mutex<Mood>) -> bool {
    let mut mood = mood.lock().unwrap();
    let Some((_, left)) = mood.refuse.iter_mut().find(|(name, left)| target.ends_with(name) && *left > 0)
    else {
        return false;
    };
    *left -= 1;
    mood.refused.push(Instant::now());
    true
}

/// Opens a store with this lease duration that connects through the proxy.
async fn open(fixture: &mut Fixture, lease: Duration) -> (Proxy, Arc<postrider_store_dynamodb::DynamoStore>) {
    let proxy = Proxy::start(fixture.settings.endpoint.as_deref().unwrap());
    for stage in &mut fixture.contract.stages {
        stage.lease.duration = lease;
    }
    let mut settings = fixture.settings.clone();
    settings.endpoint = Some(proxy.endpoint.clone());
    let store = Database::connect(&settings).open(fixture.contract.clone(), "intake", "test").await.unwrap();
    (proxy, store)
}

#[tokio::test(flavor = "multi_thread")]
async fn e04_throttling_is_waited_out_with_jitter_and_each_move_is_made_once() {
    let mut fixture = Fixture::new().await;
    fixture.boto3("put('e-1', 'ACCEPTED')").await;
    let (proxy, store) = open(&mut fixture, Duration::from_mins(10)).await;

    proxy.refuse("ExecuteStatement", 3);
    proxy.refuse("ExecuteTransaction", 4);
    let claimed = claim(&store, 25).await;
    assert_eq!(ids(&claimed), ["e-1"], "seven refusals later");
    assert_eq!(proxy.refused().len(), 7);

    proxy.refuse("ExecuteTransaction", 6);
    let settlement =
        Settlement { transition: Transition::Delivered, ..Settlement::released(claimed[0].lease.clone()) };
    assert_eq!(store.settle(&[settlement]).await.unwrap(), [LeaseResult::Held]);
    let times = proxy.refused();
    assert_eq!(times.len(), 6);
    let pauses: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let spread = pauses.iter().max().unwrap().saturating_sub(*pauses.iter().min().unwrap());
    assert!(spread > Duration::from_millis(1), "pauses grow and are random: {pauses:?}");

    let seen = fixture.boto3("answer(all('e-1'))").await;
    let states: Vec<&String> = seen.as_object().unwrap().keys().collect();
    assert_eq!(states.len(), 4, "_META and one record a state, each made once: {states:?}");
    assert_eq!(seen["_META"]["Attributes"]["Latest"], "READY");
}

/// A claim reads pages of the batch size, however many it needs.
#[tokio::test(flavor = "multi_thread")]
async fn e04_a_claim_requests_pages_of_25() {
    let mut fixture = Fixture::new().await;
    fixture.boto3("[put(f'e-{n}', 'ACCEPTED' if n % 2 else 'SENT') for n in range(60)]").await;
    let (proxy, store) = open(&mut fixture, Duration::from_mins(10)).await;
    let claimed = claim(&store, 100).await;
    assert_eq!(claimed.len(), 30);
    let limits = proxy.mood.lock().unwrap().limits.clone();
    assert!(limits.len() > 2 && limits.iter().all(|limit| *limit == 25), "{limits:?}");
}

/// The rows of the first page would wait ten minutes for the end of their lease.
#[tokio::test(flavor = "multi_thread")]
async fn c_rows_that_were_claimed_before_the_token_expired_are_kept() {
    let mut fixture = Fixture::new().await;
    fixture.boto3("[put(f'e-{n}', 'ACCEPTED') for n in range(30)]").await;
    let (proxy, store) = open(&mut fixture, Duration::from_mins(10)).await;
    proxy.mood.lock().unwrap().expire = Some(("ExecuteStatement", 1));
    let claimed = claim(&store, 100).await;
    assert!((1..=25).contains(&claimed.len()), "those of the first page: {}", claimed.len());
    let error = store.claim(100).await.unwrap_err();
    assert_eq!(error.class, Class::Misconfigured, "{error}");
    proxy.mood.lock().unwrap().expire = None;
    assert_eq!(claim(&store, 100).await.len() + claimed.len(), 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn e04_endless_throttling_is_reported_before_the_lease_ends() {
    let mut fixture = Fixture::new().await;
    fixture.boto3("put('e-1', 'ACCEPTED')").await;
    let lease = Duration::from_secs(8);
    let (proxy, store) = open(&mut fixture, lease).await;
    let claimed = store.claim(25).await.unwrap();
    assert_eq!(claimed.len(), 1);

    proxy.refuse("ExecuteTransaction", usize::MAX);
    let begun = Instant::now();
    let settlement =
        Settlement { transition: Transition::Delivered, ..Settlement::released(claimed[0].lease.clone()) };
    let error = store.settle(&[settlement]).await.unwrap_err();
    assert_eq!(error.class, Class::Transient, "{error}");
    assert!(begun.elapsed() < lease, "the engine has time left to ask again: {:?}", begun.elapsed());
    assert!(proxy.refused().len() > 2, "asked again and again: {}", proxy.refused().len());
    let seen = fixture.boto3("answer(all('e-1'))").await;
    assert_eq!(seen["_META"]["Attributes"]["Latest"], "INTAKING", "nothing was written");
}
