// Subscriptions: which events go where. Made, changed, paused, tested.

import { get, may, post, replace, segment } from "./api.js";
import { h } from "./dom.js";
import { form } from "./form.js";
import { button, empty, heading, mark } from "./parts.js";
import { pauseButton } from "./pause.js";
import { pages, table } from "./table.js";
import { attempt, toast } from "./toast.js";

const choices = ({ items }, none) => [["", none], ...items.map((one) => [one.id, one.code])];

/** Accounts and pools are chosen by name, from those that are there. */
async function fields() {
  const [accounts, pools] = await Promise.all([get("/service-accounts", { limit: 200 }), get("/dispatch-pools", { limit: 200 })]);
  return [
    ...FIELDS,
    { name: "serviceAccountId", label: "Service account", kind: "choice", options: choices(accounts, "none") },
    { name: "dispatchPoolId", label: "Pool", kind: "choice", options: choices(pools, "none") },
    { name: "headers", label: "Headers", kind: "pairs", hint: "One per line, for example X-Shop: 7" },
  ];
}

const FIELDS = [
  { name: "code", label: "Code", required: true, once: true },
  { name: "name", label: "Name", required: true },
  {
    name: "eventCode",
    label: "Events",
    required: true,
    whole: true,
    hint: "application:subdomain:aggregate:event; * stands for any part",
  },
  { name: "targetUrl", label: "Target URL", kind: "url", required: true, whole: true },
  { name: "clientId", label: "Client", once: true, hint: "Leave empty for events of all clients." },
  {
    name: "mode",
    label: "After a failure",
    kind: "choice",
    value: "IMMEDIATE",
    options: [
      ["IMMEDIATE", "no order"],
      ["NEXT_ON_ERROR", "in order, continue with the next job of the group"],
      ["BLOCK_ON_ERROR", "in order, the group waits"],
    ],
  },
  { name: "maxRetries", label: "Maximum attempts", kind: "number", value: 3 },
  { name: "timeoutSeconds", label: "Timeout in seconds", kind: "number", value: 30 },
];
/** What the form does not ask for, and a change must not lose. */
const KEPT = [
  "code",
  "clientId",
  "description",
  "active",
  "dataOnly",
  "expiresAfterSeconds",
  "filters",
  "honoursAck",
  "retryStrategy",
  "sequence",
  "sourcePrefix",
];

export async function subscriptions() {
  const list = pages(
    (cursor) => get("/subscriptions", { cursor }),
    (found) => shown(found, list.same),
  );
  list.first();
  const make = () =>
    attempt(async () =>
      form("New subscription", await fields(), null, "Create", async (body) => {
        await post("/subscriptions", body);
        toast(`${body.code} is created. Matching events now create jobs.`);
        list.first();
      }),
    );
  return [
    heading("Subscriptions", {
      actions: may("operator") ? [button("New subscription", make, "primary", "plus")] : [],
      under: "Which events are sent to which URL.",
    }),
    list.frame,
  ];
}

function shown({ items }, look) {
  if (!items.length) return empty("No subscriptions", "Without a subscription, events are stored and nothing is sent.");
  return table(
    "Subscriptions",
    [
      {
        name: "Code",
        kind: "main",
        cell: (one) =>
          h("a", { class: "open", href: `#/jobs?subscriptionId=${segment(one.id)}`, title: `Jobs of ${one.code}` }, one.code),
      },
      { name: "State", kind: "state", cell: state },
      { name: "Events", kind: "text mono", cell: (one) => one.eventCode },
      { name: "Target", kind: "text soft", cell: (one) => h("span", { title: one.targetUrl }, one.targetUrl) },
      { name: "Client", kind: "", cell: (one) => one.clientId ?? "all" },
      { name: "Actions", kind: "acts", quiet: true, cell: (one) => may("operator") && acts(one, look) },
    ],
    items,
  );
}

const state = (one) => [
  one.paused ? mark("paused", "warn") : one.active ? mark("active", "good") : mark("off"),
  one.pausedReason && h("span", { class: "soft" }, ` ${one.pausedReason}`),
];

function acts(one, look) {
  const here = `/subscriptions/${segment(one.id)}`;
  const test = () =>
    attempt(async () => {
      const { jobIds } = await post(`${here}/test`);
      toast("A test event was created.");
      if (jobIds[0]) location.hash = `#/jobs/${segment(jobIds[0])}`;
    });
  const kept = Object.fromEntries(
    KEPT.filter((name) => one[name] !== null && one[name] !== undefined).map((name) => [name, one[name]]),
  );
  const edit = () =>
    attempt(async () =>
      form(`Change ${one.code}`, await fields(), one, "Save", async (body) => {
        await replace(here, { ...kept, ...body });
        toast(`${one.code} is saved.`);
        await look();
      }),
    );
  return [pauseButton(one, here, look), button("Test", test, "small"), button("Edit", edit, "small")];
}
