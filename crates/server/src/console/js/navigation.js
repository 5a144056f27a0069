// The frame of every page: navigation with the lanes and their health, the connection state, and the signed-in user.

import { signOut, may, maySeeLanes, encodePart, session } from "./api.js";
import { h, setChildren, setText } from "./dom.js";
import { icon } from "./icons.js";
import { help } from "./shortcuts.js";
import { watch } from "./overview_stream.js";
import { healthTone } from "./components.js";
import { attempt } from "./toast.js";
import { rows } from "./format.js";

const link = (href, picture, text) => h("a", { href }, icon(picture), text);

/** Builds the navigation; pages that a role may not see are left out. */
export function buildNavigation() {
  const lanes = h("div", { class: "group", hidden: true }, h("h2", {}, "Lanes"));
  setChildren(
    document.getElementById("nav"),
    maySeeLanes() && link("#/", "overview", "Overview"),
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
      maySeeLanes() && link("#/check", "check", "Check"),
      may("admin") && [link("#/keys", "keys", "API keys"), link("#/audit", "audit", "Audit log")],
    ),
  );
  setChildren(
    document.getElementById("who"),
    h("span", { class: "name" }, session.keyName || "key"),
    h("span", { class: "soft" }, session.role),
  );
  setChildren(document.getElementById("tools"), theme(), tool("Keyboard shortcuts", "help", help), tool("Sign out", "leave", () => attempt(signOut)));
  setUpDrawer();
  // Following the link would leave the page.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("content").focus();
  });
  if (maySeeLanes()) watch((seen) => showLanes(lanes, seen.lanes));
}

const tool = (label, picture, onclick) =>
  h("button", { type: "button", class: "bare", "aria-label": label, title: label, onclick }, icon(picture));

/** Shows the lanes, each with its health and the number of waiting rows. */
function showLanes(group, lanes) {
  group.hidden = !lanes.length;
  for (const lane of lanes) {
    const href = `#/lanes/${encodePart(lane.name)}`;
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
      markCurrent();
    }
    const [dot, , count, health] = line.children;
    dot.className = `dot ${healthTone(lane.health)}`;
    setText(count, lane.backlog.rows ? rows(lane.backlog.rows, lane.backlog.more) : "");
    setText(health, `, ${lane.health.replaceAll("_", " ")}`);
  }
}

let top = "/";

/** Marks the current page in the navigation. */
export function setCurrentPage(path) {
  const lane = /^\/lanes\/[^/]+/.exec(path)?.[0];
  top = lane ?? (path === "/" ? "/" : `/${path.split("/")[1]}`);
  markCurrent();
  toggleMenu(false);
}

/** Marks the link of the current page; called again when lanes are added. */
function markCurrent() {
  for (const one of document.querySelectorAll("#nav a")) {
    if (one.getAttribute("href") === `#${top}`) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
}

const LIVE = { connecting: "connecting", live: "live", reconnecting: "reconnecting" };

export function showConnection(state) {
  for (const node of document.querySelectorAll(".live")) {
    node.dataset.state = state;
    setText(node, LIVE[state]);
  }
}

/** The button that switches between light, dark and the system's theme. */
function theme() {
  const root = document.documentElement;
  const next = { undefined: "dark", dark: "light", light: undefined };
  const showTheme = () => {
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
    showTheme();
  });
  showTheme();
  return button;
}

function toggleMenu(open) {
  document.body.classList.toggle("menu", open);
  document.getElementById("menu").setAttribute("aria-expanded", String(document.body.classList.contains("menu")));
}

/** On a phone the navigation is a drawer. */
function setUpDrawer() {
  const button = document.getElementById("menu");
  setChildren(button, icon("menu"));
  button.addEventListener("click", () => toggleMenu());
  document.getElementById("shade").addEventListener("click", () => toggleMenu(false));
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") toggleMenu(false);
  });
}
