// One webhook job: why it waits, its request, its attempts and its actions. Refreshed while it is visible.

import { get, may, getQuietly, post, maySeeLanes, encodePart } from "./api.js";
import { attemptTimeline } from "./attempts.js";
import { confirm } from "./dialog.js";
import { reloadPage, h } from "./dom.js";
import { follow, livePart } from "./refresh.js";
import { status } from "./jobs.js";
import { laneOf } from "./overview_stream.js";
import { button, code, facts, heading, long, notice, section, when } from "./components.js";
import { timeline } from "./timeline.js";
import { attempt, toast } from "./toast.js";
import { waiting } from "./waiting.js";
import { masked, pretty } from "./format.js";

const VERBS = { ERROR: ["retry", "complete", "cancel"], PENDING: ["cancel"], QUEUED: ["cancel"], IN_PROGRESS: ["cancel"] };
const TITLES = { retry: "Retry", cancel: "Cancel job", complete: "Mark as completed" };
const CONFIRMATIONS = {
  cancel: "The job will not be delivered. An attempt in progress may still arrive. This cannot be undone.",
  complete: "The job counts as delivered and is not retried.",
};
const ENDED = ["COMPLETED", "CANCELLED"];

export async function job(page, id) {
  const path = `/dispatch-jobs/${encodePart(id)}`;
  const parts = {
    head: livePart(head),
    wait: livePart(({ lane, row, lastError, status: now }) => [
      lastError && notice(now === "ERROR" && !row?.waiting ? "bad" : "warn", long(lastError, "Last error")),
      row && waiting(`/lanes/${encodePart(lane)}`, row),
    ]),
    request: livePart((shown) => section("Request", request(shown))),
    story: livePart(({ moves, none }) => section("Attempts", timeline(moves, none))),
    about: livePart((shown) => section("Details", facts(about(shown)))),
  };
  const show = async (shown) => {
    parts.head.show({ id: shown.id, status: shown.status, nextAttemptAt: shown.nextAttemptAt, code: shown.code });
    parts.request.show({ ...shown, attempts: null });
    parts.story.show({ moves: attemptTimeline(shown), none: noAttemptsText(shown) });
    parts.about.show({ ...shown, attempts: null, payload: null });
    parts.wait.show(await waitState(shown));
  };
  const first = await get(path);
  await show(first);
  follow(page, path, first, (shown) => !ENDED.includes(shown.status), show);
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

/** The text if no attempt is recorded. */
function noAttemptsText({ status: now, attemptCount }) {
  if (attemptCount > 0) return "No attempt was recorded.";
  return ENDED.includes(now) ? "No attempt was made." : undefined;
}

/** Loads why the job waits from its lane, if the user may see lanes. */
async function waitState({ id, status: now, lastError }) {
  const lane = maySeeLanes() && !ENDED.includes(now) ? laneOf("dispatch_jobs") : null;
  const row = lane ? await getQuietly(`/lanes/${encodePart(lane)}/rows/${encodePart(id)}`).catch(() => null) : null;
  const repeated = row?.waiting?.includes(lastError);
  return {
    lane,
    status: now,
    lastError: repeated || now === "COMPLETED" ? null : lastError,
    row: row && { waiting: row.waiting, waitingBehind: row.waitingBehind, waitingUntil: row.waitingUntil },
  };
}

const head = (shown) =>
  heading(shown.id, {
    trail: [["#/jobs", "Jobs"]],
    marks: [status(shown)],
    under: shown.code,
    actions: (may("operator") ? (VERBS[shown.status] ?? []) : []).map((verb) =>
      button(TITLES[verb], act(shown.id, verb), { retry: "primary", cancel: "danger" }[verb]),
    ),
  });

const act = (id, verb) => () =>
  attempt(async () => {
    if (
      CONFIRMATIONS[verb] &&
      !(await confirm(`${TITLES[verb]}?`, CONFIRMATIONS[verb], TITLES[verb], verb === "cancel" ? "danger solid" : "primary"))
    )
      return;
    await post(`/dispatch-jobs/${encodePart(id)}/${verb}`);
    toast({ retry: "The job is retried now.", cancel: "The job is cancelled.", complete: "The job is marked as completed." }[verb]);
    reloadPage();
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

const link = (path, id) => id && h("a", { href: `#/${path}${encodePart(id)}` }, id);

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
