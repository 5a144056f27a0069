// The rows of a lane: by state, by what they are about, page after page; and what may be done with them.
//
// What is looked for stands in the address, so that a row's page leads back to the same list.

import { get, may, segment } from "./api.js";
import { h, put, say } from "./dom.js";
import { icon } from "./icons.js";
import { button, empty, mark, notice, roleTone, when } from "./parts.js";
import { pages, table } from "./table.js";
import { plural, rows, span } from "./words.js";
import { move } from "./move.js";

const NAMES = { id: "id", key: "key", recipient: "recipient", group: "group", error: "error text" };
const LIMIT = 50;

export function finder(page, here, about) {
  const roles = Object.fromEntries(about.states.map((state) => [state.name, state.role]));
  const wanted = { state: "", by: about.searches[0]?.by ?? "id", text: "", order: "newest", ...Object.fromEntries(page.parameters) };
  const chosen = new Map();
  const search = bar(about, wanted, () => look());
  const tabs = tab(about, wanted, () => look());
  const acts = h("div", { class: "selection", role: "toolbar", "aria-label": "With these rows" });
  const list = pages((cursor) => get(`${here}/rows`, { ...query(about, wanted), cursor, limit: LIMIT }), shown);

  function look() {
    const kept = Object.entries(wanted).filter(([name, value]) => value && !(name === "order" && value === "newest") && !(name === "by" && !wanted.text));
    history.replaceState(null, "", `#${here}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`);
    return list.first();
  }

  function shown(found) {
    chosen.clear();
    offer();
    const note = found.note && notice("", found.note);
    if (!found.items.length) return [note, nothing(wanted)];
    return [note, sheet(found.items)];
  }

  function sheet(items) {
    const boxes = new Map();
    const all = h("input", { type: "checkbox", "aria-label": "Select every row shown", onchange: () => items.forEach((item) => choose(item, all.checked)) });
    const choose = ({ id, state }, on) => {
      boxes.get(id).checked = on;
      if (on) chosen.set(id, state); else chosen.delete(id);
      all.checked = chosen.size === items.length;
      offer();
    };
    const box = (item) => {
      boxes.set(item.id, h("input", { type: "checkbox", "aria-label": `Select ${item.id}`, onchange: (event) => choose(item, event.target.checked) }));
      return boxes.get(item.id);
    };
    const select = may("operator") && about.verbs.length ? [{ name: "Select", kind: "pick", quiet: true, head: all, cell: box }] : [];
    return table("Rows", [...select,
      { name: "Id", kind: "main mono", cell: (item) => h("a", { class: "open", href: `#${here}/rows/${segment(item.id)}` }, item.id) },
      { name: "State", kind: "state", cell: (item) => mark(item.state ?? "unknown", roleTone(roles[item.state] ?? item.role)) },
      { name: "To", kind: "text", cell: (item) => item.target && h("span", { title: item.target }, item.target) },
      { name: "Error", kind: "text soft", cell: (item) => item.error && h("span", { title: item.error }, item.error) },
      { name: "Attempts", kind: "number", cell: (item) => item.attempts },
      { name: "Due", kind: "time", cell: due },
      { name: "Created", kind: "time", cell: (item) => when(item.createdAt) },
    ], items);
  }

  /** With what is selected; else with all rows of the state that is shown. */
  function offer() {
    const states = chosen.size ? [...chosen.values()] : wanted.text ? [] : [wanted.state];
    const verbs = may("operator") ? about.verbs.filter((verb) => states.some((state) => verb.from.includes(state))) : [];
    const which = chosen.size ? { ids: [...chosen.keys()] } : { state: wanted.state };
    acts.hidden = !verbs.length && !chosen.size;
    put(acts, h("span", {}, chosen.size ? `${plural(chosen.size, "row")} selected` : `All rows in ${wanted.state}`),
      verbs.map((verb) => button(verb.title, () => move(here, verb, which, list.same), verb.name === "cancel" ? "danger" : "primary")),
      chosen.size > 0 && button("Clear", () => list.same(), "bare"));
  }

  page.find(() => search.input.focus());
  list.first();
  return { count: tabs.count, node: h("section", { class: "rows", "aria-label": "Rows" }, tabs.node, search.node, list.frame, acts) };
}

const due = (item) => {
  if (item.dueInSeconds === null || item.dueInSeconds === undefined) return null;
  return item.dueInSeconds > 0 ? `in ${span(item.dueInSeconds)}` : `${span(-item.dueInSeconds)} over`;
};

/** A star at the end asks for what begins so. */
function query(about, { state, by, text, order }) {
  if (!text) return { state, order };
  const prefix = text.endsWith("*") && about.searches.find((search) => search.by === by)?.prefix;
  return { state, order, by, text: prefix ? text.slice(0, -1) : text, match: prefix ? "prefix" : undefined };
}

const nothing = ({ state, text }) => {
  if (text) return empty("Nothing is found", "Search is by index: give the whole value, or its beginning with a star (", h("code", {}, "order-*"), ").");
  return state ? empty(`No row is ${state}`, "There is nothing to do here.") : empty("The table has no rows yet", "They appear as soon as an application commits one.");
};

/** One tab a state, with its live count. */
function tab(about, wanted, look) {
  const counts = new Map();
  const choose = (name) => () => { wanted.state = name; press(); look(); };
  const make = (name, text) => {
    const count = h("span", { class: "count" });
    counts.set(name, count);
    return h("button", { type: "button", "data-state": name, onclick: choose(name) }, text, count);
  };
  const node = h("div", { class: "tabs", role: "group", "aria-label": "By state" }, make("", "All"), about.states.map((state) => make(state.name, state.name)));
  const press = () => node.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.state === wanted.state)));
  press();
  const count = (census) => census.forEach((state) => counts.get(state.state) && say(counts.get(state.state), rows(state.rows, state.more)));
  return { node, count };
}

function bar(about, wanted, look) {
  const pick = (name, label, options) => h("select", { name, "aria-label": label, onchange: (event) => { wanted[name] = event.target.value; hint(); if (name === "order" || wanted.text) look(); } },
    options.map(([value, text]) => h("option", { value, selected: value === wanted[name] }, text)));
  const by = pick("by", "Search by", about.searches.map((search) => [search.by, NAMES[search.by] ?? search.by]));
  const order = pick("order", "Order", [["newest", "Newest first"], ["oldest", "Oldest first"]]);
  const input = h("input", { type: "search", "aria-label": "Search the rows", value: wanted.text, maxlength: 500, spellcheck: "false", autocomplete: "off" });
  const hint = () => {
    const search = about.searches.find((one) => one.by === wanted.by);
    input.placeholder = wanted.by === "error" ? "words of the error, among the newest 10,000 failed rows" : search?.prefix ? "exact, or its beginning with a star: order-*" : "exact";
  };
  hint();
  const find = (event) => { event.preventDefault(); wanted.text = input.value.trim(); look(); };
  input.addEventListener("search", () => { if (!input.value && wanted.text) { wanted.text = ""; look(); } });
  const node = h("form", { class: "search with-order", role: "search", onsubmit: find }, by, h("div", { class: "box" }, icon("search"), input, h("kbd", { "aria-hidden": "true" }, "/")), h("button", {}, "Find"), order);
  return { node, input };
}
