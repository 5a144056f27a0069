//! Tests of TLS and credentials: verified, required, and never in plain text.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use postrider_seams::{Secret, Transport, transport};
use postrider_transport_smtp::{Credentials, Mechanism, Settings, Smtp, Tls};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::fixtures::{delivered, refused, retryable, send, to};
use crate::relay::{Act, HELLO, Relay, commands, hear, hello, say, script, text};

/// Creates a certificate for `name`, and the file that makes it trusted.
fn certificate(name: &str) -> (TlsAcceptor, tempfile::NamedTempFile) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), made.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), file)
}

fn settings(port: u16, tls: Tls, ca_file: Option<&tempfile::NamedTempFile>) -> Settings {
    Settings {
        port,
        helo: Some("client.test".to_owned()),
        ca_file: ca_file.map(|file| file.path().to_owned()),
        ..Settings::new("localhost", tls)
    }
}

fn with_user(mut settings: Settings, mechanism: Mechanism) -> Settings {
    let secret = Secret::new("sesame-street");
    settings.credentials = Some(Credentials { user: "tim".to_owned(), secret, mechanism });
    settings
}

fn mail() -> Vec<Act> {
    script([commands("b@y.test"), vec![say("250 ok\r\n250 ok\r\n354 go"), text(), say("250 ok")]])
}

fn starttls() -> Vec<Act> {
    vec![
        say("220 hi"),
        hear("EHLO client.test"),
        say("250-relay\r\n250 STARTTLS"),
        hear("STARTTLS"),
        say("220 go ahead"),
        Act::Secure,
        hear("EHLO client.test"),
    ]
}

#[tokio::test]
async fn tls_from_the_first_byte() {
    let (acceptor, ca) = certificate("localhost");
    let relay = Relay::play_with(vec![script([vec![Act::Secure], hello(), mail()])], Some(acceptor)).await;
    let smtp = Smtp::new(settings(relay.port, Tls::Implicit, Some(&ca))).unwrap();
    delivered(&send(&smtp, &[to("b@y.test")]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn starttls_sends_ehlo_again_and_discards_earlier_replies() {
    let (acceptor, ca) = certificate("localhost");
    let relay = Relay::play_with(
        vec![script([starttls(), vec![Act::Say(HELLO.to_owned())], mail()])],
        Some(acceptor),
    )
    .await;
    let smtp = Smtp::new(settings(relay.port, Tls::Required, Some(&ca))).unwrap();
    delivered(&send(&smtp, &[to("b@y.test")]).await[0]);
    relay.finish().await;
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused() {
    let (acceptor, _ca) = certificate("localhost");
    let relay = Relay::play_with(vec![vec![Act::Secure]], Some(acceptor)).await;
    let smtp = Smtp::new(settings(relay.port, Tls::Implicit, None)).unwrap();
    let outcomes = send(&smtp, &[to("b@y.test")]).await;
    assert!(refused(&outcomes[0]).reason.contains("ca_file"));
    relay.finish().await;
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let (acceptor, ca) = certificate("other.test");
    let relay = Relay::play_with(vec![vec![Act::Secure]], Some(acceptor)).await;
    let smtp = Smtp::new(settings(relay.port, Tls::Implicit, Some(&ca))).unwrap();
    assert!(matches!(smtp.probe().await, Err(transport::Error::Refused(_))));
    relay.finish().await;
}

#[tokio::test]
async fn plain_text_after_the_answer_to_starttls_is_not_trusted() {
    let (acceptor, ca) = certificate("localhost");
    let injected = Act::Say("220 go ahead\r\n250 relay\r\n".to_owned());
    let mut acts = starttls();
    acts.truncate(4);
    acts.extend([injected, Act::HearEnd]);
    let relay = Relay::play_with(vec![acts], Some(acceptor)).await;
    let smtp = Smtp::new(settings(relay.port, Tls::Required, Some(&ca))).unwrap();
    let outcomes = send(&smtp, &[to("b@y.test")]).await;
    assert!(retryable(&outcomes[0]).reason.contains("after the answer to STARTTLS"), "{outcomes:?}");
    relay.finish().await;
}

#[tokio::test]
async fn a_relay_without_starttls_gets_neither_mail_nor_password() {
    let relay = Relay::play(vec![script([hello(), vec![Act::HearEnd]])]).await;
    let smtp = Smtp::new(with_user(settings(relay.port, Tls::Required, None), Mechanism::Plain)).unwrap();
    let outcomes = send(&smtp, &[to("b@y.test")]).await;
    assert!(refused(&outcomes[0]).reason.contains("does not offer STARTTLS"));
    relay.finish().await;
}

/// Returns the result of an authentication over TLS, with these acts after EHLO.
async fn authenticate(mechanism: Mechanism, offer: &str, acts: Vec<Act>) -> Result<(), transport::Error> {
    let (acceptor, ca) = certificate("localhost");
    let relay = Relay::play_with(vec![script([starttls(), vec![say(offer)], acts])], Some(acceptor)).await;
    let smtp = Smtp::new(with_user(settings(relay.port, Tls::Required, Some(&ca)), mechanism)).unwrap();
    let probed = smtp.probe().await;
    drop(smtp);
    relay.finish().await;
    probed
}

#[tokio::test]
async fn each_mechanism_follows_its_standard() {
    let ok = || say("235 2.7.0 welcome");
    let plain = format!("AUTH PLAIN {}", STANDARD.encode("\0tim\0sesame-street"));
    authenticate(Mechanism::Plain, "250-relay\r\n250 AUTH LOGIN PLAIN", vec![hear(&plain), ok()])
        .await
        .unwrap();
    authenticate(Mechanism::Password, "250-relay\r\n250 AUTH PLAIN LOGIN", vec![hear(&plain), ok()])
        .await
        .unwrap();
    let login = || {
        let (user, password) = (STANDARD.encode("tim"), STANDARD.encode("sesame-street"));
        let name = say("334 VXNlcm5hbWU6");
        vec![hear("AUTH LOGIN"), name, hear(&user), say("334 UGFzc3dvcmQ6"), hear(&password), ok()]
    };
    authenticate(Mechanism::Login, "250-relay\r\n250 AUTH PLAIN LOGIN", login()).await.unwrap();
    authenticate(Mechanism::Password, "250-relay\r\n250 AUTH=LOGIN", login()).await.unwrap();
    let token = STANDARD.encode("user=tim\u{1}auth=Bearer sesame-street\u{1}\u{1}");
    let acts = vec![hear(&format!("AUTH XOAUTH2 {token}")), ok()];
    authenticate(Mechanism::XOAuth2, "250-relay\r\n250 AUTH XOAUTH2", acts).await.unwrap();
}

#[tokio::test]
async fn g03_a_wrong_password_refuses_us_and_is_not_repeated() {
    let plain = STANDARD.encode("\0tim\0sesame-street");
    let acts = vec![Act::HearPrefix("AUTH PLAIN"), say(&format!("535 5.7.8 bad credentials {plain}"))];
    let error = authenticate(Mechanism::Plain, "250-relay\r\n250 AUTH PLAIN", acts).await.unwrap_err();
    assert!(matches!(error, transport::Error::Refused(_)));
    assert!(error.to_string().contains("535") && !error.to_string().contains(&plain), "{error}");

    let acts = vec![
        Act::HearPrefix("AUTH XOAUTH2"),
        say("334 eyJzdGF0dXMiOiI0MDEifQ=="),
        hear(""),
        say("535 5.7.8 token expired"),
    ];
    let error = authenticate(Mechanism::XOAuth2, "250-relay\r\n250 AUTH XOAUTH2", acts).await.unwrap_err();
    assert!(
        matches!(error, transport::Error::Refused(ref words) if words.contains("token expired")),
        "{error}"
    );
}

#[tokio::test]
async fn a_temporary_authentication_failure_is_not_a_wrong_password() {
    let acts = vec![Act::HearPrefix("AUTH PLAIN"), say("454 4.7.0 temporary authentication failure")];
    let error = authenticate(Mechanism::Plain, "250-relay\r\n250 AUTH PLAIN", acts).await.unwrap_err();
    assert!(matches!(error, transport::Error::Unreachable(_)), "{error}");
}

#[tokio::test]
async fn a_mechanism_that_is_not_offered_is_named_with_those_that_are() {
    let error =
        authenticate(Mechanism::XOAuth2, "250-relay\r\n250 AUTH PLAIN LOGIN", vec![Act::HearEnd]).await;
    let words = error.unwrap_err().to_string();
    assert!(words.contains("XOAUTH2") && words.contains("PLAIN, LOGIN"), "{words}");
}
