//! A database, a queue, a receiver, and workers that are connected with each other.

use std::io::{Read as _, Write as _};

use postrider_services::Nats;
use serde_json::{Value, json};

use crate::outbox::broker::{Broker, Protocol, unique};
use crate::support::database::{Kind, fresh};
use crate::support::installation::Installation;
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::{ReceivedRequest, Reply, WebhookReceiver};
use crate::support::worker::Worker;

pub struct QueueSetup {
    pub installation: Installation,
    pub sql: Sql,
    pub receiver: WebhookReceiver,
    pub queue: String,
    key: String,
    url: String,
}

fn settings(store: &str, broker: &str, queue: &str, more: &str, every: &str) -> String {
    format!(
        "[stores.main]\nurl = \"{store}\"\n[transports.hooks]\nurl = \"webhook://\"\nallow = \"127.0.0.0/8\"\n\
         [queues.jobs]\nurl = \"{broker}\"\nqueue = \"{queue}\"\n\
         [lanes.jobs]\ncontract = \"dispatch_jobs\"\nqueue = \"jobs\"\npoll = \"200ms\"\n{more}\
         [lanes.jobs.sweep]\nevery = \"1s\"\n[lanes.jobs.sweep.pending]\nevery = \"{every}\"\n"
    )
}

impl QueueSetup {
    /// Opens an installation on the shared broker.
    pub async fn open(kind: Kind, protocol: Protocol) -> Self {
        let broker = Broker::shared(protocol);
        Self::open_at(kind, &broker.url, "", |_, _| Reply::status(200)).await
    }

    /// Opens an installation on a private broker, with more settings of the lane.
    pub async fn open_at(
        kind: Kind,
        broker: &str,
        more: &str,
        script: impl Fn(&ReceivedRequest, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let receiver = WebhookReceiver::start(script).await;
        let installation = Installation::new();
        let (url, sql) = fresh(kind, "queues", &installation.sandbox).await;
        let queue = unique("jobs");
        installation.write_settings(&settings(&url, broker, &queue, more, "1s"));
        let output = installation.sandbox.run(&["migrate"]).success();
        assert!(output.stdout.contains("-- queue `jobs`: created the"), "{}", output.stdout);
        let key = installation
            .sandbox
            .run(&["key", "create", "test", "--role", "admin"])
            .success()
            .stdout
            .trim()
            .to_owned();
        Self { installation, sql, receiver, queue, key, url }
    }

    /// The settings, with this interval of the pollers.
    pub fn settings(&self, broker: &str, every: &str) -> String {
        settings(&self.url, broker, &self.queue, "", every)
    }

    pub fn start(&mut self) -> Worker {
        let worker = self.installation.start_worker();
        wait_until_open(self, &worker);
        worker
    }

    pub fn request(&self, worker: &Worker, method: &str, path: &str, body: &Value) -> (u16, Value) {
        tokio::task::block_in_place(|| request(&worker.address(), &self.key, method, path, body))
    }

    /// Creates a job over the API; returns its id and its status.
    pub fn create_job(&self, worker: &Worker, more: &Value) -> (String, String) {
        let mut job = json!({"code": "shop:orders:order:created", "targetUrl": self.receiver.url("hook"), "payload": "{}"});
        for (name, value) in more.as_object().expect("an object") {
            job[name] = value.clone();
        }
        let (code, made) = self.request(worker, "POST", "/api/v1/dispatch-jobs", &job);
        assert_eq!(code, 201, "{made}");
        (
            made["id"].as_str().expect("an id").to_owned(),
            made["status"].as_str().expect("a status").to_owned(),
        )
    }

    /// Waits until a job has that status; returns its attempts.
    pub async fn wait_for_status(&self, id: &str, status: &str) -> u64 {
        let query = format!(
            "SELECT {} FROM dispatch_jobs WHERE id = '{id}' AND status = '{status}'",
            self.sql.text("attempt_count")
        );
        wait_until(&format!("{id} is {status}"), TIMEOUT, || async {
            self.sql.rows(&query).await.ok()?.pop()?.pop()??.parse().ok()
        })
        .await
    }
}

fn wait_until_open(setup: &QueueSetup, worker: &Worker) {
    crate::sandbox::eventually("the API is open", || {
        (setup.request(worker, "GET", "/api/v1/dispatch-jobs", &Value::Null).0 == 200).then_some(())
    });
}

fn request(address: &str, key: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the response is read");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (code, serde_json::from_str(body).unwrap_or_default())
}

/// Starts a private NATS server.
pub fn nats() -> Nats {
    tokio::task::block_in_place(|| Nats::start("").expect("NATS starts"))
}

/// Publishes any text to a NATS queue, as any client could.
pub async fn publish(url: &str, subject: &str, body: &str) {
    let client = async_nats::connect(url).await.expect("it is up");
    let context = async_nats::jetstream::new(client);
    let ack = context.publish(subject.to_owned(), body.to_owned().into()).await.expect("it is sent");
    ack.await.expect("it is stored");
}

/// Removes all messages from a NATS queue.
pub async fn purge(url: &str, stream: &str) {
    let client = async_nats::connect(url).await.expect("it is up");
    let stream = async_nats::jetstream::new(client).get_stream(stream).await.expect("it is there");
    stream.purge().await.expect("it can be purged");
}
