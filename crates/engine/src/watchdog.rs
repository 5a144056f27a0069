//! Says so when a lane stops moving, and carries an operator's pause from the database to the lane.

use std::sync::Arc;
use std::time::Duration;

use crate::runner::Runner;

const TICK: Duration = Duration::from_secs(1);

/// Rows are held, and for this long beyond the delivery timeout nothing has moved.
const STALL_MARGIN: Duration = Duration::from_secs(20);

pub(crate) async fn run(runner: Arc<Runner>) {
    loop {
        look(&runner).await;
        tokio::time::sleep(TICK).await;
    }
}

async fn look(runner: &Runner) {
    match runner.store.paused(&runner.state.name).await {
        Ok(paused) => {
            runner.state.set_paused(paused);
            if paused {
                runner.release_waiting();
            }
        }
        // The claimer says how the store is; the lane stays as the operator last put it.
        Err(error) => tracing::debug!(lane = runner.state.name, %error, "the pause flag could not be read"),
    }
    let limit = runner.lane.limits.timeout + STALL_MARGIN;
    let still = runner.since_progress();
    let stalled = (runner.state.held() > 0 && still > limit).then(|| {
        format!("{} rows are held and nothing has moved for {} s", runner.state.held(), still.as_secs())
    });
    if let Some(reason) = &stalled {
        tracing::error!(lane = runner.state.name, reason, "the lane is stalled");
    }
    runner.state.set_stalled(stalled);
    publish(runner);
}

fn publish(runner: &Runner) {
    let lane = runner.state.name.clone();
    #[allow(clippy::cast_precision_loss)] // a gauge of rows held is far below 2^52
    metrics::gauge!("postrider_rows_held", "lane" => lane.clone()).set(runner.state.held() as f64);
    let ready = if runner.state.health().is_ready() { 1.0 } else { 0.0 };
    metrics::gauge!("postrider_lane_ready", "lane" => lane).set(ready);
}
