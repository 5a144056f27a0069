// Keeps an open page of one thing up to date: looks again while somebody sees it, and changes only what differs.
//
// Invariant: what did not change stays as it is, with its scroll, its selection and the focus in it.

import { peek } from "./api.js";
import { h, put } from "./dom.js";

const MOVING = 3_000;
const RESTING = 15_000;

/**
 * A part of a page that is drawn anew when its data differ; what was opened in it stays open. `tells` gives what counts of
 * them, where some of it changes with every look.
 */
export function part(draw, tells = (data) => data) {
  const node = h("div", { class: "part" });
  let told = null;
  const show = (data) => {
    const words = JSON.stringify(tells(data) ?? null);
    if (words === told) return;
    told = words;
    const opened = [...node.querySelectorAll("details")].map((one) => one.open);
    const held = node.contains(document.activeElement) ? document.activeElement.textContent : null;
    put(node, draw(data));
    const details = [...node.querySelectorAll("details")];
    opened.forEach((open, at) => {
      if (details[at]) details[at].open = open;
    });
    if (held !== null) [...node.querySelectorAll("button, a, summary")].find((one) => one.textContent === held)?.focus();
  };
  return { node, show };
}

/**
 * Looks again at `path` until the page ends, often while `moves` says that something may happen, and calls `show`.
 * A look that fails is made again; nothing is taken away meanwhile.
 */
export function follow(page, path, first, moves, show) {
  let seen = first;
  let timer = 0;
  const look = async () => {
    if (document.visibilityState === "visible") {
      try {
        const now = await peek(path);
        if (timer === null) return;
        seen = now;
        show(seen);
      } catch (error) {
        if (error.status === 404) return;
      }
    }
    plan();
  };
  const plan = () => {
    if (timer !== null) timer = setTimeout(look, moves(seen) ? MOVING : RESTING);
  };
  const seenAgain = () => {
    if (document.visibilityState !== "visible" || timer === null) return;
    clearTimeout(timer);
    look();
  };
  document.addEventListener("visibilitychange", seenAgain);
  page.ends(() => {
    clearTimeout(timer);
    timer = null;
    document.removeEventListener("visibilitychange", seenAgain);
  });
  plan();
}
