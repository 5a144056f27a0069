//! A database, a queue, a receiver, and workers that are connected with each other.

use std::io::{Read as _, Write as _};

use postrider_services::Nats;
use serde_json::{Value, json};

use crate::outbox::broker::{Broker, Protocol, unique};
use crate::rig::database::{Kind, fresh};
use crate::rig::home::Home;
use crate::rig::hooks::{Arrival, Receiver, Reply};
use crate::rig::sql::Sql;
use crate::rig::wait::{PATIENCE, until};
use crate::rig::worker::Worker;

pub struct Site {
    pub home: Home,
    pub sql: Sql,
    pub receiver: Receiver,
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

impl Site {
    /// Opens a site on the shared broker.
    pub async fn open(kind: Kind, protocol: Protocol) -> Self {
        let broker = Broker::shared(protocol);
        Self::open_at(kind, &broker.url, "", |_, _| Reply::status(200)).await
    }

    /// Opens a site on a private broker, with more settings of the lane.
    pub async fn open_at(
        kind: Kind,
        broker: &str,
        more: &str,
        script: impl Fn(&Arrival, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let receiver = Receiver::start(script).await;
        let home = Home::new();
        let (url, sql) = fresh(kind, "queues", &home.shop).await;
        let queue = unique("jobs");
        home.settle_in(&settings(&url, broker, &queue, more, "1s"));
        let said = home.shop.run(&["migrate"]).fine();
        assert!(said.out.contains("-- queue `jobs`: created the"), "{}", said.out);
        let key = home.shop.run(&["key", "create", "test", "--role", "admin"]).fine().out.trim().to_owned();
        Self { home, sql, receiver, queue, key, url }
    }

    /// The settings, with this interval of the pollers.
    pub fn settings(&self, broker: &str, every: &str) -> String {
        settings(&self.url, broker, &self.queue, "", every)
    }

    pub fn start(&mut self) -> Worker {
        let worker = self.home.start_worker();
        until_open(self, &worker);
        worker
    }

    pub fn ask(&self, worker: &Worker, method: &str, path: &str, body: &Value) -> (u16, Value) {
        tokio::task::block_in_place(|| asked(&worker.address(), &self.key, method, path, body))
    }

    /// Creates a job over the API; returns its id and its status.
    pub fn make(&self, worker: &Worker, more: &Value) -> (String, String) {
        let mut job = json!({"code": "shop:orders:order:created", "targetUrl": self.receiver.url("hook"), "payload": "{}"});
        for (name, value) in more.as_object().expect("an object") {
            job[name] = value.clone();
        }
        let (code, made) = self.ask(worker, "POST", "/api/v1/dispatch-jobs", &job);
        assert_eq!(code, 201, "{made}");
        (
            made["id"].as_str().expect("an id").to_owned(),
            made["status"].as_str().expect("a status").to_owned(),
        )
    }

    /// Waits until a job has that status; returns its attempts.
    pub async fn becomes(&self, id: &str, status: &str) -> u64 {
        let query = format!(
            "SELECT {} FROM dispatch_jobs WHERE id = '{id}' AND status = '{status}'",
            self.sql.text("attempt_count")
        );
        until(&format!("{id} is {status}"), PATIENCE, || async {
            self.sql.rows(&query).await.ok()?.pop()?.pop()??.parse().ok()
        })
        .await
    }
}

fn until_open(site: &Site, worker: &Worker) {
    crate::shop::eventually("the API is open", || {
        (site.ask(worker, "GET", "/api/v1/dispatch-jobs", &Value::Null).0 == 200).then_some(())
    });
}

fn asked(address: &str, key: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
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
    stream.read_to_string(&mut text).expect("it answers");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (code, serde_json::from_str(body).unwrap_or_default())
}

/// Starts a private NATS server.
pub fn nats() -> Nats {
    tokio::task::block_in_place(|| Nats::start("").expect("NATS starts"))
}

/// Publishes any text to a NATS queue, as any client could.
pub async fn put(url: &str, subject: &str, body: &str) {
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
