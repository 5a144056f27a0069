// List of webhook jobs with filters. Users of one client see the jobs of that client.

import { get, may, post, encodePart } from "./api.js";
import { confirm } from "./dialog.js";
import { h, keepInAddress, setChildren } from "./dom.js";
import { button, empty, heading, inputs, badge, roleTone, when } from "./components.js";
import { pages, table } from "./table.js";
import { attempt, toast } from "./toast.js";
import { plural } from "./format.js";

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
  const filter = { status: "", ...Object.fromEntries(parameters) };
  const list = pages((cursor) => get("/dispatch-jobs", { ...filter, cursor }), jobTable);
  const filters = inputs(FIELDS, filter, 64);
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
            filter.status = status;
            reload();
          },
        },
        status || "All",
      ),
    ),
  );
  const actions = h("span", {});
  const submit = (event) => {
    event.preventDefault();
    for (const input of filters) filter[input.name] = input.value.trim();
    reload();
  };

  function reload() {
    keepInAddress("/jobs", filter);
    markPressed();
    return list.first();
  }
  function markPressed() {
    for (const one of tabs.children) one.setAttribute("aria-pressed", String(one.dataset.status === filter.status));
    const { status, ...rest } = filter;
    setChildren(actions, status === "ERROR" && may("operator") && button("Retry failed jobs", () => retry(rest, list.first)));
  }
  markPressed();
  find(() => filters[0].focus());
  list.first();
  return [
    heading("Jobs", { actions: [actions], under: "Webhook deliveries, newest first." }),
    tabs,
    h("form", { class: "search", role: "search", onsubmit: submit }, filters, h("button", {}, "Search")),
    list.frame,
  ];
}

function jobTable({ items }) {
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
      { name: "Id", kind: "main mono", cell: (job) => h("a", { class: "open", href: `#/jobs/${encodePart(job.id)}` }, job.id) },
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

/** A job in ERROR with a next attempt is retried automatically. */
export function status(job) {
  const retrying = job.status === "ERROR" && job.nextAttemptAt;
  return badge(retrying ? "ERROR, retrying" : job.status, retrying ? "warn" : roleTone(ROLES[job.status]));
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
