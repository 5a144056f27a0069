// One lane: how it is, its state machine with live counts, its rows, the settings in force.

import { get, may, post, segment } from "./api.js";
import { h, put, say } from "./dom.js";
import { WHOSE, figures, sides } from "./figures.js";
import { machine } from "./machine.js";
import { button, facts, heading, health, section } from "./parts.js";
import { plot } from "./plot.js";
import { finder } from "./rows.js";
import { attempt, toast } from "./toast.js";

export async function lane(page, name) {
  const here = `/lanes/${segment(name)}`;
  const about = await get(here);
  const drawing = machine(about.states, about.moves, (state) => `#${here}?state=${segment(state)}`);
  const state = h("span", {}, health(about.health)),
    reason = h("p", { class: "notice bad", hidden: true });
  const numbers = figures(),
    drawn = plot(name),
    ends = sides(),
    list = finder(page, here, about);
  const pause = switcher(name, about.health === "paused");
  page.live((seen) => {
    const mine = seen.lanes.find((one) => one.name === name);
    if (!mine) return;
    if (state.textContent !== mine.health.replaceAll("_", " ")) put(state, health(mine.health));
    reason.hidden = !mine.reason;
    say(reason, mine.reason ?? "");
    for (const part of [numbers, ends]) part.update(mine);
    drawn.update(mine.history);
    drawing.update(mine.states);
    list.count(mine.states);
    pause.update(mine.paused);
  });
  return [
    heading(name, {
      trail: [["#/", "Overview"]],
      marks: [state],
      actions: may("operator") ? [pause.node] : [],
      under: `${about.contract} · ${about.stage}`,
    }),
    reason,
    h(
      "div",
      { class: "split" },
      h("section", { class: "card", "aria-label": "Figures" }, numbers.node, drawn.node, ends.node, h("p", { class: "hint" }, WHOSE)),
      section("State machine", drawing.node),
    ),
    list.node,
    h(
      "details",
      { class: "card" },
      h("summary", {}, h("h2", {}, "Settings in force")),
      facts(
        about.settings.map(({ key, value }) => [h("code", {}, key), h("code", {}, value)]),
        "wide",
      ),
    ),
  ];
}

/** Pauses or resumes, on all instances; either can be taken back. The lane follows within seconds, the button at once. */
function switcher(name, seen) {
  const node = h("span", {});
  let paused = null;
  let asked = null;
  const show = (now) => {
    if (now === paused) return;
    paused = now;
    put(node, now ? button("Resume", flip, "primary", "play") : button("Pause", flip, "", "pause"));
  };
  const set = async (wanted) => {
    await post(`/lanes/${segment(name)}/${wanted ? "pause" : "resume"}`);
    asked = wanted;
    show(wanted);
  };
  const flip = () =>
    attempt(async () => {
      const wanted = !paused;
      await set(wanted);
      toast(wanted ? `${name} is paused. Deliveries in progress are finished.` : `${name} is resumed.`, { undo: () => set(!wanted) });
    });
  const update = (now) => {
    if (asked !== null && now !== asked) return;
    asked = null;
    show(now);
  };
  update(seen);
  return { node, update };
}
