// Small plots and the state machine, as drawings that need no library.

import { s } from "./dom.js";
import { rows } from "./words.js";

const path = (values, most) => {
  const step = 100 / Math.max(1, values.length - 1);
  return values.map((value, at) => `${at ? "L" : "M"}${(at * step).toFixed(2)} ${(38 - (34 * value) / most).toFixed(2)}`).join("");
};

/** Delivered and failed a second over the last hour. */
export function plot(delivered, failed, label) {
  const most = Math.max(1, ...delivered, ...failed);
  const line = path(delivered, most);
  return s("svg", { class: "plot", viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": label },
    s("path", { class: "area", d: `${line}L100 40L0 40Z` }), s("path", { class: "line", d: line }),
    failed.some((value) => value > 0) && s("path", { class: "bad", d: path(failed, most) }));
}

const WIDTH = 150, HEIGHT = 54, GAP = 90, DOWN = 34;
const COLUMN = { waiting: 0, ready: 0, retry: 0, claimed: 1, delivered: 2, dead: 2, cancelled: 2, other: 2 };

/** The contract's states as boxes, its moves as arrows; `counts` fills in live figures. */
export function machine(states, moves) {
  const columns = [[], [], []];
  states.forEach((state) => columns[COLUMN[state.role] ?? 2].push(state));
  const place = new Map();
  columns.forEach((column, x) => column.forEach((state, y) =>
    place.set(state.name, { x: 10 + x * (WIDTH + GAP), y: 16 + y * (HEIGHT + DOWN) })));
  const tallest = Math.max(...columns.map((column) => column.length));
  const width = 20 + 3 * WIDTH + 2 * GAP, height = tallest * (HEIGHT + DOWN);
  const counts = new Map();
  const boxes = states.map((state) => {
    const { x, y } = place.get(state.name);
    const count = s("text", { class: "count", x: x + WIDTH - 10, y: y + 33, "text-anchor": "end" });
    counts.set(state.name, count);
    return s("g", { class: state.role }, s("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 8 }),
      s("text", { x: x + 10, y: y + 33 }, state.name), count);
  });
  const arrows = moves.filter((move) => place.has(move.from) && place.has(move.to) && move.from !== move.to)
    .map((move) => arrow(place.get(move.from), place.get(move.to), move.verb));
  const head = s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    s("path", { d: "M0 0L8 4L0 8z" })));
  const label = `States: ${states.map((state) => state.name).join(", ")}`;
  const drawing = s("svg", { class: "machine", viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": label }, head, arrows, boxes);
  const update = (census) => census.forEach((count) => {
    const text = counts.get(count.state);
    if (text) text.textContent = rows(count.rows, count.more);
  });
  return { drawing, update };
}

function arrow(from, to, verb) {
  const right = to.x > from.x, left = to.x < from.x;
  const start = { x: right ? from.x + WIDTH : left ? from.x : from.x + WIDTH / 2, y: from.y + HEIGHT / 2 + (left ? 10 : right ? -6 : HEIGHT / 2) };
  const end = { x: right ? to.x : left ? to.x + WIDTH : to.x + WIDTH / 2, y: to.y + HEIGHT / 2 + (left ? 10 : right ? -6 : (to.y > from.y ? -HEIGHT / 2 : HEIGHT / 2)) };
  const middle = (start.x + end.x) / 2;
  const far = Math.abs(end.x - start.x) > WIDTH + GAP;
  // A long way back goes around the box between.
  if (far) {
    const low = Math.max(start.y, end.y) + HEIGHT / 2 + 8;
    const bent = `M${start.x} ${start.y}C${start.x - 40} ${low} ${end.x + 40} ${low} ${end.x + 12} ${end.y + 14}L${end.x} ${end.y}`;
    return s("g", {}, s("path", { d: bent, "marker-end": "url(#tip)" }), s("text", { class: "verb", x: middle, y: low - 12, "text-anchor": "middle" }, verb));
  }
  const d = right || left ? `M${start.x} ${start.y}C${middle} ${start.y} ${middle} ${end.y} ${end.x} ${end.y}` : `M${start.x} ${start.y}L${end.x} ${end.y}`;
  return s("g", {}, s("path", { d, "marker-end": "url(#tip)" }),
    s("text", { class: "verb", x: middle, y: (start.y + end.y) / 2 - 5, "text-anchor": "middle" }, verb));
}
