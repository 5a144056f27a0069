// What stands around every page: where one can go, with the lanes and how they are; whether it is live; who is signed in.

import { leave, may, seesLanes, segment, session } from "./api.js";
import { h, put, say } from "./dom.js";
import { icon } from "./icons.js";
import { help } from "./keys.js";
import { watch } from "./live.js";
import { healthTone } from "./parts.js";
import { attempt } from "./toast.js";
import { rows } from "./words.js";

const link = (href, picture, text) => h("a", { href }, icon(picture), text);

/** Builds the side; what a role may not see is not offered. */
export function shell() {
  const lanes = h("div", { class: "group", hidden: true }, h("h2", {}, "Lanes"));
  put(
    document.getElementById("nav"),
    seesLanes() && link("#/", "overview", "Overview"),
    lanes,
    h(
      "div",
      { class: "group" },
      h("h2", {}, "Webhooks"),
      link("#/jobs", "jobs", "Jobs"),
      link("#/events", "events", "Events"),
      link("#/subscriptions", "subscriptions", "Subscriptions"),
      link("#/pools", "pools", "Pools"),
      may("operator") && link("#/accounts", "accounts", "Service accounts"),
    ),
    h(
      "div",
      { class: "group" },
      h("h2", {}, "Operate"),
      seesLanes() && link("#/check", "check", "Check"),
      may("admin") && [link("#/keys", "keys", "API keys"), link("#/audit", "audit", "Audit log")],
    ),
  );
  const signOut = () => attempt(leave);
  put(
    document.getElementById("who"),
    h("span", { class: "name" }, session.keyName || "key"),
    h("span", { class: "soft" }, session.role),
  );
  put(document.getElementById("tools"), theme(), tool("Keyboard shortcuts", "help", help), tool("Sign out", "leave", signOut));
  drawer();
  // Its address would lead away from the page.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("content").focus();
  });
  if (seesLanes()) watch((seen) => list(lanes, seen.lanes));
}

const tool = (label, picture, onclick) =>
  h("button", { type: "button", class: "bare", "aria-label": label, title: label, onclick }, icon(picture));

/** The lanes, each with a dot for its health and how many rows wait. */
function list(group, lanes) {
  group.hidden = !lanes.length;
  for (const lane of lanes) {
    const href = `#/lanes/${segment(lane.name)}`;
    let line = [...group.querySelectorAll("a")].find((one) => one.getAttribute("href") === href);
    if (!line) {
      line = h(
        "a",
        { href },
        h("span", { class: "dot" }),
        h("span", { class: "name" }, lane.name),
        h("span", { class: "count" }),
        h("span", { class: "unseen" }),
      );
      group.append(line);
      mark();
    }
    const [dot, , count, health] = line.children;
    dot.className = `dot ${healthTone(lane.health)}`;
    say(count, lane.backlog.rows ? rows(lane.backlog.rows, lane.backlog.more) : "");
    say(health, `, ${lane.health.replaceAll("_", " ")}`);
  }
}

let top = "/";

/** Says where one is. */
export function here(path) {
  const lane = /^\/lanes\/[^/]+/.exec(path)?.[0];
  top = lane ?? (path === "/" ? "/" : `/${path.split("/")[1]}`);
  mark();
  flip(false);
}

/** Lanes may be known only later. */
function mark() {
  for (const one of document.querySelectorAll("#nav a")) {
    if (one.getAttribute("href") === `#${top}`) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
}

const LIVE = { connecting: "connecting", live: "live", reconnecting: "reconnecting" };

export function live(state) {
  for (const node of document.querySelectorAll(".live")) {
    node.dataset.state = state;
    say(node, LIVE[state]);
  }
}

/** Light, dark, or as the system has it. */
function theme() {
  const root = document.documentElement;
  const next = { undefined: "dark", dark: "light", light: undefined };
  const told = () => {
    const text = `Theme: ${root.dataset.theme ?? "system"}`;
    button.title = text;
    button.setAttribute("aria-label", text);
  };
  const button = tool("Theme", "theme", () => {
    const chosen = next[root.dataset.theme];
    if (chosen) {
      root.dataset.theme = chosen;
      localStorage.setItem("theme", chosen);
    } else {
      delete root.dataset.theme;
      localStorage.removeItem("theme");
    }
    told();
  });
  told();
  return button;
}

function flip(open) {
  document.body.classList.toggle("menu", open);
  document.getElementById("menu").setAttribute("aria-expanded", String(document.body.classList.contains("menu")));
}

/** On a phone the side is a drawer. */
function drawer() {
  const button = document.getElementById("menu");
  put(button, icon("menu"));
  button.addEventListener("click", () => flip());
  document.getElementById("shade").addEventListener("click", () => flip(false));
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") flip(false);
  });
}
