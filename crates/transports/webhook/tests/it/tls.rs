//! Tests of HTTPS: certificates, and HTTP/2 if the server offers it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use hyper::Version;
use postrider_transport_webhook::{Settings, Webhooks};
use tempfile::NamedTempFile;

use crate::fixtures::{Server, assert_summary, certificates, deliver, settings, status, webhook, webhooks};

/// Returns settings that trust this root.
fn trusting(root: &str) -> (Settings, NamedTempFile) {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), root).unwrap();
    let mut settings = settings();
    settings.ca_file = Some(file.path().to_owned());
    (settings, file)
}

fn url(server: &Server) -> String {
    format!("https://localhost:{}/hook", server.address.port())
}

#[tokio::test]
async fn http_1_and_2_are_negotiated_with_the_server() {
    let offers: [(&[&[u8]], Version); 3] = [
        (&[b"h2", b"http/1.1"], Version::HTTP_2),
        (&[b"http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ];
    for (offered, version) in offers {
        let (root, mut config) = certificates(&["localhost"]);
        config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
        let server = Server::with(Some(config), |_| status(200)).await;
        let (settings, _file) = trusting(&root);
        let webhooks = Webhooks::new(settings).unwrap();
        for _ in 0..5 {
            assert_summary(&deliver(&webhooks, webhook(&url(&server))).await, "delivered", "SUCCESS", "");
        }
        let seen = server.seen().pop().unwrap();
        assert_eq!((seen.version, server.connections()), (version, 1));
        assert_eq!((seen.path.as_str(), seen.body.as_ref()), ("/hook", &b"{}"[..]));
    }
}

#[tokio::test]
async fn requests_share_one_http_2_connection() {
    let (root, mut config) = certificates(&["localhost"]);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = Server::with(Some(config), |_| status(200)).await;
    let (settings, _file) = trusting(&root);
    let webhooks = Arc::new(Webhooks::new(settings).unwrap());
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let (webhooks, webhook) = (Arc::clone(&webhooks), webhook(&url(&server)));
            tokio::spawn(async move { deliver(&webhooks, webhook).await })
        })
        .collect();
    for task in tasks {
        assert_summary(&task.await.unwrap(), "delivered", "SUCCESS", "");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn j05_a_wrong_certificate_is_permanent_and_gets_no_request() {
    let (root, config) = certificates(&["elsewhere.example"]);
    let (_, unknown) = certificates(&["localhost"]);
    for config in [config, unknown] {
        let server = Server::with(Some(config), |_| status(200)).await;
        let (settings, _file) = trusting(&root);
        let outcome = deliver(&Webhooks::new(settings).unwrap(), webhook(&url(&server))).await;
        assert_summary(&outcome, "rejected", "CONNECTION_ERROR", "PERMANENT");
        assert!(outcome.failure().unwrap().reason.contains("certificate"), "{outcome:?}");
        assert_eq!(server.seen().len(), 0);
    }
}

#[tokio::test]
async fn j05_tls_with_one_that_speaks_none_is_unknown() {
    let server = Server::start(|_| status(200)).await;
    let outcome = deliver(&webhooks(), webhook(&url(&server))).await;
    assert_summary(&outcome, "retryable", "CONNECTION_ERROR", "UNKNOWN");
}

#[tokio::test]
async fn http_2_goes_on_after_goaway() {
    let (root, mut config) = certificates(&["localhost"]);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let served = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&served);
    // Each connection accepts one request, then announces that it accepts no more.
    let address = crate::fixtures::raw(move |_, stream| {
        let (acceptor, served) = (acceptor.clone(), Arc::clone(&counted));
        async move {
            let stream = hyper_util::rt::TokioIo::new(acceptor.accept(stream).await.unwrap());
            let (answered, told) = tokio::sync::oneshot::channel();
            let answered = std::sync::Mutex::new(Some(answered));
            let service = hyper::service::service_fn(|_| {
                served.fetch_add(1, SeqCst);
                let answered = answered.lock().unwrap().take().expect("one request a connection");
                async move {
                    let _ = answered.send(());
                    Ok::<_, std::convert::Infallible>(status(200))
                }
            });
            let executor = hyper_util::rt::TokioExecutor::new();
            let builder = hyper::server::conn::http2::Builder::new(executor);
            let connection = builder.serve_connection(stream, service);
            tokio::pin!(connection);
            tokio::select! {
                _ = connection.as_mut() => return,
                _ = told => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        }
    })
    .await;
    let (settings, _file) = trusting(&root);
    let webhooks = Webhooks::new(settings).unwrap();
    for done in 1..=5 {
        let url = format!("https://localhost:{}/", address.port());
        assert_summary(&deliver(&webhooks, webhook(&url)).await, "delivered", "SUCCESS", "");
        assert_eq!(served.load(SeqCst), done);
    }
}
