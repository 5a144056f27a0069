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
  node.append(...visible(children));
  return node;
}

/** Flattens a nested list of children and drops absent ones. */
const visible = (children) =>
  [children].flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");

/** An element: `h("td", { class: "number" }, 5)`. */
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** The same for SVG elements. */
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

/** Replaces the children of an element. */
export const setChildren = (node, ...children) => node.replaceChildren(...visible(children));

/** Changes a text only if it differs, so that a selection in it survives. */
export function setText(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

/** Renders the current page again. */
export const reloadPage = () => dispatchEvent(new HashChangeEvent("hashchange"));

/** Stores the filter in the URL, so that a link leads to the same list. */
export function keepInAddress(path, filter) {
  const set = Object.entries(filter).filter(([, value]) => value);
  history.replaceState(null, "", `#${path}${set.length ? `?${new URLSearchParams(set)}` : ""}`);
}
