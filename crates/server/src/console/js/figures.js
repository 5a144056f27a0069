// The figures of lanes, as cards and as a strip: built once, then only their texts change.

import { h, say } from "./dom.js";
import { rate, rows, span, zone } from "./words.js";

/** Whose figures they are. */
export const WHOSE = `Rates and plots show this instance since it started. Rows waiting and in flight, the oldest due row and the states come from the database and cover all instances. Times are in ${zone()}.`;

/** What only the database knows is not known while it is away: no figure is better than an old one or a nought. */
const known = (said) => (lane) => (lane.states.length ? said(lane) : "–");

/** The figures of a lane: [label, its text, whether it is bad]. */
const FIGURES = [
  ["Waiting", known((lane) => rows(lane.backlog.rows, lane.backlog.more)), () => false],
  ["In flight", known((lane) => rows(lane.inFlight.rows, lane.inFlight.more)), () => false],
  ["Oldest due", known((lane) => span(lane.oldestDueSeconds)), (lane) => lane.oldestDueSeconds > 300],
  ["Delivered per second", (lane) => rate(lane.deliveredPerSecond), () => false],
  ["Failed per second", (lane) => rate(lane.failedPerSecond), (lane) => lane.failedPerSecond > 0],
  ["Lag", known((lane) => span(lane.lagSeconds)), () => false],
];

/** A list of figures; `update` takes a lane. */
export function figures() {
  const cells = FIGURES.map(([name, said, bad]) => ({ said, bad, value: h("dd", {}, "–"), name }));
  const node = h(
    "dl",
    { class: "figures" },
    cells.map(({ name, value }) => h("div", {}, h("dt", {}, name), value)),
  );
  const update = (lane) =>
    cells.forEach(({ said, bad, value }) => {
      say(value, said(lane));
      value.classList.toggle("bad", Boolean(bad(lane)));
    });
  return { node, update };
}

/** Where rows come from and go to, and whether it is there. */
export function sides() {
  const store = side("Database"),
    transport = side("Target");
  const update = (lane) => {
    store.update(lane.store);
    transport.update(lane.transport);
  };
  return { node: h("ul", { class: "sides" }, store.node, transport.node), update };
}

function side(name) {
  const dot = h("span", { class: "dot" }),
    text = h("span", { class: "what" }),
    reason = h("span", { class: "reason" });
  const update = (end) => {
    dot.className = `dot ${end.state === "ok" ? "good" : "bad"}`;
    say(text, end.state === "ok" ? end.name : `${end.name}, ${end.state}`);
    say(reason, end.reason ?? "");
  };
  return { node: h("li", {}, h("span", { class: "soft" }, name), h("span", {}, dot, text, reason)), update };
}
