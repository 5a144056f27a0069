// Events, subscriptions, pools and service accounts: lists, and forms that make and change them.

import { get, may, post, put, segment } from "./api.js";
import { confirm, h, reveal, table, toast } from "./dom.js";
import { edit } from "./form.js";
import { moment } from "./words.js";

const again = () => dispatchEvent(new HashChangeEvent("hashchange"));
const attempt = (work) => async () => { try { await work(); again(); } catch (error) { toast(error.message, "bad"); } };
const button = (text, work, tone) => h("button", { type: "button", class: tone, onclick: attempt(work) }, text);

/** A heading, a button that makes a new one, and pages of what is there. */
async function listing(title, path, columns, make) {
  const results = h("div", {});
  const look = async (cursor) => {
    const found = await get(path, { cursor });
    const more = found.nextCursor && h("button", { type: "button", onclick: () => look(found.nextCursor) }, "Next page");
    results.replaceChildren(table(columns, found.items), h("div", { class: "row end" }, more));
  };
  await look();
  const add = make && may(make.role) && h("button", { type: "button", class: "primary", onclick: () => edit(make.title, make.fields, {}, async (body) => { make.done?.(await post(path, body)); again(); }) }, make.title);
  return [h("h1", {}, title, add), results];
}

const flag = (on, good, bad) => h("span", { class: `badge ${on ? "good" : "warn"}` }, on ? good : bad);

export const events = () => listing("Events", "/events", [
  ["Id", "mono", (event) => event.id], ["Code", "", (event) => event.code], ["Source", "text", (event) => event.source],
  ["Subject", "text", (event) => event.subject], ["Client", "", (event) => event.clientId], ["Taken in", "time", (event) => moment(event.createdAt)],
  ["", "", (event) => may("operator") && button("Replay", async () => {
    if (await confirm("Replay the event", "A job is made for every subscription that matches now.", "Replay")) { await post(`/events/${segment(event.id)}/replay`); toast("Replayed."); }
  })],
], { role: "producer", title: "Publish an event", fields: [
  { name: "id", label: "Id", required: true }, { name: "source", label: "Source", required: true, value: "/console" },
  { name: "type", label: "Type (application:subdomain:aggregate:event)", required: true }, { name: "subject", label: "Subject" },
  { name: "data", label: "Data (JSON)", kind: "json" }, { name: "specversion", kind: "fixed", value: "1.0" },
] });

const SUBSCRIPTION = [
  { name: "code", label: "Code", required: true, once: true }, { name: "name", label: "Name", required: true },
  { name: "eventCode", label: "Event code, * for any part", required: true }, { name: "targetUrl", label: "Target URL", required: true, kind: "url" },
  { name: "clientId", label: "Client (none: events of every client)", once: true }, { name: "serviceAccountId", label: "Service account" },
  { name: "dispatchPoolId", label: "Pool" }, { name: "mode", label: "Mode", options: ["IMMEDIATE", "NEXT_ON_ERROR", "BLOCK_ON_ERROR"] },
  { name: "maxRetries", label: "Most attempts", kind: "number" }, { name: "timeoutSeconds", label: "Timeout in seconds", kind: "number" },
];

export const subscriptions = () => listing("Subscriptions", "/subscriptions", [
  ["Code", "", (one) => one.code], ["Events", "mono", (one) => one.eventCode], ["Target", "text", (one) => one.targetUrl], ["Client", "", (one) => one.clientId],
  ["", "", (one) => [flag(!one.paused && one.active, "active", one.paused ? "paused" : "off"), one.pausedReason && ` ${one.pausedReason}`]],
  ["", "", (one) => may("operator") && h("div", { class: "row" },
    button(one.paused ? "Resume" : "Pause", () => post(`/subscriptions/${segment(one.id)}/${one.paused ? "resume" : "pause"}`)),
    button("Test", async () => { await post(`/subscriptions/${segment(one.id)}/test`); toast("A test event is on its way."); }),
    h("button", { type: "button", onclick: () => edit(`Subscription ${one.code}`, SUBSCRIPTION, one, (body) => put(`/subscriptions/${segment(one.id)}`, body).then(again)) }, "Edit"))],
], { role: "operator", title: "New subscription", fields: SUBSCRIPTION });

const POOL = [
  { name: "code", label: "Code", required: true, once: true }, { name: "name", label: "Name", required: true },
  { name: "concurrency", label: "Deliveries at once", kind: "number" }, { name: "ratePerMinute", label: "Deliveries a minute", kind: "number" },
];

export const pools = () => listing("Pools", "/pools", [
  ["Code", "", (one) => one.code], ["Name", "", (one) => one.name], ["At once", "number", (one) => one.concurrency ?? "no limit"], ["A minute", "number", (one) => one.ratePerMinute ?? "no limit"],
  ["", "", (one) => flag(!one.paused, "active", "paused")],
  ["", "", (one) => may("operator") && h("div", { class: "row" },
    button(one.paused ? "Resume" : "Pause", () => post(`/pools/${segment(one.id)}/${one.paused ? "resume" : "pause"}`)),
    h("button", { type: "button", onclick: () => edit(`Pool ${one.code}`, POOL, one, (body) => put(`/pools/${segment(one.id)}`, body).then(again)) }, "Edit"))],
], { role: "operator", title: "New pool", fields: POOL });

const secrets = (account) => Object.fromEntries(Object.entries({ "Signing secret": account.signingSecret, "Auth token": account.authToken }).filter(([, value]) => value));
const shown = (account) => { const found = secrets(account); if (Object.keys(found).length) reveal(`Credentials of ${account.code}`, found); };

export const accounts = () => listing("Service accounts", "/service-accounts", [
  ["Code", "", (one) => one.code], ["Name", "", (one) => one.name], ["Clients", "text", (one) => (one.clientIds ?? []).join(", ")],
  ["Last used", "time", (one) => moment(one.lastUsedAt)], ["", "", (one) => flag(one.active, "active", "off")],
  ["", "", (one) => may("admin") && h("div", { class: "row" },
    button("Rotate", async () => {
      if (await confirm("Make new credentials", "The old signing secret stays valid for 24 hours: deliveries carry both signatures.", "Rotate")) shown(await post(`/service-accounts/${segment(one.id)}/regenerate`));
    }),
    button(one.active ? "Deactivate" : "Activate", () => post(`/service-accounts/${segment(one.id)}/${one.active ? "deactivate" : "activate"}`), one.active ? "danger" : ""))],
], { role: "admin", title: "New account", done: shown, fields: [
  { name: "code", label: "Code", required: true }, { name: "name", label: "Name", required: true }, { name: "description", label: "Description" },
] });
