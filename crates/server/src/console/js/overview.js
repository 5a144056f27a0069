// Overview of all lanes; what needs attention comes first.

import { get, encodePart } from "./api.js";
import { h, setChildren } from "./dom.js";
import { METRICS_SCOPE, endpoints, laneMetrics } from "./lane_metrics.js";
import { icon } from "./icons.js";
import { hasOverview, receive } from "./overview_stream.js";
import { empty, heading, healthTone, badge, notice } from "./components.js";
import { plot } from "./rate_plot.js";
import { minute, plural } from "./format.js";

export async function overview({ live }) {
  if (!hasOverview()) receive(await get("/overview"));
  const attention = h("section", { class: "card attention", "aria-label": "Needs attention", "aria-live": "polite" });
  const lanes = h("section", { class: "lanes", "aria-label": "Lanes" });
  const cards = new Map();
  let shown = "";
  live((seen) => {
    const current = JSON.stringify(seen.attention);
    if (current !== shown) setChildren(attention, seen.attention.length ? h("ul", {}, seen.attention.map(line)) : allHealthy(seen.lanes));
    shown = current;
    for (const lane of seen.lanes) {
      if (!cards.has(lane.name)) {
        cards.set(lane.name, card(lane));
        lanes.append(cards.get(lane.name).node);
      }
      cards.get(lane.name).update(lane);
    }
    for (const [name, { node }] of cards) node.hidden = !seen.lanes.some((lane) => lane.name === name);
  });
  const none =
    cards.size === 0 &&
    empty("No lanes", "Add one to the settings file, such as ", h("code", {}, "[lanes.mail]"), ", and restart Postrider.");
  return [heading("Overview"), attention, lanes, none || h("p", { class: "hint" }, METRICS_SCOPE)];
}

const line = (note) =>
  h(
    "li",
    { class: note.level },
    icon("alert"),
    h("span", {}, note.lane && [h("a", { href: `#/lanes/${encodePart(note.lane)}` }, note.lane), ": "], localText(note)),
  );

/** Converts times in the text to the reader's time zone. */
const localText = ({ text, since }) =>
  since ? text.replace(/ since (\d{4}-\d\d-\d\d )?\d\d:\d\d/, ` since ${minute(since)}`) : text;

const allHealthy = (lanes) =>
  lanes.length ? notice("good", `All lanes are healthy (${plural(lanes.length, "lane")}).`) : null;

function card(lane) {
  const state = h("span", {}),
    numbers = laneMetrics(),
    drawn = plot(lane.name),
    ends = endpoints();
  let health = "";
  const node = h(
    "article",
    { class: "card lane" },
    h(
      "div",
      { class: "bar" },
      h("h2", {}, h("a", { class: "card-link", href: `#/lanes/${encodePart(lane.name)}` }, lane.name)),
      state,
    ),
    h("p", { class: "soft contract" }, `${lane.contract} · ${lane.stage}`),
    numbers.node,
    drawn.node,
    ends.node,
  );
  const update = (now) => {
    if (now.health !== health) setChildren(state, badge(now.health.replaceAll("_", " "), healthTone(now.health)));
    health = now.health;
    numbers.update(now);
    drawn.update(now.history);
    ends.update(now);
  };
  return { node, update };
}
