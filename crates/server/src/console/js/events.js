// Events that were taken in: published here or elsewhere, and sent again to whom they concern.

import { get, may, post, segment } from "./api.js";
import { confirm } from "./dialog.js";
import { again, h, keep } from "./dom.js";
import { form } from "./form.js";
import { button, code, empty, facts, heading, inputs, section, when } from "./parts.js";
import { pages, table } from "./table.js";
import { attempt, toast } from "./toast.js";
import { plural, pretty } from "./words.js";

const FIELDS = () => [
  { name: "type", label: "Type", required: true, hint: "application:subdomain:aggregate:event, as in shop:orders:order:paid" },
  { name: "source", label: "Source", required: true, value: "/console" },
  {
    name: "id",
    label: "Id",
    required: true,
    value: crypto.randomUUID?.() ?? String(Date.now()),
    hint: "An event with the same id is received only once.",
  },
  { name: "subject", label: "Subject" },
  { name: "clientid", label: "Client" },
  { name: "data", label: "Data, as JSON", kind: "json" },
];

export async function events({ parameters, find }) {
  const wanted = Object.fromEntries(parameters);
  const list = pages((cursor) => get("/events", { ...wanted, cursor }), shown);
  const filters = inputs([["code", "Type"], ["clientId", "Client"]], wanted, 255);
  const submit = (event) => {
    event.preventDefault();
    for (const input of filters) wanted[input.name] = input.value.trim();
    keep("/events", wanted);
    list.first();
  };
  find(() => filters[0].focus());
  list.first();
  const publish = () =>
    form("Publish an event", FIELDS(), null, "Publish", async (body) => {
      const made = await post("/events", { specversion: "1.0", ...body });
      toast(made.known ? "The event was already received. No jobs were created." : `Event received. ${plural(made.jobIds.length, "job")} created.`, {
        tone: made.known ? "warn" : "good",
      });
      list.first();
    });
  return [
    heading("Events", {
      actions: may("producer") ? [button("Publish", publish, "primary", "plus")] : [],
      under: "Events, newest first. Each one creates a job for every matching subscription.",
    }),
    h("form", { class: "search", role: "search", onsubmit: submit }, filters, h("button", {}, "Search")),
    list.frame,
  ];
}

function shown({ items }) {
  if (!items.length)
    return empty(
      "No events found",
      may("producer") ? "Publish one here, or send one with " : "Events are sent with ",
      h("code", {}, "POST /api/v1/events"),
      ".",
    );
  return table(
    "Events",
    [
      {
        name: "Type",
        kind: "main",
        cell: (event) => h("a", { class: "open", href: `#/events/${segment(event.id)}` }, event.code),
      },
      { name: "Source", kind: "text soft", cell: (event) => event.source },
      { name: "Subject", kind: "text", cell: (event) => event.subject },
      { name: "Client", kind: "", cell: (event) => event.clientId },
      { name: "Received", kind: "time", cell: (event) => when(event.createdAt) },
      {
        name: "Actions",
        kind: "acts",
        quiet: true,
        cell: (event) => may("operator") && button("Replay", () => replay(event), "small"),
      },
    ],
    items,
  );
}

const replay = (event) =>
  attempt(async () => {
    if (
      !(await confirm(
        "Replay the event?",
        "A new job is created for every subscription that matches now. Receivers may get the event a second time.",
        "Replay",
      ))
    )
      return;
    const { jobIds } = await post(`/events/${segment(event.id)}/replay`);
    toast(jobIds.length ? `${plural(jobIds.length, "job")} created.` : "No subscription matches. No jobs were created.", {
      tone: jobIds.length ? "good" : "warn",
    });
    again();
  });

/** One event, with what it carries and the way to its jobs. */
export async function event(_, id) {
  const seen = await get(`/events/${segment(id)}`);
  return [
    heading(seen.code, {
      trail: [["#/events", "Events"]],
      actions: [
        h("a", { class: "button", href: `#/jobs?eventId=${segment(seen.id)}` }, "Jobs"),
        may("operator") && button("Replay", () => replay(seen), "primary"),
      ],
    }),
    h(
      "div",
      { class: "split wide-left" },
      section("Data", seen.data ? code(pretty(seen.data), "Data") : h("p", { class: "soft" }, "None.")),
      section(
        "Details",
        facts([
          ["Id", h("code", {}, seen.id)],
          ["Event id", h("code", {}, seen.eventId)],
          ["Source", seen.source],
          ["Subject", seen.subject],
          ["Client", seen.clientId],
          ["Correlation", seen.correlationId],
          ["Content type", seen.dataContentType],
          ["Schema", seen.dataSchema],
          ["Occurred", when(seen.occurredAt)],
          ["Received", when(seen.createdAt)],
          ...Object.entries(seen.extensions ?? {}).map(([name, value]) => [name, String(value)]),
        ]),
      ),
    ),
  ];
}
