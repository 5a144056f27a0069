// What a row carries: a mail as its reader sees it, a request, a record.
//
// A mail's HTML is foreign. It is shown by the server's own page in a frame without any right: no script, no form, no
// request, no way to this page.

import { source } from "./api.js";
import { h, put } from "./dom.js";
import { icon } from "./icons.js";
import { code, empty, facts, long, notice, section } from "./parts.js";
import { pretty } from "./words.js";

const TITLES = { mail: "Mail", http: "Request", record: "Record" };
const MOST = 200_000;

const pairs = (list) => (list ?? []).map(({ name, value }) => [h("code", {}, name), h("code", {}, long(value, name))]);

const PEOPLE = ["From", "To", "Cc", "Reply-To"];
const people = (headers) =>
  PEOPLE.map((name) => [name, headers?.find((header) => header.name.toLowerCase() === name.toLowerCase())?.value]);

export function message(path, carried) {
  if (!carried || carried.kind === "none") {
    return section("Message", empty("Not available", carried?.problem ?? "The message of this row is not known."));
  }
  return section(TITLES[carried.kind] ?? "Message", [
    carried.problem && notice("bad", carried.problem),
    facts([
      ["Subject", carried.subject && long(carried.subject, "Subject")],
      ...(carried.kind === "mail" ? people(carried.headers) : []),
      ...(carried.facts ?? []).map(({ name, value }) => [name, value && long(value, name)]),
    ]),
    carried.kind === "mail" ? mail(path, carried) : payload(carried),
    carried.cut && h("p", { class: "hint" }, "Only the beginning is shown."),
  ]);
}

const payload = (carried) => [
  carried.headers?.length > 0 && [h("h3", {}, "Headers"), facts(pairs(carried.headers), "wide")],
  typeof carried.payload === "string" && [h("h3", {}, "Payload"), code(pretty(carried.payload), "Payload")],
];

function mail(path, carried) {
  const views = {
    Rendered: () =>
      h("iframe", { class: "mail", sandbox: "", title: "Preview of the mail", src: `/api/v1${path}/mail.html` }),
    Text: () => (carried.text ? code(carried.text, "Text") : empty("No text part", "This mail has no plain-text version.")),
    Source: () => original(`${path}/mail.eml`),
    Headers: () => facts(pairs(carried.headers), "wide"),
  };
  const there = { Rendered: carried.html, Text: true, Source: true, Headers: carried.headers?.length };
  const names = Object.keys(views).filter((name) => there[name]);
  const view = h("div", { class: "view" });
  const tabs = h(
    "div",
    { class: "tabs", role: "group", "aria-label": "View" },
    names.map((name) => h("button", { type: "button", onclick: () => open(name) }, name)),
  );
  function open(name) {
    for (const one of tabs.children) one.setAttribute("aria-pressed", String(one.textContent === name));
    put(view, views[name]());
  }
  open(names[0]);
  return [
    h(
      "div",
      { class: "bar" },
      tabs,
      h("a", { class: "button small", href: `/api/v1${path}/mail.eml`, download: "" }, icon("download"), ".eml"),
    ),
    view,
  ];
}

function original(path) {
  const frame = h("div", {}, h("p", { class: "soft" }, "Loading…"));
  source(path).then(
    (text) =>
      put(
        frame,
        code(text.slice(0, MOST), "Source"),
        text.length > MOST && h("p", { class: "hint" }, "Only the beginning is shown. Download the message to see all of it."),
      ),
    (error) => put(frame, h("p", { class: "mistake" }, error.message)),
  );
  return frame;
}
