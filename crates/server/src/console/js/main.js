// Where one is, and what is shown there.
//
// Owns: the addresses and the life of a page. A page gets `{ parameters, live, ends, find }`: the parameters of its
// address, the overviews while it is shown, a way to register what runs at its end, and a place to name its search.

import { enter, seesLanes } from "./api.js";
import { again, h, put } from "./dom.js";
import { keys } from "./keys.js";
import { follow, watch } from "./live.js";
import { empty, failure } from "./parts.js";
import { here, live, shell } from "./shell.js";
import { accounts } from "./accounts.js";
import { apikeys } from "./apikeys.js";
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
  ["/keys", apikeys],
  ["/audit", audit],
  ["/check", check],
].map(([path, open]) => [new RegExp(`^${path.replaceAll(":", "([^/]+)")}$`), open]);

const content = document.getElementById("content");
let page = null;

function address() {
  const [path, search = ""] = location.hash.replace(/^#/, "").split("?");
  const start = seesLanes() ? "/" : "/jobs";
  return { path: path && path !== "/" ? path : start, parameters: new URLSearchParams(search) };
}

async function show() {
  page?.ends.forEach((end) => end());
  const mine = (page = { ends: [], find: () => {} });
  const { path, parameters } = address();
  const found = ROUTES.map(([form, open]) => [form.exec(path), open]).find(([match]) => match);
  here(path);
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
    const body = found ? await found[1](given, ...found[0].slice(1).map(decodeURIComponent)) : nowhere();
    if (page !== mine) return;
    put(content, body);
    document.title = `${content.querySelector("h1")?.textContent ?? "Console"} · Postrider`;
  } catch (error) {
    if (page === mine) put(content, missed(path, error));
  } finally {
    if (page === mine) content.removeAttribute("aria-busy");
  }
}

/** Of a thing that is not there, its name and the way to the others. */
function missed(path, error) {
  if (error.status !== 404) return [h("h1", { class: "unseen" }, "Error"), failure(error, again)];
  const [lane] = /^\/lanes\/[^/]+(?=\/rows\/)/.exec(path) ?? [path.startsWith("/lanes/") ? "/" : path.replace(/\/[^/]*$/, "")];
  return [
    h("h1", {}, decodeURIComponent(path.split("/").at(-1))),
    failure(error),
    h("p", {}, h("a", { href: `#${lane}` }, lane === "/" ? "Go to the overview" : "Go to the list")),
  ];
}

const nowhere = () => [
  h("h1", { class: "unseen" }, "Not found"),
  empty("Page not found", h("a", { href: "#/" }, "Go to the overview")),
];

async function start() {
  await enter();
  shell();
  keys(() => page.find(), show);
  let last = location.hash;
  addEventListener("hashchange", () => {
    if (location.hash.split("?")[0] !== last.split("?")[0]) {
      scrollTo(0, 0);
      content.focus({ preventScroll: true });
    }
    last = location.hash;
    show();
  });
  if (seesLanes()) follow(live);
  await show();
}

/** A database that is away when the page is opened is waited for. */
function begin() {
  start().catch((error) => {
    if (error.status !== 401) put(content, h("h1", { class: "unseen" }, "Error"), failure(error, begin));
  });
}

begin();
