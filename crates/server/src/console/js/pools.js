// Pools: limits of concurrency and rate that jobs share.

import { get, may, post, replace, encodePart } from "./api.js";
import { h } from "./dom.js";
import { form } from "./form.js";
import { button, empty, heading, badge } from "./components.js";
import { pauseButton } from "./pause_button.js";
import { pages, table } from "./table.js";
import { toast } from "./toast.js";
import { rows } from "./format.js";

const FIELDS = [
  { name: "code", label: "Code", required: true, once: true },
  { name: "name", label: "Name", required: true },
  { name: "clientId", label: "Client", once: true, hint: "Leave empty for all clients." },
  { name: "concurrency", label: "Concurrent deliveries", kind: "number", hint: "Leave empty for no limit." },
  { name: "ratePerMinute", label: "Deliveries per minute", kind: "number", hint: "Leave empty for no limit." },
  { name: "description", label: "Description" },
];

export async function pools() {
  const list = pages(
    (cursor) => get("/dispatch-pools", { cursor }),
    (found) => poolTable(found, list.same),
  );
  list.first();
  const create = () =>
    form("New pool", FIELDS, null, "Create", async (body) => {
      await post("/dispatch-pools", body);
      toast(`${body.code} is created.`);
      list.first();
    });
  return [
    heading("Pools", {
      actions: may("operator") ? [button("New pool", create, "primary", "plus")] : [],
      under: "Limits that jobs share, across all instances.",
    }),
    list.frame,
  ];
}

const limit = (value) => (value === null || value === undefined ? "no limit" : rows(value));

function poolTable({ items }, reload) {
  if (!items.length)
    return empty("No pools", "Jobs without a pool are limited only by their lane. Create a pool to protect a receiver from too many requests.");
  return table(
    "Pools",
    [
      { name: "Code", kind: "main", cell: (one) => one.code },
      { name: "State", kind: "state", cell: (one) => (one.paused ? badge("paused", "warn") : badge("active", "good")) },
      { name: "Name", kind: "text", cell: (one) => h("span", { title: one.name }, one.name) },
      { name: "Id", kind: "mono", cell: (one) => one.id },
      { name: "Client", kind: "", cell: (one) => one.clientId ?? "all" },
      { name: "Concurrency", kind: "number", cell: (one) => limit(one.concurrency) },
      { name: "Per minute", kind: "number", cell: (one) => limit(one.ratePerMinute) },
      { name: "Actions", kind: "acts", quiet: true, cell: (one) => may("operator") && actions(one, reload) },
    ],
    items,
  );
}

function actions(one, reload) {
  const here = `/dispatch-pools/${encodePart(one.id)}`;
  const edit = () =>
    form(`Change ${one.code}`, FIELDS, one, "Save", async (body) => {
      await replace(here, body);
      toast(`${one.code} is saved.`);
      await reload();
    });
  return [pauseButton(one, here, reload), button("Edit", edit, "small")];
}
