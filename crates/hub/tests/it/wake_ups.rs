//! Wake-ups: what the hub makes ready wakes the lanes of its process, without notifications of the database.

use std::time::Duration;

use postrider_hub::event::NewEvent;
use postrider_hub::job::Filter;
use postrider_seams::inspect::{OperatorAction, SelectedRows};
use serde_json::json;
use tokio::time::Instant;

use crate::fixture::{Fixture, on_every_database, root};
use crate::jobs::plain;

on_every_database!(jobs_wake_the_lane_when_they_are_committed, an_operators_move_wakes_the_lane);

const QUIET: Duration = Duration::from_millis(300);

/// Waits until no wake-up is left, then checks that `act` ends the lane's wait.
async fn assert_wakes<T>(fixture: &Fixture, what: &str, act: impl Future<Output = T>) -> T {
    let lane = fixture.lane.as_ref().expect("a lane");
    loop {
        let start = Instant::now();
        lane.wake(start + QUIET).await;
        if start.elapsed() >= QUIET {
            break;
        }
    }
    let done = act.await;
    let start = Instant::now();
    lane.wake(start + Duration::from_secs(30)).await;
    assert!(start.elapsed() < Duration::from_secs(10), "{what} wakes the lane");
    done
}

fn event(id: &str) -> NewEvent {
    let event = json!({"specversion": "1.0", "id": id, "source": "/shop", "type": "shop:orders:order:created", "data": {}});
    serde_json::from_str(&event.to_string()).expect("members")
}

async fn jobs_wake_the_lane_when_they_are_committed(fixture: &Fixture) {
    let (hub, actor) = (&fixture.hub, root());
    assert_wakes(fixture, "a job", async { hub.create_job(&actor, plain("a")).await.expect("a job") }).await;
    let batch = async { hub.create_jobs(&actor, vec![plain("a"), plain("b")]).await.expect("jobs") };
    assert_wakes(fixture, "a batch", batch).await;
    let subscription = json!({
        "code": "all", "name": "all", "eventCode": "shop:orders:order:*", "targetUrl": "https://example.com/hook",
    });
    let subscription = serde_json::from_value(subscription).expect("a subscription");
    hub.create_subscription(&actor, subscription).await.expect("a subscription");
    let made = async { hub.create_event(&actor, event("e1")).await.expect("an event") };
    let made = assert_wakes(fixture, "an event", made).await;
    let events = async { hub.create_events(&actor, vec![event("e2"), event("e3")]).await.expect("events") };
    assert_wakes(fixture, "a list of events", events).await;
    let replay = async { hub.replay(&actor, &made.id, None, None).await.expect("a replay") };
    assert_wakes(fixture, "a replay", replay).await;
}

async fn an_operators_move_wakes_the_lane(fixture: &Fixture) {
    let (hub, actor) = (&fixture.hub, root());
    let job = hub.create_job(&actor, plain("a")).await.expect("a job").1;
    let dead = "UPDATE dispatch_jobs SET status = 'ERROR', next_attempt_at = NULL, attempt_count = 3";
    fixture.run(dead).await;
    assert_wakes(fixture, "a retry", async { hub.retry_job(&actor, &job.id).await.expect("retried") }).await;
    fixture.run(dead).await;
    let bulk = async { hub.retry_jobs(&actor, &Filter::default()).await.expect("retried") };
    assert_eq!(assert_wakes(fixture, "a bulk retry", bulk).await.retried, 1);
    fixture.run(dead).await;
    let lane = fixture.lane.as_ref().expect("a lane");
    let which = SelectedRows::Ids(vec![job.id.clone()]);
    assert_eq!(lane.preview(OperatorAction::Requeue, &which).await.expect("counted").rows, 1);
    let requeue = async { lane.requeue(&which).await.expect("requeued") };
    assert_eq!(assert_wakes(fixture, "a requeue", requeue).await, 1);
    assert_eq!(lane.claim(10).await.expect("claimed").len(), 1);
    let release = async { lane.release(&which).await.expect("released") };
    assert_eq!(assert_wakes(fixture, "a release", release).await, 1);
}
