// Lists: a table on wide screens, cards on a phone; paged by cursor.
//
// A column: { name, kind, cell }. Kinds: main (the line's title), mono, number, time, text (one line, cut), acts.

import { h, setChildren } from "./dom.js";
import { button, failure } from "./components.js";

/** A table; `line` returns the properties of a row. Roles are explicit, because the phone layout uses other boxes. */
export function table(label, columns, items, line = () => ({})) {
  const head = columns.map((column) =>
    h(
      "th",
      { class: /number|pick/.exec(column.kind)?.[0], scope: "col", role: "columnheader" },
      column.head ?? (column.quiet ? h("span", { class: "unseen" }, column.name) : column.name),
    ),
  );
  const body = items.map((item) =>
    h(
      "tr",
      { role: "row", ...line(item) },
      columns.map((column) =>
        h("td", { class: column.kind, role: "cell", "data-name": column.quiet ? null : column.name }, column.cell(item)),
      ),
    ),
  );
  return h(
    "div",
    { class: "sheet" },
    h(
      "table",
      { role: "table", "aria-label": label },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head)),
      h("tbody", { role: "rowgroup" }, body),
    ),
  );
}

/** What makes two responses of a list different; the passing of time does not. */
const significant = ({ items, nextCursor, note }) =>
  JSON.stringify([items.map((item) => ({ ...item, dueInSeconds: undefined })), nextCursor, note]);

/**
 * Pages of a list: `load(cursor, quiet)` returns `{ items, nextCursor }`, `show(found)` renders it. While `busy` returns
 * true, the list is not renewed.
 */
export function pages(load, show, busy = () => false) {
  const frame = h("div", { class: "pages" });
  let before = [];
  let here;
  let latest = 0;
  let seen = "";

  function draw(cursor, found) {
    seen = significant(found);
    setChildren(frame, show(found), pager(cursor, found.nextCursor));
  }

  /** Reloads in the background; an unchanged list and the focus stay. */
  async function renew() {
    const mine = latest;
    if (busy() || frame.hasAttribute("aria-busy")) return;
    const found = await load(here, true).catch(() => null);
    if (!found || latest !== mine || busy() || significant(found) === seen) return;
    const held = frame.contains(document.activeElement) && document.activeElement.getAttribute("href");
    draw(here, found);
    if (held) frame.querySelector(`a[href="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  }

  async function open(cursor) {
    const mine = ++latest;
    here = cursor;
    frame.setAttribute("aria-busy", "true");
    try {
      const found = await load(cursor);
      if (latest !== mine) return;
      draw(cursor, found);
    } catch (error) {
      if (latest === mine)
        setChildren(
          frame,
          failure(error, () => open(cursor)),
        );
    } finally {
      if (latest === mine) frame.removeAttribute("aria-busy");
    }
  }

  function pager(cursor, next) {
    if (!before.length && !next) return null;
    const back = () => open(before.pop());
    const on = () => {
      before.push(cursor);
      open(next);
    };
    const newer = button("Previous", back, "small", "back");
    const older = button("Next", on, "small", "next");
    newer.disabled = !before.length;
    older.disabled = !next;
    return h("nav", { class: "pager", "aria-label": "Pages of the list" }, newer, older);
  }

  return {
    frame,
    first: () => {
      before = [];
      return open();
    },
    same: () => open(here),
    renew,
  };
}
