// The findings of `postrider check` for every lane's table, with the SQL that fixes them.

import { get } from "./api.js";
import { reloadPage, h } from "./dom.js";
import { button, code, empty, heading, badge, section } from "./components.js";
import { plural } from "./format.js";

const TONES = { ok: "good", warning: "warn", error: "bad" };
const ORDER = ["error", "warning", "ok"];

export async function check() {
  const { lanes } = await get("/check");
  const all = lanes.flatMap((lane) => lane.findings);
  const open = all.filter((finding) => finding.level !== "ok").length;
  const under = open
    ? `${plural(open, "finding")} to review. Nothing changes until you run the SQL.`
    : "All tables match their contracts.";
  return [
    heading("Check", { actions: [button("Check again", reloadPage)], under }),
    lanes.length ? lanes.map(findings) : empty("No lanes", "There is nothing to check."),
  ];
}

function findings(lane) {
  const worst = ORDER.find((level) => lane.findings.some((finding) => finding.level === level)) ?? "ok";
  const sorted = [...lane.findings].sort((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level));
  return section(
    lane.name,
    h(
      "ul",
      { class: "findings" },
      sorted.map(({ level, text, fix }) =>
        h("li", {}, h("div", {}, badge(level, TONES[level]), h("span", {}, text)), fix && code(fix, "SQL to fix it")),
      ),
    ),
    { actions: worst === "ok" ? [badge("OK", "good")] : [] },
  );
}
