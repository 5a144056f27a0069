// The rows of a lane: filtered by state, searched, paged, and changed by operators.
//
// The filter is part of the URL, so that the page of a row leads back to the same list.

import { get, may, getQuietly, encodePart } from "./api.js";
import { h, keepInAddress, setChildren } from "./dom.js";
import { button, badge, notice, roleTone, when } from "./components.js";
import { noRows, query, searchForm, tabs as stateTabs } from "./row_search.js";
import { pages, table } from "./table.js";
import { plural, span } from "./format.js";
import { changeRows } from "./row_actions.js";

const LIMIT = 50;

export function rowList(page, here, about) {
  const roles = Object.fromEntries(about.states.map((state) => [state.name, state.role]));
  const filter = {
    state: "",
    by: about.searches[0]?.by ?? "id",
    text: "",
    order: "newest",
    ...Object.fromEntries(page.parameters),
  };
  const selected = new Map();
  const search = searchForm(about, filter, () => reload());
  const tabs = stateTabs(about, filter, () => reload());
  const actions = h("div", { class: "selection", role: "toolbar", "aria-label": "Actions for the selected rows", hidden: true });
  const load = (cursor, quiet) => (quiet ? getQuietly : get)(`${here}/rows`, { ...query(about, filter), cursor, limit: LIMIT });
  const list = pages(load, render, () => selected.size > 0 || document.hidden);

  function reload() {
    const { order, by } = filter;
    keepInAddress(here, { ...filter, order: order !== "newest" && order, by: filter.text && by });
    return list.first();
  }

  function render(found) {
    selected.clear();
    showActions();
    const note = found.note && notice("", found.note);
    if (!found.items.length) return [note, noRows(filter)];
    return [note, rowTable(found.items)];
  }

  function rowTable(items) {
    const boxes = new Map();
    const all = h("input", {
      type: "checkbox",
      "aria-label": "Select all rows on this page",
      onchange: () => items.forEach((item) => setSelected(item, all.checked)),
    });
    const setSelected = ({ id, state }, on) => {
      boxes.get(id).checked = on;
      if (on) selected.set(id, state);
      else selected.delete(id);
      all.checked = selected.size === items.length;
      showActions();
    };
    const box = (item) => {
      boxes.set(
        item.id,
        h("input", {
          type: "checkbox",
          "aria-label": `Select ${item.id}`,
          onchange: (event) => setSelected(item, event.target.checked),
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
          cell: (item) => h("a", { class: "open", href: `#${here}/rows/${encodePart(item.id)}` }, item.id),
        },
        { name: "State", kind: "state", cell: (item) => badge(item.state ?? "unknown", roleTone(roles[item.state] ?? item.role)) },
        { name: "To", kind: "text", cell: (item) => item.target && h("span", { title: item.target }, item.target) },
        { name: "Error", kind: "text soft", cell: (item) => item.error && h("span", { title: item.error }, item.error) },
        { name: "Attempts", kind: "number", cell: (item) => item.attempts },
        { name: "Due", kind: "time", cell: due },
        { name: "Created", kind: "time", cell: (item) => when(item.createdAt) },
      ],
      items,
    );
  }

  /** Shows the actions for the selected rows; without a selection, for all rows of the current state. */
  function showActions() {
    const states = selected.size ? [...selected.values()] : filter.text ? [] : [filter.state];
    const verbs = may("operator") ? about.verbs.filter((verb) => states.some((state) => verb.from.includes(state))) : [];
    const which = selected.size ? { ids: [...selected.keys()] } : { state: filter.state };
    actions.hidden = !verbs.length && !selected.size;
    setChildren(
      actions,
      h("span", {}, selected.size ? `${plural(selected.size, "row")} selected` : `All rows in ${filter.state}`),
      verbs.map((verb) =>
        button(verb.title, () => changeRows(here, verb, which, list.same), verb.name === "cancel" ? "danger" : "primary"),
      ),
      selected.size > 0 && button("Clear", () => list.same(), "bare"),
    );
  }

  /** Renews the list when the counts change, unless it is a search, which costs more. */
  let census = "";
  function count(states) {
    tabs.count(states);
    const now = JSON.stringify(states);
    if (census && now !== census && !filter.text) list.renew();
    census = now;
  }

  page.find(() => search.input.focus());
  list.first();
  return {
    count,
    node: h("section", { class: "rows", "aria-label": "Rows" }, tabs.node, search.node, list.frame, actions),
  };
}

const due = (item) => {
  if (item.dueInSeconds === null || item.dueInSeconds === undefined) return null;
  return item.dueInSeconds > 0 ? `in ${span(item.dueInSeconds)}` : `${span(-item.dueInSeconds)} overdue`;
};
