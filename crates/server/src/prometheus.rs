//! Prometheus metrics: the recorder of the process, and the text format.

mod descriptions;

use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Histogram buckets from half a millisecond to five minutes: a claim on a warm index takes about one, a slow relay
/// half a minute.
const SECONDS: [f64; 18] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0,
    300.0,
];

/// Histogram buckets of rows per claim or settle.
const ROWS: [f64; 11] = [0.0, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 200.0, 500.0, 1000.0];

/// Interval at which raw samples of histograms are aggregated, even without a scrape.
const UPKEEP: Duration = Duration::from_secs(5);

/// The error of installing the recorder.
#[derive(Debug, thiserror::Error)]
#[error("cannot install the metrics recorder: {0}")]
pub struct MetricsError(String);

/// The metrics of the process. Cheap to clone.
#[derive(Clone)]
pub struct MetricsRecorder {
    handle: PrometheusHandle,
}

impl MetricsRecorder {
    /// Installs the recorder of the process. Possible once, inside a Tokio runtime.
    pub fn install() -> Result<Self, MetricsError> {
        let recorder = builder()?.build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).map_err(|error| MetricsError(error.to_string()))?;
        descriptions::describe();
        metrics::gauge!("postrider_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        let recorder = Self { handle };
        tokio::spawn(recorder.clone().keep());
        Ok(recorder)
    }

    /// Renders the text that Prometheus scrapes.
    pub fn render(&self) -> String {
        self.handle.render()
    }

    async fn keep(self) {
        let mut tick = tokio::time::interval(UPKEEP);
        loop {
            tick.tick().await;
            self.handle.run_upkeep();
        }
    }

    #[cfg(test)]
    pub(crate) fn separate() -> (Self, metrics_exporter_prometheus::PrometheusRecorder) {
        let recorder = builder().expect("the buckets are not empty").build_recorder();
        (Self { handle: recorder.handle() }, recorder)
    }
}

fn builder() -> Result<PrometheusBuilder, MetricsError> {
    let failed = |error: metrics_exporter_prometheus::BuildError| MetricsError(error.to_string());
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .map_err(failed)?
        .set_buckets_for_metric(Matcher::Suffix("_rows".to_owned()), &ROWS)
        .map_err(failed)
}
