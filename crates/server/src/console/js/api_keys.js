// API keys and their roles. A key is shown once, when it is created.

import { get, may, post, encodePart } from "./api.js";
import { confirm, reveal } from "./dialog.js";
import { form } from "./form.js";
import { button, empty, heading, badge, when } from "./components.js";
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
      ["producer", "producer: creates jobs and events"],
      ["operator", "operator: retries, cancels, pauses"],
      ["admin", "admin: manages accounts and keys"],
    ],
  },
  { name: "clientIds", label: "Clients", kind: "lines", hint: "One per line. Leave empty for all clients." },
  { name: "expiresAt", label: "Expires", kind: "datetime-local", hint: "Leave empty for a key that does not expire." },
];

export async function apiKeys() {
  const list = pages(
    () => get("/api-keys"),
    (found) => keyTable(found, list.same),
  );
  list.first();
  const create = () =>
    form("New API key", FIELDS, null, "Create", async (body) => {
      const { key, name } = await post("/api-keys", body);
      await reveal(`The key of ${name}`, [["API key", key]]);
      list.first();
    });
  return [
    heading("API keys", {
      actions: may("admin") ? [button("New key", create, "primary", "plus")] : [],
      under: "Keys of the HTTP API. Only a hash of each key is stored.",
    }),
    list.frame,
  ];
}

function state(key) {
  if (key.revokedAt) return badge("revoked");
  return key.expiresAt && new Date(key.expiresAt) < new Date() ? badge("expired") : badge("active", "good");
}

function keyTable({ items }, reload) {
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
        cell: (key) => !key.revokedAt && button("Revoke", () => revoke(key, reload), "small danger"),
      },
    ],
    items,
  );
}

const revoke = (key, reload) =>
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
    await post(`/api-keys/${encodePart(key.id)}/revoke`);
    toast(`${key.name} is revoked.`);
    await reload();
  });
