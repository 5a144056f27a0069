// Service accounts: who signs requests. Their secrets are shown once, when they are made.

import { get, may, post, replace, segment } from "./api.js";
import { confirm, reveal } from "./dialog.js";
import { h } from "./dom.js";
import { form } from "./form.js";
import { button, empty, heading, mark, when } from "./parts.js";
import { pages, table } from "./table.js";
import { attempt, toast } from "./toast.js";

const FIELDS = [
  { name: "code", label: "Code", required: true, once: true },
  { name: "name", label: "Name", required: true },
  { name: "clientIds", label: "Clients", kind: "lines", hint: "One per line. Leave empty for all clients." },
  { name: "allowedHosts", label: "Hosts", kind: "lines", required: true, hint: "One per line. Hosts that the credentials may be sent to: *.example.com for all subdomains, * for any host." },
  { name: "description", label: "Description" },
];

export async function accounts() {
  const list = pages(
    (cursor) => get("/service-accounts", { cursor }),
    (found) => shown(found, list.same),
  );
  list.first();
  const make = () =>
    form("New service account", FIELDS, null, "Create", async (body) => {
      const made = await post("/service-accounts", body);
      await secret(made);
      list.first();
    });
  return [
    heading("Service accounts", {
      actions: may("admin") ? [button("New account", make, "primary", "plus")] : [],
      under: "Credentials that authenticate and sign webhook requests.",
    }),
    list.frame,
  ];
}

const secret = (account) =>
  account.signingSecret && reveal(`Signing secret of ${account.code}`, [["Signing secret", account.signingSecret]]);

function shown({ items }, look) {
  if (!items.length) return empty("No service accounts", "Create one and select it in a subscription to sign its requests.");
  return table(
    "Service accounts",
    [
      { name: "Code", kind: "main", cell: (one) => one.code },
      { name: "State", kind: "state", cell: (one) => (one.active ? mark("active", "good") : mark("inactive", "warn")) },
      { name: "Name", kind: "text", cell: (one) => h("span", { title: one.name }, one.name) },
      { name: "Id", kind: "mono", cell: (one) => one.id },
      { name: "Clients", kind: "", cell: (one) => one.clientIds.join(", ") || "all" },
      { name: "Hosts", kind: "", cell: (one) => one.allowedHosts.map((host) => (host === "*" ? "any" : host)).join(", ") || "none" },
      { name: "Last used", kind: "time", cell: (one) => when(one.lastUsedAt) ?? "never" },
      { name: "Actions", kind: "acts", quiet: true, cell: (one) => may("admin") && acts(one, look) },
    ],
    items,
  );
}

function acts(one, look) {
  const here = `/service-accounts/${segment(one.id)}`;
  const set = async (verb) => {
    await post(`${here}/${verb}`);
    await look();
  };
  const rotate = () =>
    attempt(async () => {
      const text =
        "A new signing secret is generated. For 24 hours requests carry both signatures, so that receivers can switch.";
      if (!(await confirm(`Rotate the secret of ${one.code}?`, text, "Rotate"))) return;
      await secret(await post(`${here}/regenerate-credentials`, {}));
      await look();
    });
  const flip = () =>
    attempt(async () => {
      const [verb, back] = one.active ? ["deactivate", "activate"] : ["activate", "deactivate"];
      await set(verb);
      toast(one.active ? `${one.code} is inactive. Its jobs wait.` : `${one.code} is active.`, { undo: () => set(back) });
    });
  const edit = () =>
    form(`Change ${one.code}`, FIELDS, one, "Save", async (body) => {
      const roles = one.roles.map(({ roleName, assignmentSource }) => ({ roleName, assignmentSource }));
      await replace(here, { roles, ...(one.applicationId && { applicationId: one.applicationId }), ...body });
      toast(`${one.code} is saved.`);
      await look();
    });
  return [
    button("Rotate", rotate, "small"),
    button(one.active ? "Deactivate" : "Activate", flip, "small"),
    button("Edit", edit, "small"),
  ];
}
