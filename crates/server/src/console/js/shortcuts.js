// Keyboard shortcuts: open every page and move through every list without a mouse.

import { may, maySeeLanes } from "./api.js";
import { h } from "./dom.js";
import { dialog } from "./dialog.js";

const GO = {
  o: ["#/", "overview", maySeeLanes],
  j: ["#/jobs", "jobs"],
  e: ["#/events", "events"],
  s: ["#/subscriptions", "subscriptions"],
  p: ["#/pools", "pools"],
  a: ["#/accounts", "service accounts", () => may("operator")],
  c: ["#/check", "check", maySeeLanes],
  k: ["#/keys", "API keys", () => may("admin")],
  l: ["#/audit", "audit log", () => may("admin")],
};
/** Pages that the user may not open have no shortcut. */
const isAllowed = ([, , allowed = () => true]) => allowed();
const HELP = [
  ["/", "search"],
  ["j", "next row"],
  ["k", "previous row"],
  ["Enter", "open the row"],
  ["x", "select the row"],
  ["r", "refresh"],
  ["Esc", "close a dialog"],
  ["?", "this help"],
];

/** Handles key presses; `find` focuses the search of the page, `reload` renders the page again. */
export function shortcuts(find, reload) {
  let going = false;
  addEventListener("keydown", (event) => {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.target.closest("input:not([type=checkbox]), textarea, select, dialog")
    )
      return;
    const go = going && GO[event.key] && isAllowed(GO[event.key]) && GO[event.key];
    going = event.key === "g" && !going;
    const act = go
      ? () => {
          location.hash = go[0];
        }
      : { "/": find, "?": help, r: reload, j: () => moveFocus(1), k: () => moveFocus(-1), x: select }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

const links = () => [...document.querySelectorAll("main tbody a.open, main a.card-link")];
const current = () => document.activeElement?.closest("tr, article")?.querySelector("a.open, a.card-link");

function moveFocus(by) {
  const all = links();
  const at = all.indexOf(current());
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

const select = () => document.activeElement?.closest("tr")?.querySelector("input[type=checkbox]")?.click();

export function help() {
  const line = (keys, text) =>
    h(
      "div",
      {},
      h(
        "dt",
        {},
        keys.map((key) => h("kbd", {}, key)),
      ),
      h("dd", {}, text),
    );
  dialog("Keyboard shortcuts", (close) => [
    h(
      "div",
      { class: "keys" },
      h(
        "dl",
        {},
        HELP.map(([key, text]) => line([key], text)),
      ),
      h(
        "dl",
        {},
        Object.entries(GO).filter(([, page]) => isAllowed(page)).map(([key, [, text]]) => line(["g", key], text)),
      ),
    ),
    h("div", { class: "buttons" }, h("button", { class: "primary", type: "button", onclick: close }, "Close")),
  ]);
}
