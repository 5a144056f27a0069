//! Tests of the file transport in a real folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use mail_parser::MessageParser;
use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::row::Detail;
use postrider_seams::{Content, Envelope, Mail, Outcome, Transport, Value, transport};
use postrider_transport_file::{FileTransport, Settings};
use tokio::time::Instant;

const MESSAGE: &str = "From: a@example.org\r\nTo: b@example.org\r\nSubject: hi\r\n\r\n.dots stay\r\n";

fn envelope(row: u32, subject: &str) -> Envelope {
    Envelope {
        row: row.to_string(),
        dedupe: row.to_string(),
        attempt: 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Mail(Mail {
            from: "bounces@example.org".to_owned(),
            to: vec!["b@example.org".to_owned(), "blind@example.org".to_owned()],
            message: Bytes::from(MESSAGE.replace("hi", subject)),
            rest: None,
            message_id: format!("mails.{row}@example.org"),
            utf8: false,
            settled: vec![Recipient {
                address: "early@example.org".to_owned(),
                result: RecipientResult::Accepted,
                reply: String::new(),
            }],
            metadata: Vec::new(),
        }),
        detail: Detail::new(),
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

fn names(folder: &Path) -> Vec<String> {
    let entries =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    names
}

#[tokio::test]
async fn each_mail_is_one_whole_file_with_its_envelope_on_top() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("deep/mail");
    let transport = FileTransport::new(Settings::new(&folder)).unwrap();
    let outcomes = transport.deliver(&[envelope(1, "one"), envelope(2, "two")], soon()).await;

    assert_eq!(names(&folder), ["mails.1@example.org.eml", "mails.2@example.org.eml"]);
    let file = fs::read(folder.join("mails.2@example.org.eml")).unwrap();
    let parsed = MessageParser::default().parse(&file).unwrap();
    assert_eq!(parsed.subject(), Some("two"));
    assert_eq!(parsed.body_text(0).unwrap(), ".dots stay\r\n");
    let head = "X-Envelope-From: <bounces@example.org>\r\nX-Envelope-To: <b@example.org>\r\nX-Envelope-To: <blind@example.org>\r\n";
    assert!(String::from_utf8(file).unwrap().starts_with(head));

    let Outcome::Delivered(receipt) = &outcomes[1] else { panic!("{:?}", outcomes[1]) };
    assert_eq!(receipt.id.as_deref(), Some("mails.2@example.org.eml"));
    let Some(Value::Text(json)) = receipt.detail.get("recipients") else { panic!("no recipients") };
    let recipients: Vec<Recipient> = serde_json::from_str(json).unwrap();
    let addresses: Vec<_> = recipients.iter().map(|one| one.address.as_str()).collect();
    assert_eq!(addresses, ["early@example.org", "b@example.org", "blind@example.org"]);
}

#[tokio::test]
async fn g02_a_mail_whose_lease_ran_out_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let transport = FileTransport::new(Settings::new(folder.path())).unwrap();
    let lost = postrider_seams::LeaseCheck::new(|| false);
    let batch = [Envelope { lease: lost, ..envelope(1, "late") }, envelope(2, "in time")];
    let outcomes = transport.deliver(&batch, soon()).await;
    assert!(matches!(outcomes[0], Outcome::Deferred(_)), "{outcomes:?}");
    assert_eq!(names(folder.path()), ["mails.2@example.org.eml"]);
}

#[tokio::test]
async fn a_second_delivery_replaces_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let transport = FileTransport::new(Settings::new(folder.path())).unwrap();
    transport.deliver(&[envelope(1, "first")], soon()).await;
    transport.deliver(&[envelope(1, "second")], soon()).await;
    assert_eq!(names(folder.path()), ["mails.1@example.org.eml"]);
    let file = fs::read_to_string(folder.path().join("mails.1@example.org.eml")).unwrap();
    assert!(file.contains("Subject: second\r\n"));
}

#[tokio::test]
async fn folder_and_files_are_open_to_their_owner_only() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("mail");
    let transport = FileTransport::new(Settings::new(&folder)).unwrap();
    transport.deliver(&[envelope(1, "x")], soon()).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("mails.1@example.org.eml")), 0o600);
}

#[tokio::test]
async fn g03_a_missing_folder_refuses_us_and_is_created_again() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("mail");
    let transport = FileTransport::new(Settings::new(&folder)).unwrap();
    fs::remove_dir(&folder).unwrap();
    fs::write(&folder, "a file in its place").unwrap();
    let outcomes = transport.deliver(&[envelope(1, "x")], soon()).await;
    assert!(
        matches!(&outcomes[0], Outcome::Refused(failure) if failure.reason.contains("mails.1@example.org.eml"))
    );
    // AlreadyExists is the error of creating a folder over a file.
    assert!(transport.probe().await.is_err());

    fs::remove_file(&folder).unwrap();
    transport.probe().await.unwrap();
    let outcomes = transport.deliver(&[envelope(1, "x")], soon()).await;
    assert!(matches!(outcomes[0], Outcome::Delivered(_)));
}

#[tokio::test]
async fn a_probe_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let transport = FileTransport::new(Settings::new(folder.path())).unwrap();
    transport.probe().await.unwrap();
    assert!(names(folder.path()).is_empty());
}

#[tokio::test]
async fn a_failed_write_leaves_no_half_file() {
    let folder = tempfile::tempdir().unwrap();
    let transport = FileTransport::new(Settings::new(folder.path())).unwrap();
    // A folder of that name exists: the rename fails.
    fs::create_dir(folder.path().join("mails.1@example.org.eml")).unwrap();
    let outcomes = transport.deliver(&[envelope(1, "x")], soon()).await;
    assert!(matches!(outcomes[0], Outcome::Retryable(_)), "{:?}", outcomes[0]);
    assert_eq!(names(folder.path()), ["mails.1@example.org.eml"]);
}

#[test]
fn only_files_of_killed_writers_are_removed_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let hours_ago = |name: &str, hours: u64| {
        let file = fs::File::create(folder.path().join(name)).unwrap();
        let now = file.metadata().unwrap().modified().unwrap();
        file.set_modified(now - Duration::from_secs(hours * 3600)).unwrap();
    };
    hours_ago(".abandoned.part", 2);
    hours_ago(".busy.part", 0);
    hours_ago("old.eml", 48);
    hours_ago("mine.part", 48);
    hours_ago(".hidden", 48);
    FileTransport::new(Settings::new(folder.path())).unwrap();
    assert_eq!(names(folder.path()), [".busy.part", ".hidden", "mine.part", "old.eml"]);
}

#[tokio::test]
async fn g01_nothing_is_written_after_the_deadline_at_no_cost() {
    let folder = tempfile::tempdir().unwrap();
    let transport = FileTransport::new(Settings::new(folder.path())).unwrap();
    let outcomes = transport.deliver(&[envelope(1, "x")], Instant::now()).await;
    assert!(matches!(outcomes[0], Outcome::Deferred(_) | Outcome::Uncertain(_)), "{:?}", outcomes[0]);
}

#[tokio::test]
async fn content_other_than_mail_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let transport = FileTransport::new(Settings::new(folder.path())).unwrap();
    let nothing = Envelope { content: Content::Nothing, ..envelope(1, "x") };
    let outcomes = transport.deliver(&[nothing], soon()).await;
    assert!(matches!(outcomes[0], Outcome::Rejected(_)));
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_that_names_it() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("file");
    fs::write(&file, "").unwrap();
    let error = FileTransport::new(Settings::new(file.join("mail"))).unwrap_err();
    assert!(error.to_string().contains("file/mail can't be written"), "{error}");
    assert!(matches!(transport::Error::from(error), transport::Error::Refused(_)));
}
