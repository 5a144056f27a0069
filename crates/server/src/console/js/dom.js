// Builds elements from data.
//
// Owns: how text gets onto a page. Invariant: text is always text; nothing in the console ever parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...there(children));
  return node;
}

/** What is to be shown of a nested list: absent parts are left out. */
const there = (children) =>
  [children].flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");

/** An element: `h("td", { class: "number" }, 5)`. */
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** The same for drawings. */
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

/** Puts other children into an element. */
export const put = (node, ...children) => node.replaceChildren(...there(children));

/** Changes a text only if it differs, so that a selection in it survives. */
export function say(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

/** Shows the page again, as if it had just been opened. */
export const again = () => dispatchEvent(new HashChangeEvent("hashchange"));

/** What is looked for stands in the address, so that a link leads to it. */
export function keep(path, wanted) {
  const kept = Object.entries(wanted).filter(([, value]) => value);
  history.replaceState(null, "", `#${path}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`);
}
