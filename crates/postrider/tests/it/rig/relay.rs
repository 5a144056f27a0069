//! The shared SMTP server, and a way to put another in its place.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpStream};

use super::database::variable;
use super::journal::{self, Entry};

/// The relay that all tests share; whoever reads its journal looks for subjects of their own.
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

    /// What it accepted under subjects that begin so.
    pub fn accepted(&self, subject: &str) -> Vec<Entry> {
        journal::read(&self.journal).into_iter().filter(|entry| entry.subject.starts_with(subject)).collect()
    }
}

/// An address that leads to one server now, and to another later.
pub struct Turntable {
    pub address: SocketAddr,
    target: Arc<Mutex<SocketAddr>>,
}

impl Turntable {
    pub async fn towards(first: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let target = Arc::new(Mutex::new(first));
        let shared = Arc::clone(&target);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let target = *shared.lock().expect("nobody panics with it");
                tokio::spawn(async move {
                    if let Ok(mut far) = TcpStream::connect(target).await {
                        // However the two part, both ends close.
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
        Self { address, target }
    }

    /// New connections go there.
    pub fn turn(&self, to: SocketAddr) {
        *self.target.lock().expect("nobody panics with it") = to;
    }
}
