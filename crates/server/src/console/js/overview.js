// Every lane at a glance; what needs attention first, in words.

import { h, health } from "./dom.js";
import { segment } from "./api.js";
import { plot } from "./plot.js";
import { rate, rows, span } from "./words.js";

export function overview({ page }) {
  const attention = h("section", { "aria-label": "Needs attention", "aria-live": "polite" });
  const lanes = h("section", { class: "grid", "aria-label": "Lanes" }, h("p", { class: "faint" }, "Looking…"));
  page.overview = (seen) => {
    const words = seen.attention.map((note) =>
      h("p", { class: `notice ${note.level}` }, h("a", { href: `#/lanes/${segment(note.lane)}` }, note.lane), `: ${note.text}`));
    attention.replaceChildren(...(words.length ? words : [h("p", { class: "notice good" }, "All lanes move, nothing waits for you.")]));
    lanes.replaceChildren(...seen.lanes.map(card));
  };
  return [h("h1", {}, "Overview"), attention, lanes];
}

function card(lane) {
  const number = (value, name) => h("div", {}, h("b", {}, value), h("span", {}, name));
  return h("article", { class: "card" },
    h("div", { class: "row" }, h("h2", { class: "grow" }, h("a", { href: `#/lanes/${segment(lane.name)}` }, lane.name)), health(lane.health)),
    h("div", { class: "faint" }, `${lane.contract} · ${lane.stage}`),
    h("div", { class: "numbers" },
      number(rows(lane.backlog.rows, lane.backlog.more), "waiting"), number(rows(lane.inFlight.rows, lane.inFlight.more), "in flight"),
      number(span(lane.oldestDueSeconds), "oldest due"),
      number(rate(lane.deliveredPerSecond), "delivered/s"), number(rate(lane.failedPerSecond), "failed/s"), number(rows(lane.held), "held here")),
    plot(lane.history.delivered, lane.history.failed, `${lane.name}: delivered a second in the last hour, now ${rate(lane.deliveredPerSecond)}`),
    h("dl", { class: "facts" },
      h("dt", {}, "Database"), h("dd", {}, target(lane.store)),
      h("dt", {}, "Target"), h("dd", {}, target(lane.transport))));
}

const target = (side) => (side.reason ? [h("span", { class: "badge bad" }, "trouble"), ` ${side.name}: ${side.reason}`] : side.name);
