use postrider_seams::row::Detail;
use postrider_seams::{Content, Envelope, Record};

use super::*;
use crate::encode;

fn entries(topic: &str, keys: &[&str], payload: usize) -> HashMap<usize, BatchEntry> {
    let entry = |(index, key): (usize, &&str)| {
        let record = Record {
            topic: topic.to_owned(),
            key: Some((*key).to_owned()),
            payload: vec![b'x'; payload].into(),
            headers: Vec::new(),
        };
        let envelope = Envelope {
            row: index.to_string(),
            dedupe: index.to_string(),
            attempt: 1,
            lease: postrider_seams::LeaseCheck::default(),
            content: Content::Nothing,
            detail: Detail::new(),
        };
        (index, encode::encode(&envelope, &record, 100_000).unwrap())
    };
    keys.iter().enumerate().map(entry).collect()
}

#[test]
fn a_standard_queue_gets_batches_of_ten() {
    let entries = entries("q", &["a"; 25], 1);
    let mut plan = RequestPlan::new((0..25).collect(), false, 100_000);
    let wave = plan.wave(&entries);
    assert_eq!(wave.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 5]);
    assert_eq!(wave.concat(), (0..25).collect::<Vec<_>>());
    assert!(plan.wave(&entries).is_empty());
}

#[test]
fn a_request_is_no_larger_than_a_message_may_be() {
    let entries = entries("q", &["a"; 4], 40);
    // Each has 40 bytes and an attribute of 3 + 1 + 6.
    let mut plan = RequestPlan::new((0..4).collect(), false, 100);
    assert_eq!(plan.wave(&entries), [vec![0, 1], vec![2, 3]]);
}

#[test]
fn o08_a_group_has_one_record_in_flight() {
    let entries = entries("q.fifo", &["a", "a", "b", "a", "b", "c"], 1);
    let mut plan = RequestPlan::new((0..6).collect(), true, 100_000);
    assert_eq!(plan.wave(&entries), [vec![0, 2, 5]]);
    assert_eq!(plan.wave(&entries), [vec![1, 4]]);
    assert_eq!(plan.wave(&entries), [vec![3]]);
    assert!(plan.wave(&entries).is_empty());
}

#[test]
fn o08_a_failed_record_holds_its_own_group_only() {
    let entries = entries("q.fifo", &["a", "a", "b", "a", "b"], 1);
    let mut plan = RequestPlan::new((0..5).collect(), true, 100_000);
    plan.wave(&entries);
    assert_eq!(plan.remove_group("a", &entries), [1, 3]);
    assert_eq!(plan.wave(&entries), [vec![4]]);
}
