// The audit log: who changed what, newest first.

import { get, encodePart } from "./api.js";
import { h, keepInAddress } from "./dom.js";
import { empty, heading, when } from "./components.js";
import { pages, table } from "./table.js";

const ENTITIES = ["session", "dispatchJob", "event", "subscription", "serviceAccount", "pool", "schema", "apiKey", "lane"];
const PAGES = { dispatchJob: "jobs", event: "events", lane: "lanes" };

export async function audit({ parameters, find }) {
  const filter = { entity: "", entityId: "", ...Object.fromEntries(parameters) };
  const list = pages((cursor) => get("/audit-log", { ...filter, cursor }), auditTable);
  const id = h("input", {
    type: "search",
    placeholder: "Id",
    "aria-label": "Object id",
    value: filter.entityId,
    maxlength: 255,
    spellcheck: "false",
  });
  const entity = h(
    "select",
    {
      "aria-label": "Object type",
      onchange: () => {
        filter.entity = entity.value;
        reload();
      },
    },
    h("option", { value: "" }, "everything"),
    ENTITIES.map((name) => h("option", { value: name, selected: name === filter.entity }, name)),
  );
  const submit = (event) => {
    event.preventDefault();
    filter.entityId = id.value.trim();
    reload();
  };
  const reload = () => {
    keepInAddress("/audit", filter);
    list.first();
  };
  find(() => id.focus());
  list.first();
  return [
    heading("Audit log", { under: "Every change and the API key that made it." }),
    h("form", { class: "search", role: "search", onsubmit: submit }, entity, id, h("button", {}, "Search")),
    list.frame,
  ];
}

function auditTable({ items }) {
  if (!items.length) return empty("No entries found", "Changes appear here when they are made.");
  return table(
    "Audit log",
    [
      { name: "What", kind: "main", cell: (entry) => `${entry.action} ${entry.entity}` },
      {
        name: "Id",
        kind: "mono",
        cell: (entry) =>
          PAGES[entry.entity]
            ? h("a", { class: "open", href: `#/${PAGES[entry.entity]}/${encodePart(entry.entityId)}` }, entry.entityId)
            : entry.entityId,
      },
      { name: "Who", kind: "", cell: (entry) => entry.keyName ?? "Postrider" },
      { name: "Role", kind: "soft", cell: (entry) => entry.role },
      { name: "Client", kind: "", cell: (entry) => entry.clientId },
      {
        name: "Detail",
        kind: "text mono soft",
        cell: (entry) => entry.detail && h("span", { title: JSON.stringify(entry.detail) }, JSON.stringify(entry.detail)),
      },
      { name: "When", kind: "time", cell: (entry) => when(entry.at) },
    ],
    items,
  );
}
