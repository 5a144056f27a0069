// The stream of overviews, and the state of its connection.
//
// Owns: the only stream of the page. A page subscribes to overviews with `watch` and receives the latest one at once.

import { loadSession } from "./api.js";

const SILENCE = 30_000;
const watchers = new Set();
let latest = null;
let timer = 0;
let reportState = () => {};

/** Calls back with every overview; returns the function that ends it. */
export function watch(callback) {
  watchers.add(callback);
  if (latest) callback(latest);
  return () => watchers.delete(callback);
}

/** Whether an overview was received yet. */
export const hasOverview = () => latest !== null;

/** Returns the lane that runs a contract; null if none is known. */
export const laneOf = (contract) => latest?.lanes.find((lane) => lane.contract === contract)?.name ?? null;

/** Passes an overview to all watchers. */
export function receive(overview) {
  latest = overview;
  for (const callback of watchers) callback(overview);
}

/** Opens the stream; `onState` receives "connecting", "live" or "reconnecting". */
export function openStream(onState) {
  reportState = onState;
  reportState("connecting");
  connect();
}

function connect() {
  const source = new EventSource("/api/v1/overview/stream");
  const lost = () => {
    reportState("reconnecting");
    // The browser reconnects automatically, unless the request was refused: then retry, if the session is still valid.
    if (source.readyState !== EventSource.CLOSED) return;
    loadSession().catch(() => {});
    setTimeout(connect, 3000);
  };
  source.addEventListener("overview", (event) => {
    reportState("live");
    clearTimeout(timer);
    timer = setTimeout(() => reportState("reconnecting"), SILENCE);
    receive(JSON.parse(event.data));
  });
  source.addEventListener("error", lost);
}
