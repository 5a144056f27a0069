//! `run`: runs all lanes and the listener until a signal arrives.

use std::sync::Arc;
use std::time::Duration;

use postrider_engine::{AnnouncedLane, Engine, Lane};
use postrider_seams::store::{self, Class};
use postrider_seams::{ContractMemory, Dice, ThreadDice};
use postrider_server::{Api, Lanes, Listener, MetricsAccess, MetricsRecorder};
use postrider_telemetry::{Exporter, LaneParts};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::{CommandContext, missing_locks};
use crate::api;
use crate::cli::RunArgs;
use crate::clocks;
use crate::contract_memory::LaneContract;
use crate::descriptors;
use crate::emails::files;
use crate::failure::Failure;
use crate::lag;
use crate::settings::{LaneSettings, address};
use crate::wiring::LaneTable;

/// First and longest delay between two attempts to open the unavailable store of a lane.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(15);
/// Time limit for closing connections at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs until SIGTERM or SIGINT, then drains the lanes.
pub async fn run(mut context: CommandContext, args: &RunArgs) -> Result<(), Failure> {
    if let Some(text) = &args.listen {
        context.settings.server.listen =
            address(text).map_err(|error| Failure::Misuse(format!("--listen `{text}`: {error}")))?;
    }
    let mut signals = Signals::new()?;
    let figures = MetricsRecorder::install()?;
    let limits = descriptors::for_connections(context.settings.server.connections);
    let listener = match context.settings.server.listen {
        Some(address) => {
            let listener = Listener::bind(address).await?.with_limits(limits);
            Some(listener.stalled_after(context.settings.server.stalled_after))
        }
        None => None,
    };
    let context = Arc::new(context);
    let engine = Engine::new(Arc::new(ThreadDice));
    let traces = context.settings.telemetry.clone().map(Exporter::start).transpose();
    let traces = traces.map_err(|error| Failure::Failed(format!("[telemetry] {error}")))?;
    clocks::watch(&context.wiring).await;
    start_lanes(&context, &engine, traces.as_ref()).await?;
    let api = api::start(&context, &engine);
    let stop = serve(listener, &engine, figures, api, context.settings.server.metrics);
    tracing::info!(lanes = context.settings.lanes.len(), "running");

    signals.next().await;
    let limit = context.settings.server.drain;
    tracing::info!(limit = ?limit, "draining: no new claims, deliveries in progress are finished; a second signal stops at once");
    let complete = tokio::select! {
        drained = engine.drain(limit) => {
            if drained.is_complete() {
                tracing::info!("drained");
            }
            if drained.left > 0 || !drained.in_time {
                let left = drained.left;
                tracing::warn!(left, "rows were still in flight at the time limit; they are retried when their leases expire");
            }
            if drained.unanswered > 0 {
                let lanes = drained.unanswered;
                tracing::warn!(lanes, "the database did not answer a claim; if it made the claim, the rows are retried when their leases expire");
            }
            drained.is_complete()
        }
        () = signals.next() => {
            tracing::warn!("stopped at once; rows in flight are retried when their leases expire");
            false
        }
    };
    drop(stop);
    if let Some(traces) = &traces {
        traces.flush(CLOSE_TIMEOUT).await;
    }
    // Every row is settled by now. A connection whose statement was cancelled may never return to its pool.
    if tokio::time::timeout(CLOSE_TIMEOUT, context.wiring.close()).await.is_err() {
        tracing::debug!("some connections were not closed in time");
    }
    if complete { Ok(()) } else { Err(Failure::Reported) }
}

/// Opens each lane's store once. An error that an operator must fix ends the start; an unavailable store is retried.
async fn start_lanes(
    context: &Arc<CommandContext>,
    engine: &Engine,
    traces: Option<&Arc<Exporter>>,
) -> Result<(), Failure> {
    let mut waiting = Vec::new();
    let mut mistakes = Vec::new();
    for lane in &context.settings.lanes {
        let stage = &lane.contract.stages[lane.stage].name;
        let berth = engine.announce(&lane.name, &lane.contract.name, stage);
        match build_lane(context, lane, traces).await {
            Ok(built) => waiting.push((berth, lane, Ok(built))),
            Err(BuildError::Store(error)) if error.class != Class::Misconfigured => {
                waiting.push((berth, lane, Err(error)));
            }
            Err(BuildError::Store(error)) => mistakes.push(format!("lane `{}`: {error}", lane.name)),
            Err(BuildError::Settings(failure)) => mistakes.push(format!("lane `{}`: {failure}", lane.name)),
        }
    }
    if !mistakes.is_empty() {
        return Err(Failure::Failed(format!("cannot start\n{}\nno lane was started", mistakes.join("\n"))));
    }
    for (berth, lane, opened) in waiting {
        match opened {
            Ok(built) => berth.start(built),
            Err(error) => {
                tokio::spawn(wait_for_store(
                    Arc::clone(context),
                    lane.clone(),
                    traces.cloned(),
                    berth,
                    error,
                ));
            }
        }
    }
    Ok(())
}

enum BuildError {
    Store(store::Error),
    Settings(Failure),
}

async fn build_lane(
    context: &CommandContext,
    lane: &LaneSettings,
    traces: Option<&Arc<Exporter>>,
) -> Result<Lane, BuildError> {
    let composer = context.wiring.composer(lane).map_err(BuildError::Settings)?;
    let transport = context.wiring.transport(lane).map_err(BuildError::Settings)?;
    let queue = context.wiring.queue(lane).map_err(BuildError::Settings)?;
    let store = context.wiring.open(lane).await.map_err(BuildError::Store)?;
    if let Some(text) = missing_locks(lane, &*store).await.map_err(BuildError::Store)? {
        return Err(BuildError::Store(store::Error::new(Class::Misconfigured, text)));
    }
    lag::publish(&lane.name, &lane.contract, Arc::clone(&store));
    tokio::spawn(report_unknown_states(lane.name.clone(), Arc::clone(&store)));
    if let Some(age) = lane.emails.remove_files_after {
        files::sweep(lane.clone(), Arc::clone(&store), age);
    }
    let memory = LaneContract::of(lane, Arc::clone(&store));
    let mut seams = LaneParts { store, composer, transport };
    if let Some(traces) = traces {
        seams = postrider_telemetry::observe(traces, &lane.name, &lane.contract.name, seams);
    }
    Ok(Lane {
        name: lane.name.clone(),
        contract: Arc::clone(&lane.contract),
        stage: lane.stage,
        store: seams.store,
        composer: seams.composer,
        transport: seams.transport,
        queue,
        contract_memory: memory.map(|memory| Arc::new(memory) as Arc<dyn ContractMemory>),
        limits: lane.limits,
    })
}

/// Logs rows in unknown states, which no lane claims and no metric counts, as `check` and `status` do.
async fn report_unknown_states(lane: String, table: Arc<dyn LaneTable>) {
    loop {
        match table.unknown_states().await {
            Ok(unknown_states) => unknown_states.iter().for_each(|text| tracing::warn!(lane, "{text}")),
            Err(error) => tracing::debug!(lane, %error, "cannot search the table for unreadable rows"),
        }
        tokio::time::sleep(UNKNOWN_STATES_EVERY).await;
    }
}

/// Time between two checks: such rows may be written at any time.
const UNKNOWN_STATES_EVERY: Duration = Duration::from_mins(10);

/// Retries the unavailable store of a lane, which is not ready until then, and starts the lane once it opens.
async fn wait_for_store(
    context: Arc<CommandContext>,
    lane: LaneSettings,
    traces: Option<Arc<Exporter>>,
    berth: AnnouncedLane,
    mut error: store::Error,
) {
    let mut wait = MIN_RETRY_DELAY;
    loop {
        berth.waiting_for(&error);
        tracing::warn!(lane = lane.name, %error, "the lane waits for its store");
        tokio::time::sleep(wait.mul_f64(1.0 + 0.2 * ThreadDice.roll())).await;
        wait = (wait * 2).min(MAX_RETRY_DELAY);
        match build_lane(&context, &lane, traces.as_ref()).await {
            Ok(built) => {
                tracing::info!(lane = lane.name, "the store is available; the lane starts");
                return berth.start(built);
            }
            Err(BuildError::Store(next)) => error = next,
            // The settings were valid at the start and do not change, so this is unexpected.
            Err(BuildError::Settings(failure)) => {
                error = store::Error::new(Class::Misconfigured, failure.to_string());
            }
        }
    }
}

/// Serves requests until the sender is dropped.
fn serve(
    listener: Option<Listener>,
    engine: &Engine,
    figures: MetricsRecorder,
    api: Option<Api>,
    metrics: MetricsAccess,
) -> oneshot::Sender<()> {
    let (stop, stopped) = oneshot::channel::<()>();
    let Some(listener) = listener else { return stop };
    let address = listener.address();
    let also = if api.is_some() { ", the console and the API (reference: /api/reference)" } else { "" };
    tracing::info!(%address, "listening for /healthz, /readyz, /metrics{also}");
    if !address.ip().is_loopback() && metrics == MetricsAccess::Open {
        tracing::warn!(%address, "/metrics needs no API key: restrict access to it, or set metrics = \"key\"");
    }
    let handle = engine.handle();
    let lanes: Arc<dyn Lanes> = Arc::new(move || handle.lanes());
    tokio::spawn(async move {
        let shutdown = async {
            let _ = stopped.await;
        };
        listener.serve(lanes, figures, api, metrics, shutdown).await;
    });
    stop
}

/// SIGTERM and SIGINT, registered before anything starts so that none is missed.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
