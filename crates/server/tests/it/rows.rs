//! Tests of a lane's rows: search, detail, changes, and permissions.

use postrider_hub::access::Role;
use postrider_seams::transport::{HoldReason, TargetHold};
use serde_json::{Value, json};

use crate::fixture::{Fixture, on_every_database};
use crate::routes::job;
use crate::test_api::TestApi;

on_every_database!(
    rows_are_listed_searched_and_paged,
    a_row_shows_its_timeline,
    rows_are_moved_by_operators_after_a_preview,
    producers_and_client_keys_cannot_read_rows,
);

const MINUTE: std::time::Duration = std::time::Duration::from_mins(1);
const LANE: &str = "/lanes/dispatch_jobs";

async fn filled(api: &TestApi, fixture: &Fixture, jobs: usize) -> (String, Vec<String>) {
    let (key, _) = fixture.key(Role::Operator, &[]).await;
    let mut ids = Vec::new();
    for number in 0..jobs {
        let made = job(&json!({"payload": format!("{{\"n\":{number}}}")}));
        let made = api.post(&key, "/dispatch-jobs", &made).await.expect(201);
        ids.push(made["id"].as_str().expect("an id").to_owned());
    }
    (key, ids)
}

fn ids(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().expect("items");
    items.iter().map(|item| item["id"].as_str().expect("an id")).collect()
}

async fn dead(fixture: &Fixture, id: &str, error: &str) {
    fixture.run(&format!(
        "UPDATE dispatch_jobs SET status = 'ERROR', next_attempt_at = NULL, last_error = '{error}' WHERE id = '{id}'"
    ))
    .await;
}

async fn rows_are_listed_searched_and_paged(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, made) = filled(&api, fixture, 5).await;
    let first = api.get(&key, &format!("{LANE}/rows?limit=3")).await.expect(200);
    assert_eq!(ids(&first), [&made[4], &made[3], &made[2]]);
    let cursor = first["nextCursor"].as_str().expect("a cursor");
    let second = api.get(&key, &format!("{LANE}/rows?limit=3&cursor={cursor}")).await.expect(200);
    assert_eq!((ids(&second), &second["nextCursor"]), (vec![&*made[1], &*made[0]], &Value::Null));
    let oldest = api.get(&key, &format!("{LANE}/rows?limit=2&order=oldest")).await.expect(200);
    assert_eq!(ids(&oldest), [&made[0], &made[1]]);
    let item = &oldest["items"][0];
    assert_eq!((&item["state"], &item["attempts"]), (&json!("QUEUED"), &json!(0)));
    assert!(item["target"].as_str().is_some_and(|target| target.starts_with("https://")), "{item}");
    assert!(item["createdAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{item}");
    dead(fixture, &made[1], "HTTP 500: Oops").await;
    dead(fixture, &made[3], "HTTP 410: gone").await;
    let state = api.get(&key, &format!("{LANE}/rows?state=DEAD")).await.expect(200);
    assert_eq!(ids(&state), [&made[3], &made[1]]);
    for (search, found) in [
        (format!("by=id&text={}", made[2]), vec![&*made[2]]),
        (format!("by=id&text={}&match=prefix", &made[2][..12]), vec![&*made[2]]),
        (format!("by=id&text={}&state=DEAD", made[2]), vec![]),
        ("by=error&text=oops".to_owned(), vec![&*made[1]]),
        ("by=error&text=%25".to_owned(), vec![]),
        ("by=recipient&text=nowhere".to_owned(), vec![]),
    ] {
        let page = api.get(&key, &format!("{LANE}/rows?{search}")).await.expect(200);
        let mut all = ids(&page);
        all.retain(|id| !search.contains("prefix") || **id == made[2]);
        assert_eq!(all, found, "{search}");
        let noted = page["note"].as_str().is_some_and(|note| note.contains("10,000"));
        assert!(noted || search.starts_with("by=id"), "{search}: {page}");
    }
    for (wrong, field) in [
        ("state=NOPE", "state"),
        ("by=error", "text"),
        ("text=x", "by"),
        ("by=colour&text=x", "by"),
        ("cursor=zz", "cursor"),
        ("limit=0", "limit"),
        ("order=up", "order"),
    ] {
        api.get(&key, &format!("{LANE}/rows?{wrong}")).await.problem(422, field);
    }
    api.get(&key, "/lanes/nope/rows").await.expect(404);
}

async fn a_row_shows_its_timeline(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, made) = filled(&api, fixture, 1).await;
    let id = &made[0];
    let row = api.get(&key, &format!("{LANE}/rows/{id}")).await.expect(200);
    assert_eq!((&row["state"], &row["role"]), (&json!("QUEUED"), &json!("ready")));
    assert!(row["waiting"].as_str().is_some_and(|text| text.starts_with("Due now")), "{row}");
    assert_eq!(row["timeline"][0]["what"], "Written");
    assert_eq!(row["message"]["kind"], "http");
    let names = |verbs: &Value| -> Vec<Value> {
        verbs.as_array().expect("verbs").iter().map(|verb| verb["name"].clone()).collect()
    };
    assert_eq!(names(&row["verbs"]), [json!("cancel")]);
    let hold =
        TargetHold { target: "https://shop.example".to_owned(), why: HoldReason::Breaker, left: MINUTE };
    *api.lanes.held.lock().unwrap() = Some(hold);
    let held = api.get(&key, &format!("{LANE}/rows/{id}")).await.expect(200);
    let text = held["waiting"].as_str().expect("words");
    assert!(text.starts_with("Circuit breaker open for https://shop.example"), "{text}");
    assert!(held["waitingUntil"].as_str().is_some_and(|until| until.ends_with('Z')), "{held}");
    *api.lanes.held.lock().unwrap() = None;
    assert!(row["columns"].as_array().expect("columns").iter().any(|column| column["name"] == "payload"));
    fixture.run(&format!(
        "INSERT INTO dispatch_attempts (id, job_id, attempt_number, status, response_code, response_body, error_message) \
         VALUES ('0000000000001', '{id}', 1, 'HTTP_ERROR', 500, 'oops', 'HTTP 500')"
    ))
    .await;
    dead(fixture, id, "HTTP 500").await;
    let row = api.get(&key, &format!("{LANE}/rows/{id}")).await.expect(200);
    assert_eq!((&row["role"], &row["waiting"]), (&json!("failed"), &Value::Null));
    let attempt = row["timeline"].as_array().expect("entries").iter().find(|entry| entry["body"] == "oops");
    let what = attempt.expect("the attempt")["what"].as_str().expect("words");
    assert!(what.starts_with("Attempt 1: 500 Internal Server Error from "), "{what}");
    assert_eq!(names(&row["verbs"]), [json!("requeue"), json!("cancel")]);
    api.get(&key, &format!("{LANE}/rows/0000000000000")).await.expect(404);
    let lane = api.get(&key, LANE).await.expect(200);
    assert!(lane["moves"].as_array().is_some_and(|moves| moves.iter().any(|one| one["verb"] == "claimed")));
    assert_eq!(lane["settings"], json!([{"key": "concurrency", "value": "8"}]));
    assert!(
        lane["searches"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["by"] == "id" && one["indexed"] == true))
    );
}

async fn rows_are_moved_by_operators_after_a_preview(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, made) = filled(&api, fixture, 4).await;
    for id in &made[..3] {
        dead(fixture, id, "x").await;
    }
    let path = format!("{LANE}/requeue");
    let seen = api.post(&key, &path, &json!({"state": "DEAD", "preview": true})).await.expect(200);
    assert_eq!(seen, json!({"matched": 3, "more": false, "moved": 0}));
    assert_eq!(fixture.count("dispatch_jobs WHERE status = 'ERROR' AND next_attempt_at IS NULL").await, 3);
    let some = json!({"ids": [made[0], made[3], "0000000000000"], "preview": true});
    assert_eq!(api.post(&key, &path, &some).await.expect(200)["matched"], 1);
    let done = api.post(&key, &path, &json!({"ids": [made[0], made[3]]})).await.expect(200);
    assert_eq!(done, json!({"matched": 1, "more": false, "moved": 1}));
    let done = api.post(&key, &path, &json!({"state": "DEAD"})).await.expect(200);
    assert_eq!(done["moved"], 2);
    assert_eq!(fixture.count("dispatch_jobs WHERE status = 'ERROR' AND next_attempt_at IS NULL").await, 0);
    let lane = fixture.lane.as_ref().expect("a lane");
    assert_eq!(lane.claim(1).await.expect("a claim").len(), 1);
    assert_eq!(fixture.count("dispatch_jobs WHERE status = 'IN_PROGRESS'").await, 1);
    let release = format!("{LANE}/release");
    let done = api.post(&key, &release, &json!({"state": "IN_PROGRESS"})).await.expect(200);
    assert_eq!(done["moved"], 1);
    assert_eq!(fixture.count("dispatch_jobs WHERE status = 'IN_PROGRESS'").await, 0);
    let cancel = format!("{LANE}/cancel");
    assert_eq!(api.post(&key, &cancel, &json!({"ids": made})).await.expect(200)["moved"], 4);
    assert_eq!(fixture.count("postrider_audit WHERE entity = 'lane'").await, 4);
    api.post(&key, &path, &json!({})).await.problem(422, "ids");
    api.post(&key, &path, &json!({"state": "QUEUED"})).await.problem(422, "state");
    api.post(&key, &path, &json!({"ids": [], "state": "DEAD"})).await.problem(422, "ids");
}

async fn producers_and_client_keys_cannot_read_rows(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (_, made) = filled(&api, fixture, 1).await;
    let row = format!("{LANE}/rows/{}", made[0]);
    let paths = [format!("{LANE}/rows"), row.clone(), format!("{row}/mail.eml"), format!("{row}/mail.html")];
    let (viewer, _) = fixture.key(Role::Viewer, &[]).await;
    api.get(&viewer, &row).await.expect(200);
    for verb in ["requeue", "cancel", "release", "pause", "resume"] {
        let answer = api.post(&viewer, &format!("{LANE}/{verb}"), &json!({"ids": [made[0]]})).await;
        assert_eq!(answer.status, 403, "{verb}");
    }
    let (producer, _) = fixture.key(Role::Producer, &[]).await;
    let (scoped, _) = fixture.key(Role::Admin, &["acme"]).await;
    for path in &paths {
        api.get(&producer, path).await.expect(403);
        api.get(&scoped, path).await.expect(403);
    }
    for key in [&producer, &scoped] {
        let answer = api.post(key, &format!("{LANE}/cancel"), &json!({"ids": [made[0]]})).await;
        assert_eq!(answer.status, 403);
    }
    api.get(&scoped, "/check").await.expect(403);
    api.get(&viewer, "/check").await.expect(200);
    assert_eq!(fixture.count("dispatch_jobs WHERE status = 'QUEUED'").await, 1);
    // A webhook's row has no mail.
    api.get(&viewer, &format!("{row}/mail.html")).await.expect(409);
}
