// Layout of the state machine: positions of the states, and the paths of the arrows between them.
//
// Pure: from states and moves to boxes and paths. `main` is the axis along which rows travel, `cross` the other one, so
// that the same layout reads from left to right on a wide screen and from top to bottom on a phone. Invariant: no arrow runs
// through a box; moves that skip a rank run in channels beside the boxes.

import { ranks } from "./state_ranks.js";

const LANE = 18,
  SLOT = 9,
  EDGE = 10;

/** Arrows between the same two states are one arrow with several verbs. */
function arrows(moves, rank) {
  const merged = new Map();
  for (const { from, to, verb, byHand } of moves) {
    if (from === to || !rank.has(from) || !rank.has(to)) continue;
    const key = `${from}\n${to}`;
    const arrow = merged.get(key) ?? { from, to, verbs: [], byHand: true };
    arrow.byHand &&= Boolean(byHand);
    if (!arrow.verbs.includes(verb)) arrow.verbs.push(verb);
    merged.set(key, arrow);
  }
  return [...merged.values()];
}

/** Computes boxes, paths, and the extent along both axes; `size` is { main, cross } of a box, and the `gap` between ranks. */
export function layout(states, moves, size) {
  const rank = ranks(states, moves);
  const columns = [];
  for (const state of states) (columns[rank.get(state.name)] ??= []).push(state.name);
  const used = columns.filter(Boolean);
  const tallest = Math.max(...used.map((column) => column.length));
  const depth = tallest * (size.cross + LANE * 1.5) - LANE * 1.5;
  const boxes = new Map();
  used.forEach((column, at) => {
    const free = depth - (column.length * (size.cross + LANE * 1.5) - LANE * 1.5);
    column.forEach((name, down) =>
      boxes.set(name, {
        at,
        main: EDGE + at * (size.main + size.gap),
        cross: EDGE + free / 2 + down * (size.cross + LANE * 1.5),
      }),
    );
  });
  const drawn = arrows(moves, rank);
  const near = drawn.filter(({ from, to }) => Math.abs(boxes.get(from).at - boxes.get(to).at) === 1);
  const far = drawn.filter((arrow) => !near.includes(arrow));
  const paths = [...near.map((arrow) => direct(arrow, boxes, size, near)), ...channelled(far, boxes, size, EDGE + depth + LANE)];
  const lanes = new Set(paths.map((path) => path.lane).filter((lane) => lane !== undefined)).size;
  return {
    boxes,
    paths,
    main: 2 * EDGE + used.length * size.main + (used.length - 1) * size.gap + (far.length ? SLOT * 4 : 0),
    cross: 2 * EDGE + depth + (lanes ? LANE * (lanes + 1.5) : 0),
  };
}

/** Between neighbours: a curve; where both ways are drawn, one beside the other. */
function direct(arrow, boxes, size, drawn) {
  const { from, to } = arrow;
  const [start, end] = [boxes.get(from), boxes.get(to)];
  const onward = end.at > start.at;
  const both = drawn.some((other) => other.from === to && other.to === from);
  const shift = both ? (onward ? -SLOT : SLOT) : 0;
  const a = { main: start.main + (onward ? size.main : 0), cross: start.cross + size.cross / 2 + shift };
  const b = { main: end.main + (onward ? 0 : size.main), cross: end.cross + size.cross / 2 + shift };
  const middle = (a.main + b.main) / 2;
  const curve = [a, { main: middle, cross: a.cross }, { main: middle, cross: b.cross }, b];
  // Many arrows meet at the claimed state: the label is placed nearer to the other end.
  const near = both === onward ? 0.36 : 0.64;
  return { ...arrow, curve, label: { ...along(curve, near), side: both ? (onward ? -1 : 1) : 0 } };
}

/** A point of a curve. */
function along([a, b, c, d], t) {
  const mix = (axis) =>
    (1 - t) ** 3 * a[axis] + 3 * (1 - t) ** 2 * t * b[axis] + 3 * (1 - t) * t ** 2 * c[axis] + t ** 3 * d[axis];
  return { main: mix("main"), cross: mix("cross") };
}

/** The others run out of the box, along a channel beside all boxes, and into the other box. Those with one end share it. */
function channelled(far, boxes, size, beside) {
  const channels = new Map();
  return far.map((arrow) => {
    const { from, to, verbs } = arrow;
    const [start, end] = [boxes.get(from), boxes.get(to)];
    const key = `${to}\n${verbs[0]}`;
    const first = !channels.has(key);
    if (first) channels.set(key, channels.size);
    const lane = channels.get(key);
    const out = start.main + size.main + SLOT * (1 + (lane % 4));
    const a = { main: start.main + size.main, cross: start.cross + size.cross / 2 + SLOT * (1 + (lane % 2)) };
    if (start.at === end.at) {
      const b = { main: a.main, cross: end.cross + size.cross / 2 - SLOT };
      return {
        ...arrow,
        corners: [a, { main: out, cross: a.cross }, { main: out, cross: b.cross }, b],
        label: { main: out, cross: (a.cross + b.cross) / 2, side: 0 },
      };
    }
    const cross = beside + lane * LANE;
    const into = Math.max(3, end.main - SLOT * (1 + (lane % 4)));
    const b = { main: end.main, cross: end.cross + size.cross / 2 + SLOT * (1 + (lane % 2)) };
    const corners = [
      a,
      { main: out, cross: a.cross },
      { main: out, cross },
      { main: into, cross },
      { main: into, cross: b.cross },
      b,
    ];
    return {
      ...arrow,
      lane,
      corners,
      label: first ? { main: (out + into) / 2 + ((lane % 3) - 1) * LANE, cross, side: 0 } : null,
    };
  });
}
