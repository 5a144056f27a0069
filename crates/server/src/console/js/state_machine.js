// Drawing of the contract's state machine, with live counts on the states.

import { h, s, setText } from "./dom.js";
import { layout } from "./state_layout.js";
import { roleTone } from "./components.js";
import { rows } from "./format.js";

const WIDE = 136,
  SLIM = 104,
  HIGH = 50,
  ROUND = 7,
  STEP = 13,
  SMALLEST = 0.85;
const ACROSS = { wide: WIDE, main: WIDE, cross: HIGH, gap: 78 };
const downward = (wide) => ({ wide, main: HIGH, cross: wide, gap: 58 });
/** With more operator moves than this the drawing is hard to read: they are only listed as text. */
const MAX_OPERATOR_ARROWS = 2;

/** Lists what operators may do: `Requeue: failed → queued`. */
function operatorMoves(moves) {
  const lines = new Map();
  for (const { from, to, verb } of moves.filter((move) => move.byHand)) {
    const key = `${verb}\n${to}`;
    lines.set(key, [...(lines.get(key) ?? []), from]);
  }
  return [...lines].map(([key, from]) => {
    const [verb, to] = key.split("\n");
    return h("li", {}, h("strong", {}, verb), ` ${from.join(", ")} → ${to}`);
  });
}

/** A drawing in a frame; `link(state)` is where a click on a state leads, `update(census)` fills in the counts. */
export function machine(states, every, link) {
  const crowded = every.filter((move) => move.byHand).length > MAX_OPERATOR_ARROWS;
  const moves = every.filter((move) => !(crowded && move.byHand));
  const frame = h("div", { class: "machine", tabindex: 0, role: "region", "aria-label": "States and transitions" });
  const counts = new Map();
  const across = layout(states, moves, ACROSS).main;
  let size = null;

  function draw() {
    const room = frame.clientWidth || across;
    const fits = room >= across ? ACROSS : downward(room < 500 ? SLIM : WIDE);
    if (size?.wide === fits.wide && size.main === fits.main) return;
    size = fits;
    const texts = new Map([...counts].map(([name, node]) => [name, node.textContent]));
    frame.replaceChildren(drawing(states, moves, link, size, counts));
    for (const [name, text] of texts) setText(counts.get(name), text);
  }

  draw();
  new ResizeObserver(draw).observe(frame);
  const update = (census) =>
    census.forEach((count) => {
      const node = counts.get(count.state);
      if (node) setText(node, rows(count.rows, count.more));
    });
  return { node: [frame, h("ul", { class: "moves" }, operatorMoves(every))], update };
}

function drawing(states, moves, link, size, counts) {
  const plan = layout(states, moves, size);
  const down = size !== ACROSS;
  const at = (point) => (down ? { x: point.cross, y: point.main } : { x: point.main, y: point.cross });
  const end = at({ main: plan.main, cross: plan.cross });
  const tip = s(
    "marker",
    { id: "tip", viewBox: "0 0 8 8", refX: 7.5, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    s("path", { d: "M0 0.5L8 4L0 7.5z" }),
  );
  const paths = plan.paths.map((path) => arrow(path, at, down));
  const svg = s(
    "svg",
    { viewBox: `0 0 ${end.x} ${end.y}`, width: end.x, role: "group", "aria-label": "State machine" },
    s("defs", {}, tip),
    paths.map((path) => path.line),
    states.map((state) => box(state, { ...at(plan.boxes.get(state.name)), wide: size.wide }, link, counts)),
    paths.map((path) => path.label),
  );
  svg.style.minWidth = `${end.x * SMALLEST}px`;
  return svg;
}

function box(state, { x, y, wide }, link, counts) {
  const count = s("text", { class: "count", x: x + 12, y: y + 39 }, "–");
  counts.set(state.name, count);
  return s(
    "a",
    { href: link(state.name), class: `state ${roleTone(state.role)}` },
    s("rect", { x, y, width: wide, height: HIGH, rx: ROUND }),
    s("rect", { class: "edge", x, y: y + 8, width: 3, height: HIGH - 16, rx: 1.5 }),
    s("text", { class: "name", x: x + 12, y: y + 20 }, short(state.name, wide)),
    s("title", {}, state.name),
    count,
  );
}

/** Shortens a name to the width of a box; capitals are wide. */
function short(name, wide) {
  let room = wide - 20;
  const fits = [...name].filter((letter) => {
    room -= /[A-Z_]/.test(letter) ? 8.6 : 6.4;
    return room > 0;
  });
  return fits.length < name.length ? `${fits.slice(0, -1).join("")}…` : name;
}

function arrow({ from, to, verbs, byHand, curve, corners, label }, at, down) {
  const kind = byHand ? "move people" : "move";
  const line = s(
    "path",
    { class: kind, d: curve ? curved(curve.map(at)) : cornered(corners.map(at)), "marker-end": "url(#tip)" },
    s("title", {}, `${from} → ${to}: ${verbs.join(", ")}`),
  );
  return { line, label: label && arrowLabel(verbs, at(label), label.side, kind, down) };
}

/**
 * The label of an arrow: the first few verbs; its title has all. It is placed beside the arrow if another one runs the
 * other way: left and right of vertical lines, otherwise above and below.
 */
function arrowLabel(verbs, { x, y }, side, kind, down) {
  const few = verbs.length > 3 ? [...verbs.slice(0, 2), `+${verbs.length - 2}`] : verbs;
  const lines = side ? few : [few.join(", ")];
  const first = down || !side ? y + 4 - ((lines.length - 1) * STEP) / 2 : side < 0 ? y - 7 - (lines.length - 1) * STEP : y + 15;
  const anchor = down && side ? (side < 0 ? "end" : "start") : "middle";
  return s(
    "text",
    { class: kind.replace("move", "verb"), "text-anchor": anchor },
    lines.map((verb, at) => s("tspan", { x: down ? x + side * 7 : x, y: first + at * STEP }, verb)),
  );
}

const pair = ({ x, y }) => `${x} ${y}`;
const curved = ([a, b, c, d]) => `M${pair(a)}C${pair(b)} ${pair(c)} ${pair(d)}`;

/** A line with rounded corners. */
function cornered(points) {
  const toward = (from, to, by) => {
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const step = Math.min(by, length / 2);
    return { x: from.x + ((to.x - from.x) * step) / length, y: from.y + ((to.y - from.y) * step) / length };
  };
  const bends = points
    .slice(1, -1)
    .map((corner, at) => `L${pair(toward(corner, points[at], 6))}Q${pair(corner)} ${pair(toward(corner, points[at + 2], 6))}`);
  return `M${pair(points[0])}${bends.join("")}L${pair(points.at(-1))}`;
}
