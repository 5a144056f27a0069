//! Tests that optional members can be omitted in any combination, on a connection that has seen other combinations:
//! PostgreSQL keeps the argument types of a prepared statement, so an untyped NULL would fail a later request.

use postrider_hub::access::Role;

use crate::fixture::{self, Fixture};
use crate::request_bodies::{Form, assert_complete, forms};
use crate::test_api::TestApi;

#[tokio::test(flavor = "multi_thread")]
async fn optional_members_may_be_left_out_in_every_combination_on_postgres() {
    fixture::postgres_with(Some(1), |fixture| async move { every_combination(&fixture).await }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn optional_members_may_be_left_out_in_every_combination_on_mysql() {
    fixture::mysql_with(Some(1), |fixture| async move { every_combination(&fixture).await }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn optional_members_may_be_left_out_in_every_combination_on_sqlite() {
    fixture::sqlite(|fixture| async move { every_combination(&fixture).await }).await;
}

/// Returns every subset of few members; of many: none, all, each alone, all but each, and random ones.
fn subsets(form: &Form) -> Vec<u64> {
    let count = form.optional.len();
    let all = (1u64 << count) - 1;
    if count <= 5 {
        return (0..=all).collect();
    }
    let ones = (0..count).map(|place| 1u64 << place);
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let random = std::iter::repeat_with(move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 20) & all
    });
    [0, all]
        .into_iter()
        .chain(ones.clone())
        .chain(ones.map(|one| all & !one))
        .chain(random.take(20))
        .collect()
}

async fn every_combination(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let forms = forms(&api, &key).await;
    assert_complete(&forms);
    let mut index = 0;
    for form in forms {
        let mut subsets = subsets(&form);
        // Forwards and backwards: each combination comes before and after each other one.
        let back: Vec<u64> = subsets.iter().rev().copied().collect();
        subsets.extend(back);
        let mut accepted = 0;
        for subset in subsets {
            index += 1;
            let body = form.body(index, subset);
            let answer = form.send(&api, &key, &body, index % 2 == 0).await;
            accepted += u32::from(answer.status.is_success());
            let fine = answer.status.is_success() || (!form.free && answer.status.is_client_error());
            let text = String::from_utf8_lossy(&answer.bytes);
            assert!(fine, "{} {body}: {} {text}", form.operation, answer.status);
        }
        assert!(accepted > 0, "{}: every combination is refused", form.operation);
    }
}
