// Overviews as the server sends them, and whether they come.
//
// Owns: the one stream of the page. A page subscribes to overviews with `watch` and receives the latest one at once.

import { enter } from "./api.js";

const SILENCE = 30_000;
const watchers = new Set();
let latest = null;
let timer = 0;
let told = () => {};

/** Calls back with every overview; gives what ends that. */
export function watch(seen) {
  watchers.add(seen);
  if (latest) seen(latest);
  return () => watchers.delete(seen);
}

/** Whether there was one yet. */
export const known = () => latest !== null;

/** The lane that runs a contract; null where none is known. */
export const laneOf = (contract) => latest?.lanes.find((lane) => lane.contract === contract)?.name ?? null;

/** An overview that was asked for, as good as one that was sent. */
export function heard(overview) {
  latest = overview;
  for (const seen of watchers) seen(overview);
}

/** Opens the stream; `tell` hears "connecting", "live" or "reconnecting". */
export function follow(tell) {
  told = tell;
  told("connecting");
  connect();
}

function connect() {
  const source = new EventSource("/api/v1/overview/stream");
  const lost = () => {
    told("reconnecting");
    // The browser tries again by itself, unless it was refused: then we do, if there is still a session to do it with.
    if (source.readyState !== EventSource.CLOSED) return;
    enter().catch(() => {});
    setTimeout(connect, 3000);
  };
  source.addEventListener("overview", (event) => {
    told("live");
    clearTimeout(timer);
    timer = setTimeout(() => told("reconnecting"), SILENCE);
    heard(JSON.parse(event.data));
  });
  source.addEventListener("error", lost);
}
