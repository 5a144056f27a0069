// Subscriptions: which events are sent to which target.

import { get, may, post, replace, encodePart } from "./api.js";
import { h } from "./dom.js";
import { form } from "./form.js";
import { button, empty, heading, badge } from "./components.js";
import { pauseButton } from "./pause_button.js";
import { pages, table } from "./table.js";
import { attempt, toast } from "./toast.js";

const choices = ({ items }, none) => [["", none], ...items.map((one) => [one.id, one.code])];

/** The fields of the form, with the existing accounts and pools as choices. */
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
/** Members that are not in the form and that a change must keep. */
const KEPT_MEMBERS = [
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
    (found) => subscriptionTable(found, list.same),
  );
  list.first();
  const create = () =>
    attempt(async () =>
      form("New subscription", await fields(), null, "Create", async (body) => {
        await post("/subscriptions", body);
        toast(`${body.code} is created. Matching events now create jobs.`);
        list.first();
      }),
    );
  return [
    heading("Subscriptions", {
      actions: may("operator") ? [button("New subscription", create, "primary", "plus")] : [],
      under: "Which events are sent to which URL.",
    }),
    list.frame,
  ];
}

function subscriptionTable({ items }, reload) {
  if (!items.length) return empty("No subscriptions", "Without a subscription, events are stored and nothing is sent.");
  return table(
    "Subscriptions",
    [
      {
        name: "Code",
        kind: "main",
        cell: (one) =>
          h("a", { class: "open", href: `#/jobs?subscriptionId=${encodePart(one.id)}`, title: `Jobs of ${one.code}` }, one.code),
      },
      { name: "State", kind: "state", cell: state },
      { name: "Events", kind: "text mono", cell: (one) => one.eventCode },
      { name: "Target", kind: "text soft", cell: (one) => h("span", { title: one.targetUrl }, one.targetUrl) },
      { name: "Client", kind: "", cell: (one) => one.clientId ?? "all" },
      { name: "Actions", kind: "acts", quiet: true, cell: (one) => may("operator") && actions(one, reload) },
    ],
    items,
  );
}

const state = (one) => [
  one.paused ? badge("paused", "warn") : one.active ? badge("active", "good") : badge("off"),
  one.pausedReason && h("span", { class: "soft" }, ` ${one.pausedReason}`),
];

function actions(one, reload) {
  const here = `/subscriptions/${encodePart(one.id)}`;
  const test = () =>
    attempt(async () => {
      const { jobIds } = await post(`${here}/test`);
      toast("A test event was created.");
      if (jobIds[0]) location.hash = `#/jobs/${encodePart(jobIds[0])}`;
    });
  const kept = Object.fromEntries(
    KEPT_MEMBERS.filter((name) => one[name] !== null && one[name] !== undefined).map((name) => [name, one[name]]),
  );
  const edit = () =>
    attempt(async () =>
      form(`Change ${one.code}`, await fields(), one, "Save", async (body) => {
        await replace(here, { ...kept, ...body });
        toast(`${one.code} is saved.`);
        await reload();
      }),
    );
  return [pauseButton(one, here, reload), button("Test", test, "small"), button("Edit", edit, "small")];
}
