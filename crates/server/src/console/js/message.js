// The message of a row: a mail as its recipient sees it, a request, or a record.
//
// The HTML of a mail is untrusted. It is shown in a sandboxed frame: no script, no form, no request, no access to this
// page.

import { source } from "./api.js";
import { h, setChildren } from "./dom.js";
import { icon } from "./icons.js";
import { code, empty, facts, long, notice, section } from "./components.js";
import { pretty } from "./format.js";

const TITLES = { mail: "Mail", http: "Request", record: "Record" };
const MAX_SOURCE_CHARS = 200_000;

const pairs = (list) => (list ?? []).map(({ name, value }) => [h("code", {}, name), h("code", {}, long(value, name))]);

const PEOPLE = ["From", "To", "Cc", "Reply-To"];
const people = (headers) =>
  PEOPLE.map((name) => [name, headers?.find((header) => header.name.toLowerCase() === name.toLowerCase())?.value]);

export function message(path, content) {
  if (!content || content.kind === "none") {
    return section("Message", empty("Not available", content?.problem ?? "The message of this row is not known."));
  }
  return section(TITLES[content.kind] ?? "Message", [
    content.problem && notice("bad", content.problem),
    facts([
      ["Subject", content.subject && long(content.subject, "Subject")],
      ...(content.kind === "mail" ? people(content.headers) : []),
      ...(content.facts ?? []).map(({ name, value }) => [name, value && long(value, name)]),
    ]),
    content.kind === "mail" ? mail(path, content) : payload(content),
    content.cut && h("p", { class: "hint" }, "Only the beginning is shown."),
  ]);
}

const payload = (content) => [
  content.headers?.length > 0 && [h("h3", {}, "Headers"), facts(pairs(content.headers), "wide")],
  typeof content.payload === "string" && [h("h3", {}, "Payload"), code(pretty(content.payload), "Payload")],
];

function mail(path, content) {
  const views = {
    Rendered: () =>
      h("iframe", { class: "mail", sandbox: "", title: "Preview of the mail", src: `/api/v1${path}/mail.html` }),
    Text: () => (content.text ? code(content.text, "Text") : empty("No text part", "This mail has no plain-text version.")),
    Source: () => original(`${path}/mail.eml`),
    Headers: () => facts(pairs(content.headers), "wide"),
  };
  const available = { Rendered: content.html, Text: true, Source: true, Headers: content.headers?.length };
  const names = Object.keys(views).filter((name) => available[name]);
  const view = h("div", { class: "view" });
  const tabs = h(
    "div",
    { class: "tabs", role: "group", "aria-label": "View" },
    names.map((name) => h("button", { type: "button", onclick: () => open(name) }, name)),
  );
  function open(name) {
    for (const one of tabs.children) one.setAttribute("aria-pressed", String(one.textContent === name));
    setChildren(view, views[name]());
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
      setChildren(
        frame,
        code(text.slice(0, MAX_SOURCE_CHARS), "Source"),
        text.length > MAX_SOURCE_CHARS && h("p", { class: "hint" }, "Only the beginning is shown. Download the message to see all of it."),
      ),
    (error) => setChildren(frame, h("p", { class: "mistake" }, error.message)),
  );
  return frame;
}
