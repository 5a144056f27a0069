//! Tests of the composers through their public API.

use postrider_composers::{EmailComposer, NullComposer, email};
use postrider_contract::Counters;
use postrider_seams::{ClaimedRow, Composer, Content, Lease, Outcome, RowId};

fn bare(id: &str) -> ClaimedRow {
    ClaimedRow {
        lease: Lease { id: RowId::Text(id.into()), fence: Box::default() },
        counters: Counters { attempts: 0, max_attempts: None, schedule: None },
        from: None,
        group: None,
        pool: None,
        share: None,
        crashes: 0,
        since_crash: 0,
        waited_micros: 0,
        size: 0,
        fields: None,
    }
}

#[tokio::test]
async fn null_makes_empty_envelopes_in_order() {
    let composed = NullComposer.compose(&[bare("a"), bare("b")]).await;
    let rows: Vec<_> = composed
        .into_iter()
        .map(|envelope| {
            let envelope = envelope.unwrap();
            assert!(matches!(envelope.content, Content::Nothing));
            assert_eq!((envelope.dedupe.as_str(), envelope.attempt), (envelope.row.as_str(), 1));
            envelope.row
        })
        .collect();
    assert_eq!(rows, ["a", "b"]);
}

#[tokio::test]
async fn a_mail_row_without_its_fields_is_rejected_and_not_a_panic() {
    let composer = EmailComposer::new(email::Settings::new("mails"));
    let composed = composer.compose(&[bare("a")]).await;
    assert!(matches!(&composed[0], Err(Outcome::Rejected(failure)) if failure.reason.contains("not loaded")));
}
