// The keyboard: every page can be reached and every list walked without a mouse.

import { h } from "./dom.js";

const GO = { o: "#/", j: "#/jobs", e: "#/events", s: "#/subscriptions", p: "#/pools", a: "#/accounts", c: "#/check" };
const HELP = [
  ["/", "search"], ["j k", "next and previous row"], ["Enter", "open the row"], ["x", "select the row"], ["r", "look again"],
  ["g o", "overview"], ["g j", "jobs"], ["g e", "events"], ["g s", "subscriptions"], ["g p", "pools"], ["g a", "accounts"], ["g c", "check"], ["?", "this help"],
];

export function keys({ again, page }) {
  let going = false;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
    const go = going && GO[event.key];
    going = event.key === "g" && !going;
    if (go) { location.hash = go; return; }
    const act = { "/": () => page().find?.(), "?": help, r: again, j: () => walk(1), k: () => walk(-1), x: select, Enter: () => open(event) }[event.key];
    if (!act || going) return;
    if (event.key !== "Enter") event.preventDefault();
    act();
  });
}

const lines = () => [...document.querySelectorAll("tr[data-href]")];
const current = () => document.querySelector("tr.cursor");

function walk(by) {
  const all = lines();
  if (!all.length) return;
  const at = all.indexOf(current());
  current()?.classList.remove("cursor");
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  next.classList.add("cursor");
  next.scrollIntoView({ block: "nearest" });
}

const select = () => current()?.querySelector("input[type=checkbox]")?.click();

function open(event) {
  if (event.target.closest("a, button")) return;
  const href = current()?.dataset.href;
  if (href) location.hash = href;
}

function help() {
  const close = () => { dialog.close(); dialog.remove(); };
  const dialog = h("dialog", { "aria-label": "Keys" }, h("h1", {}, "Keys"),
    h("dl", { class: "facts" }, HELP.map(([key, text]) => [h("dt", {}, key.split(" ").map((one) => [h("kbd", {}, one), " "])), h("dd", {}, text)])),
    h("div", { class: "row end" }, h("button", { class: "primary", type: "button", onclick: close }, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}
