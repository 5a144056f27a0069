// How rows are looked for: by state, by an indexed value, by words of an error.
//
// `wanted` is { state, by, text, order }; who changes it calls `look`.

import { h, say } from "./dom.js";
import { icon } from "./icons.js";
import { empty } from "./parts.js";
import { rows } from "./words.js";

const NAMES = { id: "id", key: "key", recipient: "recipient", group: "group", error: "error text" };

/** A star at the end asks for what begins so. */
export function query(about, { state, by, text, order }) {
  if (!text) return { state, order };
  const prefix = text.endsWith("*") && about.searches.find((search) => search.by === by)?.prefix;
  return { state, order, by, text: prefix ? text.slice(0, -1) : text, match: prefix ? "prefix" : undefined };
}

/** Where no row is found: what that means. */
export const nothing = ({ state, text }) => {
  if (text)
    return empty(
      "No rows found",
      "Search for the whole value, or for its beginning followed by a star (",
      h("code", {}, "order-*"),
      ").",
    );
  return state
    ? empty(`No rows in ${state}`, "Rows appear here when they reach this state.")
    : empty("No rows yet", "Rows appear as soon as an application commits them.");
};

/** One tab a state, with its live count. */
export function tabs(about, wanted, look) {
  const counts = new Map();
  const choose = (name) => () => {
    wanted.state = name;
    press();
    look();
  };
  const make = (name, text) => {
    const count = h("span", { class: "count" });
    counts.set(name, count);
    return h("button", { type: "button", "data-state": name, onclick: choose(name) }, text, count);
  };
  const node = h(
    "div",
    { class: "tabs", role: "group", "aria-label": "By state" },
    make("", "All"),
    about.states.map((state) => make(state.name, state.name)),
  );
  const press = () =>
    node
      .querySelectorAll("button")
      .forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.state === wanted.state)));
  press();
  const count = (census) =>
    census.forEach((state) => counts.get(state.state) && say(counts.get(state.state), rows(state.rows, state.more)));
  return { node, count };
}

/** What to look for, by what, in which order. */
export function bar(about, wanted, look) {
  const pick = (name, label, options) =>
    h(
      "select",
      {
        name,
        "aria-label": label,
        onchange: (event) => {
          wanted[name] = event.target.value;
          hint();
          if (name === "order" || wanted.text) look();
        },
      },
      options.map(([value, text]) => h("option", { value, selected: value === wanted[name] }, text)),
    );
  const by = pick(
    "by",
    "Search by",
    about.searches.map((search) => [search.by, NAMES[search.by] ?? search.by]),
  );
  const order = pick("order", "Order", [
    ["newest", "Newest first"],
    ["oldest", "Oldest first"],
  ]);
  const input = h("input", {
    type: "search",
    "aria-label": "Search rows",
    value: wanted.text,
    maxlength: 500,
    spellcheck: "false",
    autocomplete: "off",
  });
  const hint = () => {
    const search = about.searches.find((one) => one.by === wanted.by);
    input.placeholder =
      wanted.by === "error"
        ? "words of the error, among the newest 10,000 failed rows"
        : search?.prefix
          ? `the whole ${NAMES[wanted.by] ?? wanted.by}, or its beginning followed by a star`
          : `the whole ${NAMES[wanted.by] ?? wanted.by}`;
  };
  hint();
  const find = (event) => {
    event.preventDefault();
    wanted.text = input.value.trim();
    look();
  };
  input.addEventListener("search", () => {
    if (!input.value && wanted.text) {
      wanted.text = "";
      look();
    }
  });
  const node = h(
    "form",
    { class: "search with-order", role: "search", onsubmit: find },
    by,
    h("div", { class: "box" }, icon("search"), input, h("kbd", { "aria-hidden": "true" }, "/")),
    h("button", {}, "Search"),
    order,
  );
  return { node, input };
}
