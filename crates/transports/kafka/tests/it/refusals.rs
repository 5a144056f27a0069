//! Tests of records and credentials that the cluster refuses.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use postrider_seams::{Content, Envelope, Transport as _, transport};
use postrider_transport_kafka::Kafka;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use crate::mock_cluster::{self, PARTITIONS, cluster, kafka};
use crate::world::*;

#[tokio::test]
async fn a_missing_topic_is_rejected_and_others_delivered() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let unknown = unique("nope");
    cluster.topic_error(&unknown, RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).unwrap();
    let batch =
        [record(&topic, None, "1", "1"), record(&unknown, None, "2", "2"), record(&topic, None, "3", "3")];
    let outcomes = send(&kafka(&cluster), &batch).await;
    delivered(&outcomes[0]);
    let reason = &rejected(&outcomes[1]).reason;
    assert!(reason.contains("nknown topic"), "{reason}");
    delivered(&outcomes[2]);
}

#[tokio::test]
async fn a_denied_topic_is_rejected() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = kafka(&cluster);
    let denied = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    cluster.request_errors(RDKafkaApiKey::Produce, &[denied]);
    let outcomes = send(&kafka, &[record(&topic, None, "1", "1")]).await;
    assert!(rejected(&outcomes[0]).reason.contains("authorization failed"), "{outcomes:?}");
    // A probe finds that the topic can be written again.
    kafka.probe().await.unwrap();
    all_delivered(&send(&kafka, &[record(&topic, None, "2", "2")]).await);
}

#[tokio::test]
async fn a_record_too_large_for_its_topic_affects_no_other() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = kafka(&cluster);
    let large = RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    // The request of all three, then the first alone.
    cluster.request_errors(RDKafkaApiKey::Produce, &[large, large]);
    let outcomes = send(&kafka, &numbered(&topic, 1, 0..3)).await;
    assert!(rejected(&outcomes[0]).reason.contains("large"), "{outcomes:?}");
    delivered(&outcomes[1]);
    delivered(&outcomes[2]);
}

#[tokio::test]
async fn a_record_over_our_own_limit_is_not_even_sent() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let batch = [record(&topic, None, vec![b'x'; 2_000_000], "1"), record(&topic, None, "2", "2")];
    let outcomes = send(&kafka(&cluster), &batch).await;
    assert!(rejected(&outcomes[0]).reason.contains("large"), "{outcomes:?}");
    delivered(&outcomes[1]);
}

#[tokio::test]
async fn invalid_records_and_topics_are_rejected() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let nothing = Envelope { content: Content::Nothing, ..record(&topic, None, "", "1") };
    let batch = [nothing, record("a b", None, "", "2"), record(&topic, None, "x", "3")];
    let outcomes = send(&kafka(&cluster), &batch).await;
    rejected(&outcomes[0]);
    rejected(&outcomes[1]);
    delivered(&outcomes[2]);
}

#[tokio::test]
async fn g03_a_cluster_that_denies_us_pauses_the_lane_and_is_probed_again() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let denied = RDKafkaRespErr::RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
    cluster.request_errors(RDKafkaApiKey::InitProducerId, &[denied]);
    let kafka = kafka(&cluster);
    let outcomes = send(&kafka, &numbered(&topic, 1, 0..3)).await;
    for outcome in &outcomes {
        refused(outcome);
    }
    // A fatal error ends that producer; the next call has a new one.
    all_delivered(&send(&kafka, &numbered(&topic, 1, 0..3)).await);
    assert_eq!(in_order(&mock_cluster::seen(&cluster.bootstrap_servers(), &topic, PARTITIONS, 3), 3), 0);
}

#[tokio::test]
async fn g03_a_wrong_password_pauses_the_lane() {
    let broker = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = broker.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in broker.incoming().map_while(Result::ok) {
            std::thread::spawn(move || refuse_password(stream));
        }
    });
    let kafka = Kafka::from_url(&format!("kafka://me:hunter2@{address}?timeout=3s"), &[]).unwrap();
    let error = kafka.probe().await.unwrap_err();
    assert!(
        matches!(&error, transport::Error::Refused(reason) if reason.contains("no such user")),
        "{error:?}"
    );
    let outcomes = send(&kafka, &numbered("deals", 1, 0..3)).await;
    for outcome in &outcomes {
        let reason = &refused(outcome).reason;
        assert!(reason.contains("no such user") && !reason.contains("hunter2"), "{reason}");
    }
}

/// A minimal broker that refuses the password: `ApiVersions`, `SaslHandshake`, `SaslAuthenticate`.
fn refuse_password(mut stream: TcpStream) {
    loop {
        let mut head = [0; 12];
        if stream.read_exact(&mut head).is_err() {
            return;
        }
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let (key, version) = (i16::from_be_bytes([head[4], head[5]]), i16::from_be_bytes([head[6], head[7]]));
        let mut rest = vec![0; length - 8];
        stream.read_exact(&mut rest).unwrap();
        let body: Vec<u8> = match (key, version) {
            // Only version 0 is supported: the client repeats the request in it.
            (18, 1..) => [&35_i16.to_be_bytes()[..], &[0; 4]].concat(),
            (18, _) => {
                let versions = [(18_i16, 0_i16), (17, 1), (36, 0), (3, 4), (0, 7)];
                let listed =
                    versions.iter().flat_map(|(key, most)| [*key, 0, *most]).flat_map(i16::to_be_bytes);
                [&[0, 0][..], &5_i32.to_be_bytes(), &listed.collect::<Vec<u8>>()].concat()
            }
            (17, _) => [&[0, 0][..], &1_i32.to_be_bytes(), &5_i16.to_be_bytes(), b"PLAIN"].concat(),
            (36, _) => [&58_i16.to_be_bytes()[..], &12_i16.to_be_bytes(), b"no such user", &[0; 4]].concat(),
            _ => return,
        };
        let size = u32::try_from(body.len() + 4).unwrap();
        let answer = [&size.to_be_bytes()[..], &head[8..12], &body].concat();
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn g02_a_record_whose_lease_ran_out_is_not_sent_and_none_overtakes_it() {
    let topic = unique("deals");
    let cluster = cluster(&topic);
    let kafka = kafka(&cluster);
    defers_without_lease(&kafka, &topic).await;
    let lost = postrider_seams::LeaseCheck::new(|| false);
    let batch = [
        Envelope { lease: lost, ..record(&topic, Some("k"), "1", "1") },
        record(&topic, Some("k"), "2", "2"),
    ];
    let outcomes = send(&kafka, &batch).await;
    assert!(
        outcomes.iter().all(|outcome| matches!(outcome, postrider_seams::Outcome::Deferred(_))),
        "{outcomes:?}"
    );
}
