// Webhook jobs: found by what they are about, with every attempt.

import { get, may, post, segment } from "./api.js";
import { confirm, h, state, table, toast } from "./dom.js";
import { timeline } from "./row.js";
import { moment } from "./words.js";

const ROLES = { COMPLETED: "delivered", ERROR: "dead", IN_PROGRESS: "claimed" };
const STATES = ["", "PENDING", "QUEUED", "IN_PROGRESS", "COMPLETED", "ERROR", "CANCELLED"];

export async function jobs({ page, parameters }) {
  const results = h("div", {});
  const field = (name, label) => h("input", { name, type: "search", placeholder: label, "aria-label": label, value: parameters.get(name) ?? "", maxlength: 255 });
  const form = h("form", { class: "row", role: "search", onsubmit: (event) => { event.preventDefault(); look(); } },
    h("select", { name: "status", "aria-label": "Status" }, STATES.map((one) => h("option", { value: one, selected: one === parameters.get("status") }, one || "any status"))),
    field("code", "code"), field("clientId", "client"), field("subscriptionId", "subscription"), field("messageGroup", "group"),
    h("button", { class: "primary" }, "Find"));

  async function look(cursor) {
    try {
      const found = await get("/dispatch-jobs", { ...Object.fromEntries(new FormData(form)), cursor });
      const sheet = table([
        ["Id", "mono", (job) => h("a", { href: `#/jobs/${job.id}` }, job.id)],
        ["Status", "", (job) => state(job.status, ROLES[job.status])],
        ["Code", "text", (job) => job.code],
        ["Target", "text", (job) => job.targetUrl],
        ["Attempts", "number", (job) => job.attemptCount],
        ["Created", "time", (job) => moment(job.createdAt)],
        ["Error", "text", (job) => job.lastError && h("span", { title: job.lastError }, job.lastError)],
      ], found.items, (job) => ({ "data-href": `#/jobs/${job.id}` }));
      const more = found.nextCursor && h("button", { type: "button", onclick: () => look(found.nextCursor) }, "Next page");
      results.replaceChildren(sheet, h("div", { class: "row end" }, more));
    } catch (error) { results.replaceChildren(h("p", { class: "notice bad" }, error.message)); }
  }

  page.find = () => form.elements.code.focus();
  await look();
  return [h("h1", {}, "Jobs"), form, h("p", {}), results];
}

const TITLES = { retry: "Try again", cancel: "Cancel", complete: "Mark as completed" };
const VERBS = { ERROR: ["retry", "cancel", "complete"], PENDING: ["cancel"], QUEUED: ["cancel"], IN_PROGRESS: ["cancel"] };

export async function job(_, id) {
  const seen = await get(`/dispatch-jobs/${segment(id)}`);
  const act = (verb) => async () => {
    try {
      if (verb !== "retry" && !(await confirm(TITLES[verb], "This can't be taken back.", TITLES[verb], verb === "cancel" ? "danger" : "primary"))) return;
      await post(`/dispatch-jobs/${segment(id)}/${verb}`);
      toast("Done.");
      dispatchEvent(new HashChangeEvent("hashchange"));
    } catch (error) { toast(error.message, "bad"); }
  };
  const facts = [["Target", seen.targetUrl], ["Code", seen.code], ["Subject", seen.subject], ["Client", seen.clientId], ["Mode", seen.mode], ["Group", seen.messageGroup],
    ["Pool", seen.dispatchPoolId], ["Account", seen.serviceAccountId], ["Next attempt", moment(seen.nextAttemptAt)], ["Expires", moment(seen.expiresAt)],
    ...seen.metadata.map((one) => [one.key, one.value])].filter(([, value]) => value);
  return [
    h("h1", {}, h("a", { href: "#/jobs" }, "Jobs"), h("span", { class: "mono" }, id), state(seen.status, ROLES[seen.status]),
      may("operator") && (VERBS[seen.status] ?? []).map((verb) => h("button", { type: "button", class: verb === "cancel" ? "danger" : "", onclick: act(verb) }, TITLES[verb]))),
    seen.lastError && h("p", { class: `notice ${seen.status === "COMPLETED" ? "warn" : "bad"}` }, seen.lastError),
    h("h2", {}, "Attempts"), timeline(seen.attempts.map(told)),
    h("h2", {}, "Request"), h("div", { class: "card" },
      h("dl", { class: "facts" }, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]), Object.entries(seen.headers).map(([name, value]) => [h("dt", { class: "mono" }, name), h("dd", { class: "mono" }, value)])),
      h("p", {}), h("pre", { tabindex: 0 }, pretty(seen.payload, seen.payloadContentType))),
  ].filter(Boolean);
}

const told = (attempt) => ({
  at: attempt.attemptedAt, tone: attempt.status === "SUCCESS" ? "good" : "bad",
  what: `Attempt ${attempt.attemptNumber}: ${[attempt.responseCode, attempt.status?.replaceAll("_", " ").toLowerCase()].filter(Boolean).join(" ")}`,
  detail: [attempt.durationMillis !== null && `${attempt.durationMillis} ms`, attempt.errorMessage].filter(Boolean).join(" · "),
  body: attempt.responseBody || attempt.errorStackTrace || undefined,
});

function pretty(payload, type) {
  if (!payload || !(type ?? "").includes("json")) return payload ?? "";
  try { return JSON.stringify(JSON.parse(payload), null, 2); } catch { return payload; }
}
