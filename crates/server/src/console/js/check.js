// What `postrider check` says, with the statements that would mend it.

import { get } from "./api.js";
import { h, toast } from "./dom.js";

const TONES = { ok: "good", warning: "warn", error: "bad" };

export async function check() {
  const { lanes } = await get("/check");
  return [h("h1", {}, "Check"), lanes.map((lane) => h("section", { class: "card" }, h("h2", {}, lane.lane), lane.findings.map(finding))), h("p", {})].flat();
}

function finding({ level, text, mend }) {
  const copy = async () => { await navigator.clipboard.writeText(mend); toast("Copied."); };
  return h("div", {}, h("p", {}, h("span", { class: `badge ${TONES[level]}` }, level), " ", text),
    mend && h("div", { class: "row" }, h("pre", { class: "grow", tabindex: 0 }, mend), h("button", { type: "button", onclick: copy }, "Copy")));
}
