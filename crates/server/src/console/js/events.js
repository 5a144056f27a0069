// Events: list, details, publishing and replay.

import { get, may, post, encodePart } from "./api.js";
import { confirm } from "./dialog.js";
import { reloadPage, h, keepInAddress } from "./dom.js";
import { form } from "./form.js";
import { button, code, empty, facts, heading, inputs, section, when } from "./components.js";
import { pages, table } from "./table.js";
import { attempt, toast } from "./toast.js";
import { plural, pretty } from "./format.js";

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
  const filter = Object.fromEntries(parameters);
  const list = pages((cursor) => get("/events", { ...filter, cursor }), eventTable);
  const filters = inputs([["code", "Type"], ["clientId", "Client"]], filter, 255);
  const submit = (event) => {
    event.preventDefault();
    for (const input of filters) filter[input.name] = input.value.trim();
    keepInAddress("/events", filter);
    list.first();
  };
  find(() => filters[0].focus());
  list.first();
  const publish = () =>
    form("Publish an event", FIELDS(), null, "Publish", async (body) => {
      const created = await post("/events", { specversion: "1.0", ...body });
      toast(created.known ? "The event was already received. No jobs were created." : `Event received. ${plural(created.jobIds.length, "job")} created.`, {
        tone: created.known ? "warn" : "good",
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

function eventTable({ items }) {
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
        cell: (event) => h("a", { class: "open", href: `#/events/${encodePart(event.id)}` }, event.code),
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
    const { jobIds } = await post(`/events/${encodePart(event.id)}/replay`);
    toast(jobIds.length ? `${plural(jobIds.length, "job")} created.` : "No subscription matches. No jobs were created.", {
      tone: jobIds.length ? "good" : "warn",
    });
    reloadPage();
  });

/** One event, with its data and a link to its jobs. */
export async function event(_, id) {
  const shown = await get(`/events/${encodePart(id)}`);
  return [
    heading(shown.code, {
      trail: [["#/events", "Events"]],
      actions: [
        h("a", { class: "button", href: `#/jobs?eventId=${encodePart(shown.id)}` }, "Jobs"),
        may("operator") && button("Replay", () => replay(shown), "primary"),
      ],
    }),
    h(
      "div",
      { class: "split wide-left" },
      section("Data", shown.data ? code(pretty(shown.data), "Data") : h("p", { class: "soft" }, "None.")),
      section(
        "Details",
        facts([
          ["Id", h("code", {}, shown.id)],
          ["Event id", h("code", {}, shown.eventId)],
          ["Source", shown.source],
          ["Subject", shown.subject],
          ["Client", shown.clientId],
          ["Correlation", shown.correlationId],
          ["Content type", shown.dataContentType],
          ["Schema", shown.dataSchema],
          ["Occurred", when(shown.occurredAt)],
          ["Received", when(shown.createdAt)],
          ...Object.entries(shown.extensions ?? {}).map(([name, value]) => [name, String(value)]),
        ]),
      ),
    ),
  ];
}
