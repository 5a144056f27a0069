// The findings of `postrider check` for every lane's table, with the SQL that fixes them.

import { get } from "./api.js";
import { again, h } from "./dom.js";
import { button, code, empty, heading, mark, section } from "./parts.js";
import { plural } from "./words.js";

const TONES = { ok: "good", warning: "warn", error: "bad" };
const ORDER = ["error", "warning", "ok"];

export async function check() {
  const { lanes } = await get("/check");
  const all = lanes.flatMap((lane) => lane.findings);
  const amiss = all.filter((finding) => finding.level !== "ok").length;
  const under = amiss
    ? `${plural(amiss, "finding")} to review. Nothing changes until you run the SQL.`
    : "All tables match their contracts.";
  return [
    heading("Check", { actions: [button("Check again", again)], under }),
    lanes.length ? lanes.map(told) : empty("No lanes", "There is nothing to check."),
  ];
}

function told(lane) {
  const worst = ORDER.find((level) => lane.findings.some((finding) => finding.level === level)) ?? "ok";
  const sorted = [...lane.findings].sort((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level));
  return section(
    lane.name,
    h(
      "ul",
      { class: "findings" },
      sorted.map(({ level, text, mend }) =>
        h("li", {}, h("div", {}, mark(level, TONES[level]), h("span", {}, text)), mend && code(mend, "SQL to fix it")),
      ),
    ),
    { actions: worst === "ok" ? [mark("all well", "good")] : [] },
  );
}
