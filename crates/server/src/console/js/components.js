// Components that pages share: badges, times, lists of facts, texts to copy, and placeholders of empty lists.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { toast } from "./toast.js";
import { ago, moment } from "./format.js";

const HEALTH = { running: "good", paused: "warn", starting: "busy", draining: "busy", stopped: "" };
export const healthTone = (name) => HEALTH[name] ?? "bad";

const ROLES = { ready: "due", claimed: "busy", delivered: "good", failed: "bad" };
export const roleTone = (role) => ROLES[role] ?? "";

/** A coloured badge with a text: never a colour alone. */
export const badge = (text, tone = "") => h("span", { class: `mark ${tone}` }, text);

export const health = (name) => badge(name.replaceAll("_", " "), healthTone(name));

/** A time: how long ago, the exact moment on hover. */
export function when(text) {
  if (!text) return null;
  return h("time", { datetime: text, title: moment(text) }, ago(text));
}

setInterval(() => {
  for (const time of document.querySelectorAll("time[datetime]")) time.textContent = ago(time.dateTime);
}, 10_000);

/** Pairs of a name and a value; pairs without a value are left out. */
export function facts(pairs, kind = "") {
  const given = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return h(
    "dl",
    { class: `facts ${kind}` },
    given.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

/** A button that copies a text to the clipboard. */
export function copyButton(text, label = "Copy") {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied");
    } catch {
      toast("The browser does not allow copying here. Select the text and copy it.", { tone: "bad" });
    }
  };
  return h("button", { type: "button", class: "small", onclick: copy }, icon("copy"), label);
}

/** A text to read or copy, as it is. */
export const code = (text, label) =>
  h("div", { class: "code" }, h("pre", { tabindex: 0, role: "group", "aria-label": label }, text), copyButton(text));

export const button = (text, onclick, kind = "", picture = null) =>
  h("button", { type: "button", class: kind, onclick }, picture && icon(picture), text);

/** A notice about a problem, or information. */
export const notice = (tone, ...text) =>
  h("p", { class: `notice ${tone}` }, icon(tone === "good" ? "done" : tone === "wait" ? "wait" : "alert"), h("span", {}, text));

/** The placeholder of an empty list: what that means, and what to do. */
export const empty = (title, ...hint) => h("div", { class: "empty" }, icon("empty"), h("strong", {}, title), h("p", {}, hint));

const RETRY_DELAY = 5_000;

/** The message of a failed request. Errors of the server are retried automatically while the message is visible. */
export function failure(error, retry) {
  const refused = error.status === 403 || error.status === 404;
  const passing = retry && (error.status === 0 || error.status >= 500);
  const title = { 403: "Access denied", 404: "Not found" }[error.status] ?? "Something went wrong";
  const node = h(
    "div",
    { class: "empty", role: "alert" },
    icon("alert"),
    h("strong", {}, title),
    h("p", {}, error.message, error.status === 404 && ". It does not exist, or no longer exists."),
    passing && h("p", {}, "Retrying automatically…"),
    retry && !refused && button("Retry", retry),
  );
  if (passing) setTimeout(() => node.isConnected && retry(), RETRY_DELAY);
  return node;
}

const LONG = 600;

/** A text that may be very long: a long one gets its own scrollable box. */
export const long = (text, label) =>
  String(text ?? "").length > LONG ? h("span", { class: "long", tabindex: 0, role: "group", "aria-label": label }, text) : text;

/** The head of a page: breadcrumb, title and actions. */
export const heading = (title, { trail = [], marks = [], actions = [], under = null } = {}) =>
  h(
    "header",
    { class: "heading" },
    trail.length > 0 &&
      h(
        "nav",
        { class: "trail", "aria-label": "Breadcrumb" },
        trail.map(([href, text]) => h("a", { href }, text)),
      ),
    h("div", { class: "title" }, h("h1", {}, title), marks, h("div", { class: "actions" }, actions)),
    under && h("p", { class: "under" }, under),
  );

/** A part of a page with a name. */
export const section = (title, body, { actions = [], kind = "" } = {}) =>
  h("section", { class: `card ${kind}` }, h("div", { class: "bar" }, h("h2", {}, title), actions), body);

/** One search input for each [name, label], as long as a name may be. */
export const inputs = (fields, filter, longest) =>
  fields.map(([name, label]) =>
    h("input", {
      name,
      type: "search",
      placeholder: label,
      "aria-label": label,
      value: filter[name] ?? "",
      maxlength: longest,
      spellcheck: "false",
    }),
  );
