// One lane: its state machine with live counts, its rows, and what may be done with them.

import { get, may, post, segment } from "./api.js";
import { confirm, h, health, state, table, toast } from "./dom.js";
import { machine } from "./plot.js";
import { moment, plural, span } from "./words.js";

export async function lane({ page, parameters }, name) {
  const here = `/lanes/${segment(name)}`;
  const about = await get(here);
  const roles = Object.fromEntries(about.states.map((one) => [one.name, one.role]));
  const { drawing, update } = machine(about.states, about.moves);
  const badge = h("span", {}, health(about.health));
  const reason = h("p", { hidden: !about.reason, class: "notice bad" }, about.reason ?? "");
  page.overview = (seen) => {
    const mine = seen.lanes.find((one) => one.name === name);
    if (!mine) return;
    update(mine.states);
    badge.replaceChildren(health(mine.health));
    reason.hidden = !mine.reason;
    reason.textContent = mine.reason ?? "";
  };
  const list = finder(page, here, about, roles, parameters);
  return [
    h("h1", {}, name, badge, may("operator") && switcher(here, about)), reason,
    h("section", { class: "card", "aria-label": "State machine" }, drawing),
    h("h2", {}, "Rows"), list,
    h("h2", {}, "Settings in force"),
    h("div", { class: "card" }, h("dl", { class: "facts" }, about.settings.map(({ key, value }) => [h("dt", {}, key), h("dd", { class: "mono" }, value)]))),
  ];
}

function switcher(here, about) {
  const paused = about.health === "paused";
  const flip = async () => {
    await post(`${here}/${paused ? "resume" : "pause"}`);
    toast(paused ? "The lane goes on." : "The lane pauses: what is under way is finished.");
    dispatchEvent(new HashChangeEvent("hashchange"));
  };
  return h("button", { type: "button", onclick: flip }, paused ? "Resume" : "Pause");
}

function finder(page, here, about, roles, parameters) {
  const chosen = new Set();
  const results = h("div", {});
  const actions = h("div", { class: "row", role: "toolbar", "aria-label": "With the selected rows" });
  const pick = (name, options, value) => h("select", { name, "aria-label": name }, options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
  const form = h("form", { class: "row", role: "search", onsubmit: (event) => { event.preventDefault(); look(); } },
    pick("state", [["", "any state"], ...about.states.map((one) => [one.name, one.name])], parameters.get("state") ?? ""),
    pick("by", about.searches.map((by) => [by, by === "error" ? "error text" : by]), "id"),
    h("input", { name: "text", type: "search", placeholder: "exact, or prefix*", "aria-label": "Search", id: "search", class: "grow", maxlength: 500 }),
    pick("order", [["newest", "newest first"], ["oldest", "oldest first"]], "newest"),
    h("button", { class: "primary" }, "Find"));

  async function look(cursor) {
    const field = Object.fromEntries(new FormData(form));
    const found = await get(`${here}/rows`, { state: field.state, order: field.order, by: field.text && field.by, text: field.text, cursor, limit: 50 });
    if (!cursor) { chosen.clear(); offer(); }
    const note = found.note && h("p", { class: "faint" }, found.note);
    const more = found.nextCursor && h("button", { type: "button", onclick: () => look(found.nextCursor) }, "Next page");
    results.replaceChildren(...[note, sheet(found.items), h("div", { class: "row end" }, cursor && h("button", { type: "button", onclick: () => look() }, "First page"), more)].flat().filter(Boolean));
  }

  function sheet(items) {
    const mark = (item) => h("input", { type: "checkbox", "aria-label": `Select ${item.id}`, onchange: (event) => { event.target.checked ? chosen.add(item.id) : chosen.delete(item.id); offer(); } });
    return table([
      ["", "", mark],
      ["Id", "mono", (item) => h("a", { href: `#${here}/rows/${segment(item.id)}` }, item.id)],
      ["State", "", (item) => state(item.state ?? "?", roles[item.state])],
      ["Attempts", "number", (item) => item.attempts],
      ["To", "text", (item) => item.target],
      ["Due", "time", (item) => (item.dueInSeconds > 0 ? `in ${span(item.dueInSeconds)}` : "")],
      ["Created", "time", (item) => moment(item.createdAt)],
      ["Error", "text", (item) => item.error && h("span", { title: item.error }, item.error)],
    ], items, (item) => ({ "data-href": `#${here}/rows/${segment(item.id)}` }));
  }

  function offer() {
    if (!may("operator")) return;
    const state = form.elements.state.value;
    const which = chosen.size ? { ids: [...chosen] } : { state };
    const verbs = about.verbs.filter((verb) => chosen.size || verb.from.includes(state));
    actions.replaceChildren(...verbs.map((verb) => h("button", { type: "button", class: verb.name === "cancel" ? "danger" : "", onclick: () => act(verb.name, which) },
      chosen.size ? `${verb.title} ${plural(chosen.size, "row")}` : `${verb.title} all in ${state}`)));
  }

  async function act(verb, which) {
    try {
      const seen = await post(`${here}/${verb}`, { ...which, preview: true });
      const count = `${plural(seen.rows, "row")}${seen.more ? " or more" : ""}`;
      if (!(await confirm(`${verb} rows`, `${count} will be moved.`, verb, verb === "cancel" ? "danger" : "primary"))) return;
      const done = await post(`${here}/${verb}`, which);
      toast(`${plural(done.rows, "row")} moved.`);
      await look();
    } catch (error) { toast(error.message, "bad"); }
  }

  form.elements.state.onchange = () => look();
  form.elements.order.onchange = () => look();
  look().catch((error) => results.replaceChildren(h("p", { class: "notice bad" }, error.message)));
  page.find = () => document.getElementById("search").focus();
  return [form, h("p", {}), actions, results];
}
