// One lane: its health, its state machine with live counts, its rows, and its settings.

import { get, may, post, encodePart } from "./api.js";
import { h, setChildren, setText } from "./dom.js";
import { METRICS_SCOPE, endpoints, laneMetrics } from "./lane_metrics.js";
import { machine } from "./state_machine.js";
import { button, facts, heading, health, section } from "./components.js";
import { plot } from "./rate_plot.js";
import { rowList } from "./rows.js";
import { attempt, toast } from "./toast.js";

export async function lane(page, name) {
  const here = `/lanes/${encodePart(name)}`;
  const about = await get(here);
  const drawing = machine(about.states, about.moves, (state) => `#${here}?state=${encodePart(state)}`);
  const state = h("span", {}, health(about.health)),
    reason = h("p", { class: "notice bad", hidden: true });
  const numbers = laneMetrics(),
    drawn = plot(name),
    ends = endpoints(),
    list = rowList(page, here, about);
  const pause = pauseSwitch(name, about.health === "paused");
  page.live((seen) => {
    const mine = seen.lanes.find((one) => one.name === name);
    if (!mine) return;
    if (state.textContent !== mine.health.replaceAll("_", " ")) setChildren(state, health(mine.health));
    reason.hidden = !mine.reason;
    setText(reason, mine.reason ?? "");
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
      h("section", { class: "card", "aria-label": "Figures" }, numbers.node, drawn.node, ends.node, h("p", { class: "hint" }, METRICS_SCOPE)),
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

/** Pauses or resumes the lane on all instances, with undo. The lane follows within seconds, the button at once. */
function pauseSwitch(name, seen) {
  const node = h("span", {});
  let paused = null;
  let requested = null;
  const show = (now) => {
    if (now === paused) return;
    paused = now;
    setChildren(node, now ? button("Resume", toggle, "primary", "play") : button("Pause", toggle, "", "pause"));
  };
  const set = async (wanted) => {
    await post(`/lanes/${encodePart(name)}/${wanted ? "pause" : "resume"}`);
    requested = wanted;
    show(wanted);
  };
  const toggle = () =>
    attempt(async () => {
      const wanted = !paused;
      await set(wanted);
      toast(wanted ? `${name} is paused. Deliveries in progress are finished.` : `${name} is resumed.`, { undo: () => set(!wanted) });
    });
  const update = (now) => {
    if (requested !== null && now !== requested) return;
    requested = null;
    show(now);
  };
  update(seen);
  return { node, update };
}
