// Service accounts: the credentials that sign requests. A secret is shown once, when it is generated.

import { get, may, post, replace, encodePart } from "./api.js";
import { confirm, reveal } from "./dialog.js";
import { h } from "./dom.js";
import { form } from "./form.js";
import { button, empty, heading, badge, when } from "./components.js";
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
    (found) => accountTable(found, list.same),
  );
  list.first();
  const create = () =>
    form("New service account", FIELDS, null, "Create", async (body) => {
      const account = await post("/service-accounts", body);
      await revealSecret(account);
      list.first();
    });
  return [
    heading("Service accounts", {
      actions: may("admin") ? [button("New account", create, "primary", "plus")] : [],
      under: "Credentials that authenticate and sign webhook requests.",
    }),
    list.frame,
  ];
}

const revealSecret = (account) =>
  account.signingSecret && reveal(`Signing secret of ${account.code}`, [["Signing secret", account.signingSecret]]);

function accountTable({ items }, reload) {
  if (!items.length) return empty("No service accounts", "Create one and select it in a subscription to sign its requests.");
  return table(
    "Service accounts",
    [
      { name: "Code", kind: "main", cell: (one) => one.code },
      { name: "State", kind: "state", cell: (one) => (one.active ? badge("active", "good") : badge("inactive", "warn")) },
      { name: "Name", kind: "text", cell: (one) => h("span", { title: one.name }, one.name) },
      { name: "Id", kind: "mono", cell: (one) => one.id },
      { name: "Clients", kind: "", cell: (one) => one.clientIds.join(", ") || "all" },
      { name: "Hosts", kind: "", cell: (one) => one.allowedHosts.map((host) => (host === "*" ? "any" : host)).join(", ") || "none" },
      { name: "Last used", kind: "time", cell: (one) => when(one.lastUsedAt) ?? "never" },
      { name: "Actions", kind: "acts", quiet: true, cell: (one) => may("admin") && actions(one, reload) },
    ],
    items,
  );
}

function actions(one, reload) {
  const here = `/service-accounts/${encodePart(one.id)}`;
  const set = async (verb) => {
    await post(`${here}/${verb}`);
    await reload();
  };
  const rotate = () =>
    attempt(async () => {
      const text =
        "A new signing secret is generated. For 24 hours requests carry both signatures, so that receivers can switch.";
      if (!(await confirm(`Rotate the secret of ${one.code}?`, text, "Rotate"))) return;
      await revealSecret(await post(`${here}/regenerate-credentials`, {}));
      await reload();
    });
  const toggle = () =>
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
      await reload();
    });
  return [
    button("Rotate", rotate, "small"),
    button(one.active ? "Deactivate" : "Activate", toggle, "small"),
    button("Edit", edit, "small"),
  ];
}
