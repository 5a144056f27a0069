// The metrics of a lane: built once, then only their texts are updated.

import { h, setText } from "./dom.js";
import { rate, rows, span, zone } from "./format.js";

/** The scope of the metrics, as a hint below them. */
export const METRICS_SCOPE = `Rates and plots show this instance since it started. Rows waiting and in flight, the oldest due row and the states come from the database and cover all instances. Times are in ${zone()}.`;

/** Shows a dash while the database is not available: better no value than an old one or a zero. */
const ifKnown = (text) => (lane) => (lane.states.length ? text(lane) : "–");

/** The metrics of a lane: [label, text, whether it is bad]. */
const METRICS = [
  ["Waiting", ifKnown((lane) => rows(lane.backlog.rows, lane.backlog.more)), () => false],
  ["In flight", ifKnown((lane) => rows(lane.inFlight.rows, lane.inFlight.more)), () => false],
  ["Oldest due", ifKnown((lane) => span(lane.oldestDueSeconds)), (lane) => lane.oldestDueSeconds > 300],
  ["Delivered per second", (lane) => rate(lane.deliveredPerSecond), () => false],
  ["Failed per second", (lane) => rate(lane.failedPerSecond), (lane) => lane.failedPerSecond > 0],
  ["Lag", ifKnown((lane) => span(lane.lagSeconds)), () => false],
];

/** A list of metrics; `update` accepts a lane. */
export function laneMetrics() {
  const cells = METRICS.map(([name, text, bad]) => ({ text, bad, value: h("dd", {}, "–"), name }));
  const node = h(
    "dl",
    { class: "figures" },
    cells.map(({ name, value }) => h("div", {}, h("dt", {}, name), value)),
  );
  const update = (lane) =>
    cells.forEach(({ text, bad, value }) => {
      setText(value, text(lane));
      value.classList.toggle("bad", Boolean(bad(lane)));
    });
  return { node, update };
}

/** The database and the target of a lane, and whether they are available. */
export function endpoints() {
  const store = endpoint("Database"),
    transport = endpoint("Target");
  const update = (lane) => {
    store.update(lane.store);
    transport.update(lane.transport);
  };
  return { node: h("ul", { class: "sides" }, store.node, transport.node), update };
}

function endpoint(name) {
  const dot = h("span", { class: "dot" }),
    text = h("span", { class: "what" }),
    reason = h("span", { class: "reason" });
  const update = (end) => {
    dot.className = `dot ${end.state === "ok" ? "good" : "bad"}`;
    setText(text, end.state === "ok" ? end.name : `${end.name}, ${end.state}`);
    setText(reason, end.reason ?? "");
  };
  return { node: h("li", {}, h("span", { class: "soft" }, name), h("span", {}, dot, text, reason)), update };
}
