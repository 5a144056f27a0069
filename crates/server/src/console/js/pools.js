// Pools: how much at once, and how fast, jobs go to the targets that share one.

import { get, may, post, replace, segment } from "./api.js";
import { h } from "./dom.js";
import { form } from "./form.js";
import { button, empty, heading, mark } from "./parts.js";
import { pauseButton } from "./pause.js";
import { pages, table } from "./table.js";
import { toast } from "./toast.js";
import { rows } from "./words.js";

const FIELDS = [
  { name: "code", label: "Code", required: true, once: true },
  { name: "name", label: "Name", required: true },
  { name: "clientId", label: "Client", once: true, hint: "Nothing: for jobs of every client." },
  { name: "concurrency", label: "Deliveries at once", kind: "number", hint: "Nothing: no limit." },
  { name: "ratePerMinute", label: "Deliveries a minute", kind: "number", hint: "Nothing: no limit." },
  { name: "description", label: "Description" },
];

export async function pools() {
  const list = pages(
    (cursor) => get("/dispatch-pools", { cursor }),
    (found) => shown(found, list.same),
  );
  list.first();
  const make = () =>
    form("New pool", FIELDS, null, "Create", async (body) => {
      await post("/dispatch-pools", body);
      toast(`${body.code} is there.`);
      list.first();
    });
  return [
    heading("Pools", {
      actions: may("operator") ? [button("New pool", make, "primary", "plus")] : [],
      under: "Limits that jobs share, over all instances together.",
    }),
    list.frame,
  ];
}

const limit = (value) => (value === null || value === undefined ? "no limit" : rows(value));

function shown({ items }, look) {
  if (!items.length)
    return empty("No pool yet", "Jobs without one go as fast as their lane. Make one where a receiver must not be flooded.");
  return table(
    "Pools",
    [
      { name: "Code", kind: "main", cell: (one) => one.code },
      { name: "State", kind: "state", cell: (one) => (one.paused ? mark("paused", "warn") : mark("active", "good")) },
      { name: "Name", kind: "text", cell: (one) => h("span", { title: one.name }, one.name) },
      { name: "Id", kind: "mono", cell: (one) => one.id },
      { name: "Client", kind: "", cell: (one) => one.clientId ?? "all" },
      { name: "At once", kind: "number", cell: (one) => limit(one.concurrency) },
      { name: "A minute", kind: "number", cell: (one) => limit(one.ratePerMinute) },
      { name: "Actions", kind: "acts", quiet: true, cell: (one) => may("operator") && acts(one, look) },
    ],
    items,
  );
}

function acts(one, look) {
  const here = `/dispatch-pools/${segment(one.id)}`;
  const edit = () =>
    form(`Change ${one.code}`, FIELDS, one, "Save", async (body) => {
      await replace(here, body);
      toast(`${one.code} is changed.`);
      await look();
    });
  return [pauseButton(one, here, look), button("Edit", edit, "small")];
}
