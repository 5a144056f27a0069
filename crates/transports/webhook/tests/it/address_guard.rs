//! Tests of addresses that may not be dialled (rule J15).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use async_trait::async_trait;
use postrider_http::Resolve;
use postrider_seams::{Outcome, Webhook};
use postrider_transport_webhook::{Settings, Webhooks};

use crate::fixtures::{Server, assert_summary, deliver, settings, status, webhook};

/// A name that resolves to another of these addresses at each lookup.
struct ChangingResolver {
    answers: Vec<SocketAddr>,
    asked: AtomicUsize,
}

#[async_trait]
impl Resolve for ChangingResolver {
    async fn resolve(&self, _host: &str, _port: u16) -> io::Result<Vec<SocketAddr>> {
        let asked = self.asked.fetch_add(1, SeqCst);
        Ok(vec![self.answers[asked.min(self.answers.len() - 1)]])
    }
}

/// A name that resolves to a private address and another one.
struct TwoAddresses(SocketAddr);

#[async_trait]
impl Resolve for TwoAddresses {
    async fn resolve(&self, _host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![SocketAddr::from(([10, 0, 0, 1], port)), self.0])
    }
}

#[tokio::test]
async fn j15_private_addresses_are_refused_and_nothing_is_sent() {
    let server = Server::start(|_| status(200)).await;
    let port = server.address.port();
    let strict = Webhooks::new(Settings::from_url("webhook://?plain_http=always", &[]).unwrap()).unwrap();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0.0.0.0", "[::]"] {
        let outcome = deliver(&strict, webhook(&format!("http://{host}:{port}/"))).await;
        assert_summary(&outcome, "rejected", "CONNECTION_ERROR", "PERMANENT");
    }
    assert!(strict.check(&server.url()).await.unwrap_err().contains("loopback"));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn j15_plain_http_is_refused_where_it_is_not_allowed() {
    let server = Server::start(|_| status(200)).await;
    let settings = Settings::from_url("webhook://?allow=127.0.0.0/8&plain_http=never", &[]).unwrap();
    let outcome = deliver(&Webhooks::new(settings).unwrap(), webhook(&server.url())).await;
    assert_summary(&outcome, "rejected", "CONNECTION_ERROR", "PERMANENT");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn j15_a_name_that_becomes_private_after_the_check_is_permanent_and_gets_no_byte() {
    let server = Server::start(|_| status(200)).await;
    let public = "93.184.215.14:443".parse().unwrap();
    let resolver: Arc<dyn Resolve> =
        Arc::new(ChangingResolver { answers: vec![public, server.address], asked: AtomicUsize::new(0) });
    let settings = Settings::from_url("webhook://", &[]).unwrap();
    // Two transports, because each caches its lookups for a few seconds.
    let checked = Webhooks::with_resolver(settings.clone(), Arc::clone(&resolver)).unwrap();
    let webhooks = Webhooks::with_resolver(settings, resolver).unwrap();
    let url = format!("https://rebind.example:{}/", server.address.port());
    checked.check(&url).await.unwrap();
    let outcome = deliver(&webhooks, webhook(&url)).await;
    assert_summary(&outcome, "rejected", "CONNECTION_ERROR", "PERMANENT");
    assert!(outcome.failure().unwrap().reason.contains("rebind.example is 127.0.0.1"), "{outcome:?}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn j15_a_name_with_a_public_and_a_private_address_is_dialled_at_the_allowed_one() {
    let server = Server::start(|_| status(200)).await;
    let webhooks = Webhooks::with_resolver(settings(), Arc::new(TwoAddresses(server.address))).unwrap();
    let outcome =
        deliver(&webhooks, webhook(&format!("http://both.example:{}/", server.address.port()))).await;
    assert_summary(&outcome, "delivered", "SUCCESS", "");
}

#[tokio::test]
async fn j05_urls_that_are_none_are_permanent() {
    let webhooks = Webhooks::new(settings()).unwrap();
    for url in ["", "nonsense", "ftp://a.example/", "http://user:pw@127.0.0.1/", "http://127.0.0.1/\r\nX: y"]
    {
        assert_summary(&deliver(&webhooks, webhook(url)).await, "rejected", "CONNECTION_ERROR", "PERMANENT");
    }
}

#[tokio::test]
async fn j10_credentials_go_only_to_hosts_that_their_account_names() {
    let server = Server::start(|_| status(200)).await;
    let webhooks = Webhooks::new(settings()).unwrap();
    let of = |hosts: &[&str]| Webhook {
        allowed_hosts: Some(hosts.iter().map(|&host| host.to_owned()).collect()),
        ..webhook(&server.url())
    };
    for hosts in [&["hooks.example.com"][..], &["*.127.0.0.1"], &[]] {
        let outcome = deliver(&webhooks, of(hosts)).await;
        assert!(matches!(outcome, Outcome::Deferred(_)), "{hosts:?}: {outcome:?}");
    }
    assert_eq!(server.connections(), 0);
    for hosts in [&["hooks.example.com", "127.0.0.1"][..], &["*"]] {
        assert_summary(&deliver(&webhooks, of(hosts)).await, "delivered", "SUCCESS", "");
    }
}
