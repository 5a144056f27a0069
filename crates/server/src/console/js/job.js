// One webhook job: why it waits, the request, every answer, and what may be done with it; looked at again while it is seen.

import { get, may, peek, post, seesLanes, segment } from "./api.js";
import { story } from "./attempts.js";
import { confirm } from "./dialog.js";
import { again, h } from "./dom.js";
import { follow, part } from "./fresh.js";
import { status } from "./jobs.js";
import { laneOf } from "./live.js";
import { button, code, facts, heading, long, notice, section, when } from "./parts.js";
import { timeline } from "./timeline.js";
import { attempt, toast } from "./toast.js";
import { waiting } from "./waiting.js";
import { masked, pretty } from "./words.js";

const VERBS = { ERROR: ["retry", "complete", "cancel"], PENDING: ["cancel"], QUEUED: ["cancel"], IN_PROGRESS: ["cancel"] };
const TITLES = { retry: "Retry", cancel: "Cancel job", complete: "Mark as completed" };
const ASKED = {
  cancel: "The job will not be delivered. An attempt in progress may still arrive. This cannot be undone.",
  complete: "The job counts as delivered and is not retried.",
};
const ENDED = ["COMPLETED", "CANCELLED"];

export async function job(page, id) {
  const path = `/dispatch-jobs/${segment(id)}`;
  const parts = {
    head: part(head),
    wait: part(({ lane, row, lastError, status: now }) => [
      lastError && notice(now === "ERROR" && !row?.waiting ? "bad" : "warn", long(lastError, "Last error")),
      row && waiting(`/lanes/${segment(lane)}`, row),
    ]),
    request: part((seen) => section("Request", request(seen))),
    story: part(({ moves, none }) => section("Attempts", timeline(moves, none))),
    about: part((seen) => section("Details", facts(about(seen)))),
  };
  const show = async (seen) => {
    parts.head.show({ id: seen.id, status: seen.status, nextAttemptAt: seen.nextAttemptAt, code: seen.code });
    parts.request.show({ ...seen, attempts: null });
    parts.story.show({ moves: story(seen), none: untold(seen) });
    parts.about.show({ ...seen, attempts: null, payload: null });
    parts.wait.show(await standing(seen));
  };
  const first = await get(path);
  await show(first);
  follow(page, path, first, (seen) => !ENDED.includes(seen.status), show);
  return [
    parts.head.node,
    parts.wait.node,
    h(
      "div",
      { class: "split wide-left" },
      h("div", { class: "stack" }, parts.request.node),
      h("div", { class: "stack" }, parts.story.node, parts.about.node),
    ),
  ];
}

/** What to say where no attempt is on record. */
function untold({ status: now, attemptCount }) {
  if (attemptCount > 0) return "No attempt was recorded.";
  return ENDED.includes(now) ? "No attempt was made." : undefined;
}

/** Why it waits: its lane knows, for those who may see lanes. */
async function standing({ id, status: now, lastError }) {
  const lane = seesLanes() && !ENDED.includes(now) ? laneOf("dispatch_jobs") : null;
  const row = lane ? await peek(`/lanes/${segment(lane)}/rows/${segment(id)}`).catch(() => null) : null;
  const told = row?.waiting?.includes(lastError);
  return {
    lane,
    status: now,
    lastError: told || now === "COMPLETED" ? null : lastError,
    row: row && { waiting: row.waiting, waitingBehind: row.waitingBehind, waitingUntil: row.waitingUntil },
  };
}

const head = (seen) =>
  heading(seen.id, {
    trail: [["#/jobs", "Jobs"]],
    marks: [status(seen)],
    under: seen.code,
    actions: (may("operator") ? (VERBS[seen.status] ?? []) : []).map((verb) =>
      button(TITLES[verb], act(seen.id, verb), { retry: "primary", cancel: "danger" }[verb]),
    ),
  });

const act = (id, verb) => () =>
  attempt(async () => {
    if (
      ASKED[verb] &&
      !(await confirm(`${TITLES[verb]}?`, ASKED[verb], TITLES[verb], verb === "cancel" ? "danger solid" : "primary"))
    )
      return;
    await post(`/dispatch-jobs/${segment(id)}/${verb}`);
    toast({ retry: "The job is retried now.", cancel: "The job is cancelled.", complete: "The job is marked as completed." }[verb]);
    again();
  });

const request = (job) => [
  h("p", { class: "address" }, h("strong", {}, "POST "), long(job.targetUrl, "Target")),
  Object.keys(job.headers ?? {}).length > 0 && [
    h("h3", {}, "Headers"),
    facts(
      Object.entries(job.headers).map(([name, value]) => [h("code", {}, name), h("code", {}, masked(name, value))]),
      "wide",
    ),
  ],
  h("h3", {}, "Payload", h("span", { class: "soft" }, ` ${job.payloadContentType ?? ""}`)),
  job.payload ? code(pretty(job.payload), "Payload") : h("p", { class: "soft" }, "None, or not visible to your API key."),
];

const link = (path, id) => id && h("a", { href: `#/${path}${segment(id)}` }, id);

const about = (job) => [
  ["Client", job.clientId],
  ["Subject", job.subject],
  ["Source", job.source],
  ["Event", link("events/", job.eventId)],
  ["Subscription", link("jobs?subscriptionId=", job.subscriptionId)],
  ["Group", job.messageGroup],
  ["Mode", job.mode],
  ["Pool", job.dispatchPoolId && h("a", { href: "#/pools" }, job.dispatchPoolId)],
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
