//! The shared SMTP server, and an address that can be redirected to another one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpStream};

use super::database::variable;
use super::journal::{self, Entry};

/// The relay that all tests share; each test reads only its own subjects from the journal.
pub struct Relay {
    pub address: String,
    journal: PathBuf,
}

impl Relay {
    pub fn shared() -> Self {
        Self {
            address: variable("POSTRIDER_TEST_SMTP"),
            journal: variable("POSTRIDER_TEST_SMTP_JOURNAL").into(),
        }
    }

    /// The accepted mails whose subject starts with this text.
    pub fn accepted(&self, subject: &str) -> Vec<Entry> {
        journal::read(&self.journal).into_iter().filter(|entry| entry.subject.starts_with(subject)).collect()
    }
}

/// An address that forwards to one server now, and to another later.
pub struct SwitchableProxy {
    pub address: SocketAddr,
    target: Arc<Mutex<SocketAddr>>,
}

impl SwitchableProxy {
    pub async fn start(first: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let target = Arc::new(Mutex::new(first));
        let shared = Arc::clone(&target);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let target = *shared.lock().expect("no panic holds it");
                tokio::spawn(async move {
                    if let Ok(mut far) = TcpStream::connect(target).await {
                        // In every case both ends are closed.
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
        Self { address, target }
    }

    /// Forwards new connections to this address.
    pub fn switch_to(&self, to: SocketAddr) {
        *self.target.lock().expect("no panic holds it") = to;
    }
}
