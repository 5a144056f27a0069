// Refreshes the page of one object while it is visible, and updates only what changed.
//
// Invariant: unchanged parts keep their scroll position, selection and focus.

import { getQuietly } from "./api.js";
import { h, setChildren } from "./dom.js";

const ACTIVE_INTERVAL = 3_000;
const IDLE_INTERVAL = 15_000;

/**
 * A part of a page that is rendered again when its data changes; open details stay open. `significant` selects the data
 * that counts, if some of it differs in every response.
 */
export function livePart(draw, significant = (data) => data) {
  const node = h("div", { class: "part" });
  let last = null;
  const show = (data) => {
    const text = JSON.stringify(significant(data) ?? null);
    if (text === last) return;
    last = text;
    const opened = [...node.querySelectorAll("details")].map((one) => one.open);
    const held = node.contains(document.activeElement) ? document.activeElement.textContent : null;
    setChildren(node, draw(data));
    const details = [...node.querySelectorAll("details")];
    opened.forEach((open, at) => {
      if (details[at]) details[at].open = open;
    });
    if (held !== null) [...node.querySelectorAll("button, a, summary")].find((one) => one.textContent === held)?.focus();
  };
  return { node, show };
}

/**
 * Loads `path` until the page is left, more often while `isActive` returns true, and calls `show`. A failed request is
 * retried; the page keeps what it shows.
 */
export function follow(page, path, first, isActive, show) {
  let seen = first;
  let timer = 0;
  const load = async () => {
    if (document.visibilityState === "visible") {
      try {
        const now = await getQuietly(path);
        if (timer === null) return;
        seen = now;
        show(seen);
      } catch (error) {
        if (error.status === 404) return;
      }
    }
    schedule();
  };
  const schedule = () => {
    if (timer !== null) timer = setTimeout(load, isActive(seen) ? ACTIVE_INTERVAL : IDLE_INTERVAL);
  };
  const onVisible = () => {
    if (document.visibilityState !== "visible" || timer === null) return;
    clearTimeout(timer);
    load();
  };
  document.addEventListener("visibilitychange", onVisible);
  page.ends(() => {
    clearTimeout(timer);
    timer = null;
    document.removeEventListener("visibilitychange", onVisible);
  });
  schedule();
}
