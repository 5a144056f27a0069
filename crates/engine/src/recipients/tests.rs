use postrider_contract::Counters;
use postrider_seams::RowId;
use postrider_seams::row::Lease;

use super::*;

fn row() -> ClaimedRow {
    ClaimedRow {
        lease: Lease { id: RowId::Int(1), fence: Box::default() },
        counters: Counters::default(),
        crashes: 0,
        since_crash: 0,
        from: None,
        group: None,
        pool: None,
        share: None,
        waited_micros: 0,
        size: 0,
        fields: None,
    }
}

/// A mail to this many recipients, of whom every second one was deferred with a reply of this length.
fn mail(count: usize, reply: usize) -> Detail {
    let recipient = |number: usize| {
        let deferred = number % 2 == 1;
        Recipient {
            address: format!("recipient-{number}@example.org"),
            result: if deferred { RecipientResult::Deferred } else { RecipientResult::Accepted },
            reply: if deferred { format!("450 4.2.0 ä {}", "x".repeat(reply)) } else { String::new() },
        }
    };
    let all: Vec<Recipient> = (0..count).map(recipient).collect();
    let text = serde_json::to_string(&all).unwrap();
    Detail::from([("recipients".to_owned(), Value::Text(text))])
}

fn stored(detail: &Detail, name: &str) -> String {
    detail[name].as_text().unwrap().to_owned()
}

#[test]
fn m09_results_of_hundreds_of_recipients_fit_into_a_column() {
    let mut detail = mail(600, 800);
    let whole = mixed(&detail);
    assert!(stored(&detail, "recipients").len() > 200_000);
    remember(&row(), whole.as_ref(), &Detail::new(), &mut detail, None);
    let recipients = stored(&detail, "recipients");
    let remembered = stored(&detail, STORED_RECIPIENTS);
    assert_eq!(remembered, format!(r#"{{"recipients":{recipients}}}"#));
    assert!(remembered.len() < 65_536, "{} bytes", remembered.len());
    let kept: Vec<Recipient> = serde_json::from_str(&recipients).unwrap();
    assert_eq!(kept.len(), 600);
    for (number, one) in kept.iter().enumerate() {
        assert_eq!(one.address, format!("recipient-{number}@example.org"));
        let deferred = one.result == RecipientResult::Deferred;
        assert_eq!(deferred, number % 2 == 1, "{one:?}");
        assert_eq!(one.reply.starts_with("450 4.2.0"), deferred, "{one:?}");
    }
}

#[test]
fn m09_short_results_are_stored_as_they_are() {
    let mut detail = mail(20, 400);
    let before = stored(&detail, "recipients");
    remember(&row(), None, &Detail::new(), &mut detail, None);
    assert_eq!(stored(&detail, "recipients"), before);
}

/// A column of the application, such as MySQL's TEXT, and a mail to very many recipients.
#[test]
fn m09_results_that_fit_into_no_column_are_not_stored() {
    let mut detail = mail(1500, 80);
    let failure = Failure { detail: detail.clone(), ..Failure::new("450 4.2.0") };
    let outcome = Outcome::Retryable(failure);
    assert!(fit(&outcome, None));
    let shortest = shortened(&stored(&detail, "recipients"), None).expect("no limit").len();
    assert!(shortest > STORED_LIMIT, "{shortest} bytes without replies");
    assert!(!fit(&outcome, Some(65_535)));
    assert!(!fit(&outcome, Some(shortest - 1)), "the mail is not retried for the others then");
    let whole = mixed(&detail);
    remember(&row(), whole.as_ref(), &Detail::new(), &mut detail, Some(shortest - 1));
    assert!(!detail.contains_key("recipients") && !detail.contains_key(STORED_RECIPIENTS));
}
