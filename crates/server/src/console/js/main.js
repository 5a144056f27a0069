// Routing: shows the page of the current address.
//
// Owns: the addresses and the life cycle of a page. A page gets `{ parameters, live, ends, find }`: the parameters of its
// address, the overviews while it is shown, a way to register what runs at its end, and a place to name its search.

import { loadSession, maySeeLanes } from "./api.js";
import { reloadPage, h, setChildren } from "./dom.js";
import { shortcuts } from "./shortcuts.js";
import { openStream, watch } from "./overview_stream.js";
import { empty, failure } from "./components.js";
import { buildNavigation, setCurrentPage, showConnection } from "./navigation.js";
import { accounts } from "./accounts.js";
import { apiKeys } from "./api_keys.js";
import { audit } from "./audit.js";
import { check } from "./check.js";
import { event, events } from "./events.js";
import { job } from "./job.js";
import { jobs } from "./jobs.js";
import { lane } from "./lane.js";
import { overview } from "./overview.js";
import { pools } from "./pools.js";
import { row } from "./row.js";
import { subscriptions } from "./subscriptions.js";

const ROUTES = [
  ["/", overview],
  ["/lanes/:", lane],
  ["/lanes/:/rows/:", row],
  ["/jobs", jobs],
  ["/jobs/:", job],
  ["/events", events],
  ["/events/:", event],
  ["/subscriptions", subscriptions],
  ["/pools", pools],
  ["/accounts", accounts],
  ["/keys", apiKeys],
  ["/audit", audit],
  ["/check", check],
].map(([path, open]) => [new RegExp(`^${path.replaceAll(":", "([^/]+)")}$`), open]);

const content = document.getElementById("content");
let page = null;

function address() {
  const [path, search = ""] = location.hash.replace(/^#/, "").split("?");
  const start = maySeeLanes() ? "/" : "/jobs";
  return { path: path && path !== "/" ? path : start, parameters: new URLSearchParams(search) };
}

async function show() {
  page?.ends.forEach((end) => end());
  const mine = (page = { ends: [], find: () => {} });
  const { path, parameters } = address();
  const found = ROUTES.map(([form, open]) => [form.exec(path), open]).find(([match]) => match);
  setCurrentPage(path);
  content.setAttribute("aria-busy", "true");
  const given = {
    parameters,
    live: (seen) => {
      if (page === mine) mine.ends.push(watch(seen));
    },
    ends: (end) => {
      if (page === mine) mine.ends.push(end);
      else end();
    },
    find: (focus) => {
      mine.find = focus;
    },
  };
  try {
    const body = found ? await found[1](given, ...found[0].slice(1).map(decodeURIComponent)) : notFound();
    if (page !== mine) return;
    setChildren(content, body);
    document.title = `${content.querySelector("h1")?.textContent ?? "Console"} · Postrider`;
  } catch (error) {
    if (page === mine) setChildren(content, errorPage(path, error));
  } finally {
    if (page === mine) content.removeAttribute("aria-busy");
  }
}

/** The error page; for an object that does not exist, with a link to the list. */
function errorPage(path, error) {
  if (error.status !== 404) return [h("h1", { class: "unseen" }, "Error"), failure(error, reloadPage)];
  const [lane] = /^\/lanes\/[^/]+(?=\/rows\/)/.exec(path) ?? [path.startsWith("/lanes/") ? "/" : path.replace(/\/[^/]*$/, "")];
  return [
    h("h1", {}, decodeURIComponent(path.split("/").at(-1))),
    failure(error),
    h("p", {}, h("a", { href: `#${lane}` }, lane === "/" ? "Go to the overview" : "Go to the list")),
  ];
}

const notFound = () => [
  h("h1", { class: "unseen" }, "Not found"),
  empty("Page not found", h("a", { href: "#/" }, "Go to the overview")),
];

async function start() {
  await loadSession();
  buildNavigation();
  shortcuts(() => page.find(), show);
  let last = location.hash;
  addEventListener("hashchange", () => {
    if (location.hash.split("?")[0] !== last.split("?")[0]) {
      scrollTo(0, 0);
      content.focus({ preventScroll: true });
    }
    last = location.hash;
    show();
  });
  if (maySeeLanes()) openStream(showConnection);
  await show();
}

/** Starts the console; retries while the database is not available. */
function startWithRetry() {
  start().catch((error) => {
    if (error.status !== 401) setChildren(content, h("h1", { class: "unseen" }, "Error"), failure(error, startWithRetry));
  });
}

startWithRetry();
