// Where one is, and what is shown there.

import { enter, follow, leave, session } from "./api.js";
import { h, toast } from "./dom.js";
import { overview } from "./overview.js";
import { lane } from "./lane.js";
import { row } from "./row.js";
import { job, jobs } from "./jobs.js";
import { accounts, events, pools, subscriptions } from "./hub.js";
import { check } from "./check.js";
import { keys } from "./keys.js";

const PAGES = [
  ["#/", "Overview"], ["#/jobs", "Jobs"], ["#/events", "Events"], ["#/subscriptions", "Subscriptions"],
  ["#/pools", "Pools"], ["#/accounts", "Accounts"], ["#/check", "Check"],
];

const ROUTES = [
  [/^\/$/, overview], [/^\/lanes\/([^/]+)$/, lane], [/^\/lanes\/([^/]+)\/rows\/([^/]+)$/, row],
  [/^\/jobs$/, jobs], [/^\/jobs\/([^/]+)$/, job], [/^\/events$/, events], [/^\/subscriptions$/, subscriptions],
  [/^\/pools$/, pools], [/^\/accounts$/, accounts], [/^\/check$/, check],
];

const content = document.getElementById("content");
/** What the page shown now wants to hear: new overviews, and its end. */
let page = {};
let latest = null;

async function show() {
  const [path, search = ""] = location.hash.replace(/^#/, "").split("?");
  const found = ROUTES.map(([form, open]) => [form.exec(path || "/"), open]).find(([match]) => match);
  page.end?.();
  page = {};
  for (const link of document.querySelectorAll("#nav a")) {
    const here = link.getAttribute("href") === `#${path || "/"}`;
    if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  if (!found) return content.replaceChildren(h("h1", {}, "There is nothing here"), h("a", { href: "#/" }, "To the overview"));
  const mine = (page = {});
  content.setAttribute("aria-busy", "true");
  try {
    const parts = found[0].slice(1).map(decodeURIComponent);
    const body = await found[1]({ page: mine, parameters: new URLSearchParams(search) }, ...parts);
    if (page !== mine) return;
    content.replaceChildren(...[body].flat(Infinity).filter(Boolean));
    document.title = `${content.querySelector("h1")?.textContent ?? "Postrider"} · Postrider`;
    if (latest) mine.overview?.(latest);
  } catch (error) {
    if (page === mine) content.replaceChildren(h("h1", {}, "That did not work"), h("p", { class: "notice bad" }, error.message));
  } finally {
    content.removeAttribute("aria-busy");
  }
}

function hear(overview) {
  const live = document.getElementById("live");
  live.className = overview ? "live" : "live off";
  live.textContent = overview ? "live" : "no connection";
  if (!overview) return;
  latest = overview;
  page.overview?.(overview);
}

function theme() {
  const button = document.getElementById("theme");
  const apply = (name) => {
    if (name) document.documentElement.dataset.theme = name; else delete document.documentElement.dataset.theme;
    button.textContent = { light: "☀", dark: "☾" }[name] ?? "◐";
    button.title = `Colours: ${name ?? "as the system has them"}`;
  };
  const order = { light: "dark", dark: undefined, undefined: "light" };
  apply(localStorage.getItem("theme") ?? undefined);
  button.onclick = () => {
    const next = order[document.documentElement.dataset.theme];
    if (next) localStorage.setItem("theme", next); else localStorage.removeItem("theme");
    apply(next);
  };
}

async function start() {
  await enter();
  document.getElementById("nav").append(...PAGES.map(([href, name]) => h("a", { href }, name)));
  document.getElementById("who").append(`${session.name || "key"} · ${session.role} `,
    h("button", { class: "quiet", type: "button", onclick: leave }, "Sign out"));
  theme();
  keys({ again: show, page: () => page });
  addEventListener("hashchange", () => { content.focus({ preventScroll: true }); show(); });
  await show();
  follow(hear);
}

start().catch((error) => toast(error.message, "bad"));
