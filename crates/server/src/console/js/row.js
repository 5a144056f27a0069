// One row: why it waits, what happened to it, and what it carries.

import { get, may, post, segment } from "./api.js";
import { h, state, toast } from "./dom.js";
import { moment } from "./words.js";

export async function row(_, lane, id) {
  const here = `/lanes/${segment(lane)}/rows/${segment(id)}`;
  const seen = await get(here);
  return [
    h("h1", {}, h("a", { href: `#/lanes/${segment(lane)}` }, lane), h("span", { class: "mono" }, id), state(seen.state ?? "?", seen.role), may("operator") && verbs(lane, seen)),
    seen.waiting && h("p", { class: "notice warn" }, seen.waiting),
    h("h2", {}, "What happened"), timeline(seen.timeline),
    message(here, seen.message),
    h("h2", {}, "Columns"),
    h("div", { class: "card" }, h("dl", { class: "facts" }, seen.columns.map(({ name, value }) => [h("dt", { class: "mono" }, name), h("dd", { class: "mono" }, value ?? h("span", { class: "faint" }, "NULL"))]))),
  ].filter(Boolean);
}

function verbs(lane, seen) {
  const act = (verb) => async () => {
    try {
      const done = await post(`/lanes/${segment(lane)}/${verb}`, { ids: [seen.id] });
      toast(done.rows ? "Done." : "Nothing moved: the row is in another state by now.", done.rows ? "good" : "warn");
      dispatchEvent(new HashChangeEvent("hashchange"));
    } catch (error) { toast(error.message, "bad"); }
  };
  return seen.verbs.map((verb) => h("button", { type: "button", class: verb.name === "cancel" ? "danger" : "", onclick: act(verb.name) }, verb.title));
}

/** Attempts and moves, oldest first. */
export function timeline(moves) {
  if (!moves?.length) return h("p", { class: "faint" }, "Nothing yet.");
  return h("ol", { class: "timeline" }, moves.map((move) => h("li", { class: move.tone },
    h("div", {}, h("b", {}, move.what), " ", h("span", { class: "faint" }, moment(move.at))),
    move.detail && h("div", {}, move.detail), move.body && h("pre", {}, move.body))));
}

function message(here, carried) {
  if (!carried) return null;
  if (carried.kind === "mail") return mail(here, carried);
  return [h("h2", {}, carried.kind === "webhook" ? "Request" : "Record"), h("div", { class: "card" },
    h("dl", { class: "facts" }, carried.facts.map(({ name, value }) => [h("dt", {}, name), h("dd", { class: "mono" }, value)])),
    carried.payload !== undefined && h("pre", {}, carried.payload))];
}

function mail(here, carried) {
  const views = {
    Rendered: () => h("iframe", { class: "mail", sandbox: "", title: "The mail as a reader sees it", src: `/api/v1${here}/mail.html` }),
    Text: () => h("pre", {}, carried.text ?? ""),
    Source: () => { const pre = h("pre", {}, "Loading…"); source(here).then((text) => { pre.textContent = text; }, (error) => { pre.textContent = error.message; }); return pre; },
  };
  const view = h("div", {});
  const tabs = h("div", { class: "tabs", role: "tablist" }, Object.keys(views).map((name) => h("button", { type: "button", role: "tab", "aria-selected": "false", onclick: () => open(name) }, name)));
  const download = h("a", { class: "button", href: `/api/v1${here}/mail.eml`, download: "" }, "Download .eml");
  function open(name) {
    for (const tab of tabs.querySelectorAll("[role=tab]")) tab.setAttribute("aria-selected", String(tab.textContent === name));
    view.replaceChildren(views[name]());
  }
  open("Rendered");
  return [h("h2", {}, "Mail"), h("div", { class: "card" },
    h("dl", { class: "facts" }, carried.facts.map(({ name, value }) => [h("dt", {}, name), h("dd", {}, value)])), h("p", {}), h("div", { class: "row" }, tabs, download), view)];
}

async function source(here) {
  const answer = await fetch(`/api/v1${here}/mail.eml`, { credentials: "same-origin" });
  return (await answer.text()).slice(0, 200_000);
}
