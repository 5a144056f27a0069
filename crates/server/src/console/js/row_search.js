// Search of rows: by state, by an indexed value, or by words of an error.
//
// `filter` is { state, by, text, order }; after a change, call `reload`.

import { h, setText } from "./dom.js";
import { icon } from "./icons.js";
import { empty } from "./components.js";
import { rows } from "./format.js";

const NAMES = { id: "id", key: "key", recipient: "recipient", group: "group", error: "error text" };

/** Returns the parameters of the request. A star at the end searches for a prefix. */
export function query(about, { state, by, text, order }) {
  if (!text) return { state, order };
  const prefix = text.endsWith("*") && about.searches.find((search) => search.by === by)?.prefix;
  return { state, order, by, text: prefix ? text.slice(0, -1) : text, match: prefix ? "prefix" : undefined };
}

/** The placeholder if no row is found. */
export const noRows = ({ state, text }) => {
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

/** One tab per state, with its live count. */
export function tabs(about, filter, reload) {
  const counts = new Map();
  const choose = (name) => () => {
    filter.state = name;
    markPressed();
    reload();
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
  const markPressed = () =>
    node
      .querySelectorAll("button")
      .forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.state === filter.state)));
  markPressed();
  const count = (census) =>
    census.forEach((state) => counts.get(state.state) && setText(counts.get(state.state), rows(state.rows, state.more)));
  return { node, count };
}

/** The search form: text, column and order. */
export function searchForm(about, filter, reload) {
  const pick = (name, label, options) =>
    h(
      "select",
      {
        name,
        "aria-label": label,
        onchange: (event) => {
          filter[name] = event.target.value;
          hint();
          if (name === "order" || filter.text) reload();
        },
      },
      options.map(([value, text]) => h("option", { value, selected: value === filter[name] }, text)),
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
    value: filter.text,
    maxlength: 500,
    spellcheck: "false",
    autocomplete: "off",
  });
  const hint = () => {
    const search = about.searches.find((one) => one.by === filter.by);
    input.placeholder =
      filter.by === "error"
        ? "words of the error, among the newest 10,000 failed rows"
        : search?.prefix
          ? `the whole ${NAMES[filter.by] ?? filter.by}, or its beginning followed by a star`
          : `the whole ${NAMES[filter.by] ?? filter.by}`;
  };
  hint();
  const find = (event) => {
    event.preventDefault();
    filter.text = input.value.trim();
    reload();
  };
  input.addEventListener("search", () => {
    if (!input.value && filter.text) {
      filter.text = "";
      reload();
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
