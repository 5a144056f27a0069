// One lane: how it is, its state machine with live counts, its rows, the settings in force.

import { get, may, post, segment } from "./api.js";
import { again, h, put, say } from "./dom.js";
import { figures, sides } from "./figures.js";
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
  });
  return [
    heading(name, {
      trail: [["#/", "Overview"]],
      marks: [state],
      actions: may("operator") ? [switcher(name, about)] : [],
      under: `${about.contract} · ${about.stage}`,
    }),
    reason,
    h(
      "div",
      { class: "split" },
      h("section", { class: "card", "aria-label": "Figures" }, numbers.node, drawn.node, ends.node),
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

/** Pauses or resumes, on all instances; either can be taken back. */
function switcher(name, about) {
  const paused = about.paused ?? about.health === "paused";
  const set = (verb) => post(`/lanes/${segment(name)}/${verb}`);
  const flip = () =>
    attempt(async () => {
      const [verb, back] = paused ? ["resume", "pause"] : ["pause", "resume"];
      await set(verb);
      toast(paused ? `${name} goes on.` : `${name} pauses. What is under way is finished.`, {
        undo: async () => {
          await set(back);
          again();
        },
      });
      again();
    });
  return paused ? button("Resume", flip, "primary", "play") : button("Pause", flip, "", "pause");
}
