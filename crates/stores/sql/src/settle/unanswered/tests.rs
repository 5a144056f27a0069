use super::*;

const LEASE: Duration = Duration::from_mins(1);

fn lease(version: i64) -> Lease {
    Lease { id: RowId::Int(7), fence: Box::new([Value::Text(version.to_string())]) }
}

fn adopts(unanswered: &UnansweredExtensions, version: i64) -> bool {
    !unanswered.adopt(vec![lease(version)], Some(0)).is_empty()
}

#[tokio::test(start_paused = true)]
async fn g02_only_the_version_of_an_extension_is_adopted() {
    let unanswered = UnansweredExtensions::default();
    assert!(!adopts(&unanswered, 4), "no extension failed");
    unanswered.add(&[lease(3)], LEASE);
    assert_eq!(unanswered.among([lease(3), lease(2)].iter()), [RowId::Int(7)]);
    for (version, own) in [(2, false), (5, false), (3, true), (4, true), (3, false)] {
        assert_eq!(adopts(&unanswered, version), own, "{version}");
    }
    // The caller still has version 3, and the answer to the next extension is lost too.
    unanswered.add(&[lease(3)], LEASE);
    assert!(adopts(&unanswered, 5) && !adopts(&unanswered, 7));
    unanswered.forget([RowId::Int(7)].iter());
    assert!(unanswered.among([lease(3)].iter()).is_empty() && !adopts(&unanswered, 5));
}

#[tokio::test(start_paused = true)]
async fn what_is_older_than_a_lease_is_dropped() {
    let unanswered = UnansweredExtensions::default();
    unanswered.add(&[lease(3)], LEASE);
    tokio::time::advance(LEASE).await;
    unanswered.add(&[], LEASE);
    assert!(unanswered.among([lease(3)].iter()).is_empty());
}
