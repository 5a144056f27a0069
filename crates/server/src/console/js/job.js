// One webhook job: the request, every answer, and what may be done with it.

import { get, may, post, segment } from "./api.js";
import { confirm } from "./dialog.js";
import { again, h } from "./dom.js";
import { status } from "./jobs.js";
import { button, code, facts, heading, notice, section, when } from "./parts.js";
import { timeline } from "./row.js";
import { attempt, toast } from "./toast.js";
import { pretty } from "./words.js";

const VERBS = { ERROR: ["retry", "complete", "cancel"], PENDING: ["cancel"], QUEUED: ["cancel"], IN_PROGRESS: ["cancel"] };
const TITLES = { retry: "Retry", cancel: "Cancel", complete: "Mark as completed" };
const ASKED = {
  cancel: "It is never delivered. An attempt under way may still arrive. This can't be taken back.",
  complete: "You vouch for it: it counts as delivered, and is not tried again.",
};

export async function job(_, id) {
  const seen = await get(`/dispatch-jobs/${segment(id)}`);
  const verbs = may("operator") ? (VERBS[seen.status] ?? []) : [];
  return [
    heading(seen.id, {
      trail: [["#/jobs", "Jobs"]],
      marks: [status(seen)],
      under: seen.code,
      actions: verbs.map((verb) => button(TITLES[verb], act(seen.id, verb), { retry: "primary", cancel: "danger" }[verb])),
    }),
    seen.lastError && notice(seen.status === "ERROR" ? "bad" : "warn", seen.lastError),
    h(
      "div",
      { class: "split wide-left" },
      h("div", { class: "stack" }, section("Request", request(seen))),
      h(
        "div",
        { class: "stack" },
        section("Attempts", timeline((seen.attempts ?? []).map(told))),
        section("About it", facts(about(seen))),
      ),
    ),
  ];
}

const act = (id, verb) => () =>
  attempt(async () => {
    if (
      ASKED[verb] &&
      !(await confirm(`${TITLES[verb]}?`, ASKED[verb], TITLES[verb], verb === "cancel" ? "danger solid" : "primary"))
    )
      return;
    await post(`/dispatch-jobs/${segment(id)}/${verb}`);
    toast({ retry: "It goes again now.", cancel: "It is cancelled.", complete: "It counts as delivered." }[verb]);
    again();
  });

const request = (job) => [
  h("p", { class: "address" }, h("strong", {}, "POST "), job.targetUrl),
  Object.keys(job.headers ?? {}).length > 0 && [
    h("h3", {}, "Headers"),
    facts(
      Object.entries(job.headers).map(([name, value]) => [h("code", {}, name), h("code", {}, value)]),
      "wide",
    ),
  ],
  h("h3", {}, "Payload", h("span", { class: "soft" }, ` ${job.payloadContentType ?? ""}`)),
  job.payload ? code(pretty(job.payload), "Payload") : h("p", { class: "soft" }, "None, or not yours to see."),
];

const link = (path, id) => id && h("a", { href: `#/${path}/${segment(id)}` }, id);

const about = (job) => [
  ["Client", job.clientId],
  ["Subject", job.subject],
  ["Source", job.source],
  ["Event", link("events", job.eventId)],
  ["Subscription", job.subscriptionId],
  ["Group", job.messageGroup],
  ["Mode", job.mode],
  ["Pool", job.dispatchPoolId],
  ["Account", job.serviceAccountId],
  ["Correlation", job.correlationId],
  ["Attempts", job.maxRetries ? `${job.attemptCount} of ${job.maxRetries}` : job.attemptCount],
  ["Next attempt", when(job.nextAttemptAt)],
  ["Not before", when(job.scheduledFor)],
  ["Expires", when(job.expiresAt)],
  ["Created", when(job.createdAt)],
  ["Completed", when(job.completedAt)],
  ...(job.metadata ?? []).map((one) => [one.key, one.value]),
];

const told = (one) => ({
  at: one.attemptedAt,
  tone: one.status === "SUCCESS" ? "good" : "bad",
  what: `${one.attemptNumber}: ${[one.responseCode, one.status?.replaceAll("_", " ").toLowerCase()].filter(Boolean).join(" ")}`,
  detail: [one.durationMillis !== null && one.durationMillis !== undefined && `${one.durationMillis} ms`, one.errorMessage]
    .filter(Boolean)
    .join(" · "),
  body: one.responseBody || one.errorStackTrace || null,
});
