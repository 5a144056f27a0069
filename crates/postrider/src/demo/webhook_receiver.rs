//! The demo's webhook receiver, on loopback: accepts only requests that are signed with the secret that it knows.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use postrider_hub::access::Actor;
use postrider_hub::account::{AllowedHost, NewAccount, NewCredentials};
use postrider_seams::Secret;
use postrider_secrets::Keyring;
use postrider_transport_webhook::sign;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::api;
use crate::commands::CommandContext;
use crate::failure::Failure;

/// The file, in the demo's folder, from which the workers read the secret.
const SECRET_FILE: &str = "signing-secret";

/// Webhook id → requests with a valid signature; and the number of requests without one.
#[derive(Default)]
struct Journal {
    genuine: HashMap<String, u64>,
    forged: u64,
}

/// The running receiver; its tasks end with the process.
pub struct WebhookReceiver {
    port: u16,
    journal: Arc<Mutex<Journal>>,
}

impl WebhookReceiver {
    /// Starts the receiver, makes the secret and writes it into `folder` for the workers.
    pub async fn start(folder: &Path) -> io::Result<Self> {
        let fresh = Keyring::generate_key("demo");
        let key = fresh.reveal().split_once(':').map_or("", |(_, key)| key);
        let secret = Secret::new(format!("{}{key}", sign::PREFIX));
        std::fs::write(folder.join(SECRET_FILE), secret.reveal())?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let journal = Arc::<Mutex<Journal>>::default();
        let shared = Arc::clone(&journal);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, secret.clone(), Arc::clone(&shared)));
            }
        });
        Ok(Self { port, journal })
    }

    /// The URL to which the webhooks are sent.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/orders", self.port)
    }

    /// The ids received with a valid signature, and the number of requests without one.
    pub fn received(&self) -> (Vec<String>, u64) {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        (journal.genuine.keys().cloned().collect(), journal.forged)
    }
}

/// Creates a service account that signs with the secret and returns its id, which the jobs name.
pub async fn account(context: &CommandContext) -> Result<String, Failure> {
    let store = context.settings.api_store().expect("the demo's settings have a lane of jobs");
    let credentials = NewCredentials {
        auth_type: None,
        auth_token_ref: None,
        signing_secret_ref: Some(format!("file://{SECRET_FILE}")),
        signing_algorithm: None,
    };
    let new = NewAccount {
        code: "shop".to_owned(),
        name: "The shop".to_owned(),
        description: None,
        client_ids: Vec::new(),
        allowed_hosts: Some(vec![AllowedHost("127.0.0.1".to_owned())]),
        application_id: None,
        webhook_credentials: Some(credentials),
        roles: Vec::new(),
    };
    Ok(api::hub(context, store).await?.create_account(&Actor::command_line(), new).await?.account.id)
}

async fn serve(mut stream: TcpStream, secret: Secret, journal: Arc<Mutex<Journal>>) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let (head, body) = request(&mut stream, &mut buffer).await?;
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value.trim())
        };
        let id = header("webhook-id");
        let genuine = header("webhook-timestamp").parse::<i64>().is_ok_and(|time| {
            let keys = sign::key(&secret).into_iter().collect::<Vec<_>>();
            sign::signatures(&keys, id, time, &body) == header("webhook-signature")
        });
        {
            let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
            if genuine {
                *journal.genuine.entry(id.to_owned()).or_default() += 1;
            } else {
                journal.forged += 1;
            }
        }
        let status = if genuine { "200 OK" } else { "401 Unauthorized" };
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.ok()?;
    }
}

/// Reads head and body of the next request; `None` at the end of the connection.
async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..at]).into_owned();
            let mut lines = head.lines().filter_map(|line| line.split_once(':'));
            let length = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let end = at + 4 + length.map_or(0, |(_, value)| value.trim().parse().unwrap_or(0));
            if buffer.len() >= end {
                let body = buffer[at + 4..end].to_vec();
                buffer.drain(..end);
                return Some((head, body));
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}
