// The timeline of a row or a job: its attempts and changes, oldest first.

import { h } from "./dom.js";
import { facts, long, when } from "./components.js";
import { pretty } from "./format.js";

const fold = (name, open, ...body) => h("details", { open }, h("summary", {}, name), body);

const recorded = (all) =>
  facts(
    all.map(({ name, value }) => [h("code", {}, name), h("code", {}, long(value, name))]),
    "wide",
  );

/** The list of entries; the newest response is open. */
export function timeline(moves, none = "No attempt yet.") {
  if (!moves?.length) return h("p", { class: "soft" }, none);
  const newest = moves.findLastIndex((one) => one.body);
  return h(
    "ol",
    { class: "timeline" },
    moves.map((one, at) =>
      h(
        "li",
        { class: new Date(one.at) > Date.now() ? "ahead" : one.tone },
        h("div", { class: "what" }, h("strong", {}, one.what), when(one.at)),
        one.detail && h("p", {}, long(one.detail, "Details")),
        one.body && fold("Response", at === newest, h("pre", { tabindex: 0 }, pretty(one.body))),
        one.facts?.length > 0 && fold("All fields", false, recorded(one.facts)),
      ),
    ),
  );
}
