// One row: why it waits, what happened to it, what it carries, and every column as it is.

import { get, may, segment } from "./api.js";
import { again, h } from "./dom.js";
import { message } from "./message.js";
import { move } from "./move.js";
import { button, facts, heading, mark, notice, roleTone, section, when } from "./parts.js";

export async function row(_, lane, id) {
  const here = `/lanes/${segment(lane)}`;
  const seen = await get(`${here}/rows/${segment(id)}`);
  const verbs = may("operator")
    ? seen.verbs.map((verb) =>
        button(verb.title, () => move(here, verb, { ids: [seen.id] }, again), verb.name === "cancel" ? "danger" : "primary"),
      )
    : [];
  return [
    heading(seen.id, {
      trail: [
        ["#/", "Overview"],
        [`#${here}`, lane],
      ],
      marks: [mark(seen.state ?? "unknown", roleTone(seen.role))],
      actions: verbs,
    }),
    seen.waiting && notice("wait", seen.waiting),
    h(
      "div",
      { class: "split wide-left" },
      h("div", { class: "stack" }, message(`${here}/rows/${segment(id)}`, seen.message)),
      h("div", { class: "stack" }, section("What happened", timeline(seen.timeline)), section("Columns", columns(seen.columns))),
    ),
  ];
}

const columns = (all) =>
  facts(
    all.map(({ name, value }) => [
      h("code", {}, name),
      value === null ? h("span", { class: "soft" }, "NULL") : h("code", {}, value),
    ]),
    "wide",
  );

/** Attempts and moves, oldest first. */
export function timeline(moves) {
  if (!moves?.length) return h("p", { class: "soft" }, "Nothing yet: it was written, and waits.");
  return h(
    "ol",
    { class: "timeline" },
    moves.map((one) =>
      h(
        "li",
        { class: one.tone },
        h("div", { class: "what" }, h("strong", {}, one.what), when(one.at)),
        one.detail && h("p", {}, one.detail),
        one.facts?.length > 0 && facts(one.facts.map(({ name, value }) => [name, value])),
        one.body && h("details", {}, h("summary", {}, "Answer"), h("pre", { tabindex: 0 }, one.body)),
      ),
    ),
  );
}
