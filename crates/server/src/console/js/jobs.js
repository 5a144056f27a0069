// Webhook jobs, as the API lists them: found by what they are about. Keys of one client see their own.

import { get, may, post, segment } from "./api.js";
import { confirm } from "./dialog.js";
import { h, keep, put } from "./dom.js";
import { button, empty, heading, inputs, mark, roleTone, when } from "./parts.js";
import { pages, table } from "./table.js";
import { attempt, toast } from "./toast.js";
import { plural } from "./words.js";

const ROLES = {
  QUEUED: "ready",
  PENDING: "waiting",
  COMPLETED: "delivered",
  ERROR: "failed",
  IN_PROGRESS: "claimed",
  CANCELLED: "cancelled",
};
const FIELDS = [
  ["code", "Code"],
  ["clientId", "Client"],
  ["eventId", "Event"],
  ["subscriptionId", "Subscription"],
];

export async function jobs({ parameters, find }) {
  const wanted = { status: "", ...Object.fromEntries(parameters) };
  const list = pages((cursor) => get("/dispatch-jobs", { ...wanted, cursor }), shown);
  const filters = inputs(FIELDS, wanted, 64);
  const tabs = h(
    "div",
    { class: "tabs", role: "group", "aria-label": "By status" },
    ["", ...Object.keys(ROLES)].map((status) =>
      h(
        "button",
        {
          type: "button",
          "data-status": status,
          onclick: () => {
            wanted.status = status;
            look();
          },
        },
        status || "All",
      ),
    ),
  );
  const acts = h("span", {});
  const submit = (event) => {
    event.preventDefault();
    for (const input of filters) wanted[input.name] = input.value.trim();
    look();
  };

  function look() {
    keep("/jobs", wanted);
    press();
    return list.first();
  }
  function press() {
    for (const one of tabs.children) one.setAttribute("aria-pressed", String(one.dataset.status === wanted.status));
    const { status, ...filter } = wanted;
    put(acts, status === "ERROR" && may("operator") && button("Retry failed jobs", () => retry(filter, list.first)));
  }
  press();
  find(() => filters[0].focus());
  list.first();
  return [
    heading("Jobs", { actions: [acts], under: "Webhook deliveries, newest first." }),
    tabs,
    h("form", { class: "search", role: "search", onsubmit: submit }, filters, h("button", {}, "Search")),
    list.frame,
  ];
}

function shown({ items }) {
  if (!items.length)
    return empty(
      "No jobs found",
      "Jobs are created by events that match a subscription, or with ",
      h("code", {}, "POST /api/v1/dispatch-jobs"),
      ".",
    );
  return table(
    "Jobs",
    [
      { name: "Id", kind: "main mono", cell: (job) => h("a", { class: "open", href: `#/jobs/${segment(job.id)}` }, job.id) },
      { name: "Status", kind: "state", cell: (job) => status(job) },
      { name: "Code", kind: "text", cell: (job) => h("span", { title: job.code }, job.code) },
      { name: "Target", kind: "text soft", cell: (job) => h("span", { title: job.targetUrl }, job.targetUrl) },
      { name: "Error", kind: "text soft", cell: (job) => job.lastError && h("span", { title: job.lastError }, job.lastError) },
      { name: "Attempts", kind: "number", cell: (job) => job.attemptCount },
      { name: "Created", kind: "time", cell: (job) => when(job.createdAt) },
    ],
    items,
  );
}

/** ERROR with a next attempt is tried again by itself. */
export function status(job) {
  const again = job.status === "ERROR" && job.nextAttemptAt;
  return mark(again ? "ERROR, retrying" : job.status, again ? "warn" : roleTone(ROLES[job.status]));
}

const retry = (filter, done) =>
  attempt(async () => {
    const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
    const which = Object.keys(given).length ? "that match" : "of every code and target";
    if (
      !(await confirm(
        "Retry failed jobs?",
        `Jobs ${which} that have no attempts left are retried, oldest first, 1,000 at a time.`,
        "Retry",
      ))
    )
      return;
    const { retried, more } = await post("/dispatch-jobs/retry", given);
    toast(
      retried
        ? `${plural(retried, "job")} will be retried${more ? "; more remain" : ""}.`
        : "No failed jobs to retry.",
      { tone: retried ? "good" : "warn" },
    );
    await done();
  });
