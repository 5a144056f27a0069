// Every lane at a glance; what needs attention first, in words.

import { get, segment } from "./api.js";
import { h, put } from "./dom.js";
import { WHOSE, figures, sides } from "./figures.js";
import { icon } from "./icons.js";
import { heard, known } from "./live.js";
import { empty, heading, healthTone, mark, notice } from "./parts.js";
import { plot } from "./plot.js";
import { minute, plural } from "./words.js";

export async function overview({ live }) {
  if (!known()) heard(await get("/overview"));
  const attention = h("section", { class: "card attention", "aria-label": "Needs attention", "aria-live": "polite" });
  const lanes = h("section", { class: "lanes", "aria-label": "Lanes" });
  const cards = new Map();
  let told = "";
  live((seen) => {
    const words = JSON.stringify(seen.attention);
    if (words !== told) put(attention, seen.attention.length ? h("ul", {}, seen.attention.map(line)) : calm(seen.lanes));
    told = words;
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
  return [heading("Overview"), attention, lanes, none || h("p", { class: "hint" }, WHOSE)];
}

const line = (note) =>
  h(
    "li",
    { class: note.level },
    icon("alert"),
    h("span", {}, note.lane && [h("a", { href: `#/lanes/${segment(note.lane)}` }, note.lane), ": "], bare(note)),
  );

/** In the reader's time zone. */
const bare = ({ text, since }) =>
  since ? text.replace(/ since (\d{4}-\d\d-\d\d )?\d\d:\d\d/, ` since ${minute(since)}`) : text;

const calm = (lanes) =>
  lanes.length ? notice("good", `All lanes are healthy (${plural(lanes.length, "lane")}).`) : null;

function card(lane) {
  const state = h("span", {}),
    numbers = figures(),
    drawn = plot(lane.name),
    ends = sides();
  let health = "";
  const node = h(
    "article",
    { class: "card lane" },
    h(
      "div",
      { class: "bar" },
      h("h2", {}, h("a", { class: "card-link", href: `#/lanes/${segment(lane.name)}` }, lane.name)),
      state,
    ),
    h("p", { class: "soft contract" }, `${lane.contract} · ${lane.stage}`),
    numbers.node,
    drawn.node,
    ends.node,
  );
  const update = (now) => {
    if (now.health !== health) put(state, mark(now.health.replaceAll("_", " "), healthTone(now.health)));
    health = now.health;
    numbers.update(now);
    drawn.update(now.history);
    ends.update(now);
  };
  return { node, update };
}
