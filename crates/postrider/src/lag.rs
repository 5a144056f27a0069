//! Publishes the lag of a lane on `/metrics`, read from its table every few seconds, whichever instance
//! delivers the rows.

use std::sync::Arc;
use std::time::Duration;

use postrider_contract::{Contract, Metric};
use postrider_seams::Inspect;

use crate::wiring::LaneTable;

const EVERY: Duration = Duration::from_secs(10);

/// Publishes the lane's lag for as long as the process lives.
pub fn publish(lane: &str, contract: &Contract, table: Arc<dyn LaneTable>) {
    let due = metrics::gauge!("postrider_oldest_due_seconds", "lane" => lane.to_owned());
    let claim = metrics::gauge!("postrider_oldest_claim_seconds", "lane" => lane.to_owned());
    let name = contract.metrics.get(&Metric::LagSeconds).cloned();
    let alias = name.map(|name| metrics::gauge!(name, "lane" => lane.to_owned()));
    let lane = lane.to_owned();
    tokio::spawn(async move {
        loop {
            match Inspect::lag(&*table).await {
                Ok(lag) => {
                    let late = lag.oldest_due_seconds.unwrap_or(0.0);
                    due.set(late);
                    if let Some(alias) = &alias {
                        alias.set(late);
                    }
                    claim.set(lag.oldest_claim_seconds.unwrap_or(0.0));
                }
                // The lane logs that its store is unavailable.
                Err(error) => tracing::debug!(lane, %error, "cannot read the lag"),
            }
            tokio::time::sleep(EVERY).await;
        }
    });
}
