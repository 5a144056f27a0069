// API keys: who may ask for what. A key is shown once, when it is made.

import { get, may, post, segment } from "./api.js";
import { confirm, reveal } from "./dialog.js";
import { form } from "./form.js";
import { button, empty, heading, mark, when } from "./parts.js";
import { pages, table } from "./table.js";
import { attempt, toast } from "./toast.js";

const FIELDS = [
  { name: "name", label: "Name", required: true, hint: "Person or program that uses the key." },
  {
    name: "role",
    label: "Role",
    kind: "choice",
    value: "viewer",
    options: [
      ["viewer", "viewer: reads"],
      ["producer", "producer: makes jobs and events"],
      ["operator", "operator: acts on them"],
      ["admin", "admin: keeps accounts and keys"],
    ],
  },
  { name: "clientIds", label: "Clients", kind: "lines", hint: "One per line. Leave empty for all clients." },
  { name: "expiresAt", label: "Expires", kind: "datetime-local", hint: "Leave empty for a key that does not expire." },
];

export async function apikeys() {
  const list = pages(
    () => get("/api-keys"),
    (found) => shown(found, list.same),
  );
  list.first();
  const make = () =>
    form("New API key", FIELDS, null, "Create", async (body) => {
      const { key, name } = await post("/api-keys", body);
      await reveal(`The key of ${name}`, [["API key", key]]);
      list.first();
    });
  return [
    heading("API keys", {
      actions: may("admin") ? [button("New key", make, "primary", "plus")] : [],
      under: "Keys of the HTTP API. Only a hash of each key is stored.",
    }),
    list.frame,
  ];
}

function state(key) {
  if (key.revokedAt) return mark("revoked");
  return key.expiresAt && new Date(key.expiresAt) < new Date() ? mark("expired") : mark("active", "good");
}

function shown({ items }, look) {
  if (!items.length) return empty("No API keys", "Create one for each program, with the lowest role that it needs.");
  return table(
    "API keys",
    [
      { name: "Name", kind: "main", cell: (key) => key.name },
      { name: "State", kind: "state", cell: state },
      { name: "Role", kind: "", cell: (key) => key.role ?? "unknown" },
      { name: "Prefix", kind: "mono", cell: (key) => key.prefix },
      { name: "Clients", kind: "", cell: (key) => key.clientIds.join(", ") || "all" },
      { name: "Last used", kind: "time", cell: (key) => when(key.lastUsedAt) ?? "never" },
      { name: "Expires", kind: "time", cell: (key) => when(key.expiresAt) ?? "never" },
      {
        name: "Actions",
        kind: "acts",
        quiet: true,
        cell: (key) => !key.revokedAt && button("Revoke", () => revoke(key, look), "small danger"),
      },
    ],
    items,
  );
}

const revoke = (key, look) =>
  attempt(async () => {
    if (
      !(await confirm(
        `Revoke ${key.name}?`,
        "Requests with this key will be refused, and its sessions end. This cannot be undone.",
        "Revoke",
        "danger solid",
      ))
    )
      return;
    await post(`/api-keys/${segment(key.id)}/revoke`);
    toast(`${key.name} is revoked.`);
    await look();
  });
