// Builds pages from data. Text is always text: nothing here ever parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An element: `h("td", { class: "number" }, 5)`. */
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** The same for drawings. */
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

/** Says something in the corner, for a while. */
export function toast(text, tone = "good") {
  const note = h("div", { class: `notice ${tone}` }, text);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), 6000);
}

/** Asks in a dialog; answers whether it was agreed to. */
export function confirm(title, text, verb, tone = "primary") {
  return new Promise((answer) => {
    const close = (agreed) => () => { dialog.close(); dialog.remove(); answer(agreed); };
    const dialog = h("dialog", { "aria-label": title, oncancel: close(false) },
      h("h1", {}, title), h("p", {}, text),
      h("div", { class: "row end" },
        h("button", { type: "button", onclick: close(false) }, "Leave it"),
        h("button", { type: "button", class: tone, onclick: close(true) }, verb)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Shows a secret once. */
export function reveal(title, secrets) {
  const close = () => { dialog.close(); dialog.remove(); };
  const dialog = h("dialog", { "aria-label": title },
    h("h1", {}, title),
    h("p", {}, "Keep it now: it is shown this once, and can't be read again."),
    Object.entries(secrets).map(([name, value]) => [h("h2", {}, name), h("div", { class: "secret" }, value)]),
    h("div", { class: "row end" }, h("button", { class: "primary", type: "button", onclick: close }, "I have it")));
  document.body.append(dialog);
  dialog.showModal();
}

const HEALTH = { running: "good", paused: "warn", starting: "warn", draining: "warn" };
export const health = (name) => h("span", { class: `badge ${HEALTH[name] ?? "bad"}` }, name.replaceAll("_", " "));

const ROLE = { delivered: "good", dead: "bad", claimed: "warn" };
export const state = (name, role) => h("span", { class: `badge ${ROLE[role] ?? ""}` }, name);

/** A table: columns are `[heading, class, cell of an item]`. */
export function table(columns, items, row = () => ({})) {
  const head = h("tr", {}, columns.map(([heading, kind]) => (heading ? h("th", { class: kind, scope: "col" }, heading) : h("td", {}))));
  const body = items.map((item) =>
    h("tr", row(item), columns.map(([, kind, cell]) => h("td", { class: kind }, cell(item) ?? ""))));
  if (!items.length) body.push(h("tr", {}, h("td", { colspan: columns.length, class: "faint" }, "Nothing here.")));
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Table" },
    h("table", {}, h("thead", {}, head), h("tbody", {}, body)));
}
