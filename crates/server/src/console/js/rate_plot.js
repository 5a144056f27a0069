// Plot of deliveries and failures per second over the last hour, with its peak and the values under the pointer.

import { h, s, setText } from "./dom.js";
import { rate } from "./format.js";

const WIDE = 600,
  HIGH = 100,
  BAND = 16,
  LEAST = 20;

/** At least ten minutes of values: before the start there was nothing. */
const padded = (values) => [...Array(Math.max(0, LEAST - values.length)).fill(0), ...values];
const across = (at, count) => (at * WIDE) / Math.max(1, count - 1);
const points = (values, most) =>
  values.map((value, at) => `${across(at, values.length).toFixed(1)} ${(HIGH - (HIGH * value) / most).toFixed(1)}`);

/** Failures have their own scale, below the line: a few among thousands must be visible. */
function bars(values) {
  const most = Math.max(...values),
    wide = WIDE / Math.max(1, values.length);
  return values
    .map((value, at) => {
      if (!(value > 0)) return "";
      const high = Math.max(5, (BAND * value) / most);
      return `M${(at * wide).toFixed(1)} ${HIGH + 4}h${(wide * 0.8).toFixed(1)}v${high.toFixed(1)}h-${(wide * 0.8).toFixed(1)}z`;
    })
    .join("");
}

/** The plot of a lane; `update` redraws it in place. */
export function plot(name) {
  const area = s("path", { class: "area" }),
    line = s("path", { class: "line" }),
    failed = s("path", { class: "failed" });
  const hair = s("line", { class: "hair", y1: 0, y2: HIGH, visibility: "hidden" });
  const drawing = s(
    "svg",
    { viewBox: `0 0 ${WIDE} ${HIGH + BAND + 4}`, preserveAspectRatio: "none", role: "img", "aria-label": name },
    s("line", { class: "base", x1: 0, x2: WIDE, y1: HIGH, y2: HIGH }),
    area,
    line,
    failed,
    hair,
  );
  const peak = h("span", { class: "peak" }),
    here = h("span", { class: "here" }),
    start = h("span", {});
  const node = h(
    "figure",
    { class: "plot" },
    h("div", { class: "legend" }, h("span", {}, "delivered"), h("span", { class: "swatch-bad" }, "failed"), peak),
    drawing,
    h("figcaption", {}, start, here, h("span", {}, "now")),
  );
  let seen = { delivered: [], failed: [], stepSeconds: 30 };

  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const last = seen.delivered.length - 1;
    const at = Math.round((last * (event.clientX - box.left)) / box.width);
    if (last < 1 || at < 0 || at > last) return;
    const x = across(at, last + 1);
    for (const [key, value] of [
      ["x1", x],
      ["x2", x],
      ["visibility", "visible"],
    ])
      hair.setAttribute(key, value);
    const minutes = Math.round(((last - at) * seen.stepSeconds) / 60);
    setText(here, `${minutes ? `${minutes} min ago` : "now"}: ${rate(seen.delivered[at])}/s, failed ${rate(seen.failed[at])}/s`);
  });
  drawing.addEventListener("pointerleave", () => {
    hair.setAttribute("visibility", "hidden");
    setText(here, "");
  });

  function update(history) {
    seen = {
      ...history,
      delivered: padded(history.delivered),
      failed: padded(history.failed),
    };
    const most = Math.max(0, ...seen.delivered);
    const path = most > 0 ? points(seen.delivered, most * 1.05) : [];
    line.setAttribute("d", path.length ? `M${path.join("L")}` : "");
    area.setAttribute("d", path.length ? `M0 ${HIGH}L${path.join("L")}L${WIDE} ${HIGH}Z` : "");
    failed.setAttribute("d", bars(seen.failed));
    setText(start, `${Math.round((seen.delivered.length * seen.stepSeconds) / 60)} min ago`);
    setText(peak, most > 0 ? `peak ${rate(most)}/s` : "no deliveries in the last hour");
    drawing.setAttribute("aria-label", `${name}: deliveries per second, at most ${rate(most)} in the last hour`);
  }
  return { node, update };
}
