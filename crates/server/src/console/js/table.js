// Lists: a table on a desk, cards on a phone; page after page by cursor.
//
// A column: { name, kind, cell }. Kinds: main (the line's title), mono, number, time, text (one line, cut), acts.

import { h, put } from "./dom.js";
import { button, failure } from "./parts.js";

/** A table; `line` gives each row's properties. Roles are said, as a phone shows it with other boxes. */
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

/** What tells two looks at a list apart: not that time has passed. */
const told = ({ items, nextCursor, note }) =>
  JSON.stringify([items.map((item) => ({ ...item, dueInSeconds: undefined })), nextCursor, note]);

/**
 * Pages of a list: `load(cursor, quiet)` gives `{ items, nextCursor }`, `show(found)` what is to be seen of it. `busy` says
 * that somebody works with what is shown: then it is not renewed.
 */
export function pages(load, show, busy = () => false) {
  const frame = h("div", { class: "pages" });
  let before = [];
  let here;
  let latest = 0;
  let seen = "";

  function draw(cursor, found) {
    seen = told(found);
    put(frame, show(found), pager(cursor, found.nextCursor));
  }

  /** Looks again without a sign of it; what is the same stays, and so does the focus. */
  async function renew() {
    const mine = latest;
    if (busy() || frame.hasAttribute("aria-busy")) return;
    const found = await load(here, true).catch(() => null);
    if (!found || latest !== mine || busy() || told(found) === seen) return;
    const held = frame.contains(document.activeElement) && document.activeElement.getAttribute("href");
    draw(here, found);
    if (held) frame.querySelector(`a[href="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  }

  async function look(cursor) {
    const mine = ++latest;
    here = cursor;
    frame.setAttribute("aria-busy", "true");
    try {
      const found = await load(cursor);
      if (latest !== mine) return;
      draw(cursor, found);
    } catch (error) {
      if (latest === mine)
        put(
          frame,
          failure(error, () => look(cursor)),
        );
    } finally {
      if (latest === mine) frame.removeAttribute("aria-busy");
    }
  }

  function pager(cursor, next) {
    if (!before.length && !next) return null;
    const back = () => look(before.pop());
    const on = () => {
      before.push(cursor);
      look(next);
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
      return look();
    },
    same: () => look(here),
    renew,
  };
}
