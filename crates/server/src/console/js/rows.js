// The rows of a lane: by state, by what they are about, page after page; and what may be done with them.
//
// What is looked for stands in the address, so that a row's page leads back to the same list.

import { get, may, peek, segment } from "./api.js";
import { h, keep, put } from "./dom.js";
import { button, mark, notice, roleTone, when } from "./parts.js";
import { bar, nothing, query, tabs as byState } from "./search.js";
import { pages, table } from "./table.js";
import { plural, span } from "./words.js";
import { move } from "./move.js";

const LIMIT = 50;

export function finder(page, here, about) {
  const roles = Object.fromEntries(about.states.map((state) => [state.name, state.role]));
  const wanted = {
    state: "",
    by: about.searches[0]?.by ?? "id",
    text: "",
    order: "newest",
    ...Object.fromEntries(page.parameters),
  };
  const chosen = new Map();
  const search = bar(about, wanted, () => look());
  const tabs = byState(about, wanted, () => look());
  const acts = h("div", { class: "selection", role: "toolbar", "aria-label": "Actions for the selected rows", hidden: true });
  const ask = (cursor, quiet) => (quiet ? peek : get)(`${here}/rows`, { ...query(about, wanted), cursor, limit: LIMIT });
  const list = pages(ask, shown, () => chosen.size > 0 || document.hidden);

  function look() {
    const { order, by } = wanted;
    keep(here, { ...wanted, order: order !== "newest" && order, by: wanted.text && by });
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
    const all = h("input", {
      type: "checkbox",
      "aria-label": "Select all rows on this page",
      onchange: () => items.forEach((item) => choose(item, all.checked)),
    });
    const choose = ({ id, state }, on) => {
      boxes.get(id).checked = on;
      if (on) chosen.set(id, state);
      else chosen.delete(id);
      all.checked = chosen.size === items.length;
      offer();
    };
    const box = (item) => {
      boxes.set(
        item.id,
        h("input", {
          type: "checkbox",
          "aria-label": `Select ${item.id}`,
          onchange: (event) => choose(item, event.target.checked),
        }),
      );
      return boxes.get(item.id);
    };
    const select =
      may("operator") && about.verbs.length ? [{ name: "Select", kind: "pick", quiet: true, head: all, cell: box }] : [];
    return table(
      "Rows",
      [
        ...select,
        {
          name: "Id",
          kind: "main mono",
          cell: (item) => h("a", { class: "open", href: `#${here}/rows/${segment(item.id)}` }, item.id),
        },
        { name: "State", kind: "state", cell: (item) => mark(item.state ?? "unknown", roleTone(roles[item.state] ?? item.role)) },
        { name: "To", kind: "text", cell: (item) => item.target && h("span", { title: item.target }, item.target) },
        { name: "Error", kind: "text soft", cell: (item) => item.error && h("span", { title: item.error }, item.error) },
        { name: "Attempts", kind: "number", cell: (item) => item.attempts },
        { name: "Due", kind: "time", cell: due },
        { name: "Created", kind: "time", cell: (item) => when(item.createdAt) },
      ],
      items,
    );
  }

  /** With what is selected; else with all rows of the state that is shown. */
  function offer() {
    const states = chosen.size ? [...chosen.values()] : wanted.text ? [] : [wanted.state];
    const verbs = may("operator") ? about.verbs.filter((verb) => states.some((state) => verb.from.includes(state))) : [];
    const which = chosen.size ? { ids: [...chosen.keys()] } : { state: wanted.state };
    acts.hidden = !verbs.length && !chosen.size;
    put(
      acts,
      h("span", {}, chosen.size ? `${plural(chosen.size, "row")} selected` : `All rows in ${wanted.state}`),
      verbs.map((verb) =>
        button(verb.title, () => move(here, verb, which, list.same), verb.name === "cancel" ? "danger" : "primary"),
      ),
      chosen.size > 0 && button("Clear", () => list.same(), "bare"),
    );
  }

  /** Rows came or moved: the list follows, unless it is searched, which costs more. */
  let census = "";
  function count(states) {
    tabs.count(states);
    const now = JSON.stringify(states);
    if (census && now !== census && !wanted.text) list.renew();
    census = now;
  }

  page.find(() => search.input.focus());
  list.first();
  return {
    count,
    node: h("section", { class: "rows", "aria-label": "Rows" }, tabs.node, search.node, list.frame, acts),
  };
}

const due = (item) => {
  if (item.dueInSeconds === null || item.dueInSeconds === undefined) return null;
  return item.dueInSeconds > 0 ? `in ${span(item.dueInSeconds)}` : `${span(-item.dueInSeconds)} overdue`;
};
