// Ranks of the states of a contract: their order in the drawing, from left to right.
//
// Pure. Invariant: a forward move ends at a higher rank than it starts from, unless it closes a cycle.

/** Moves back: they do not determine which state comes first. */
const BACK = /^(retr|releas|reclaim|defer)/;
/** The role at which a cycle of moves starts: waiting states come before ready ones. */
const ORDER = ["waiting", "ready", "claimed", "delivered", "failed", "ended"];

/** Forward moves, without those that close a cycle. */
function forward(states, moves) {
  const names = new Set(states.map((state) => state.name));
  const isForward = ({ from, to, verb, byHand }) => from !== to && names.has(from) && names.has(to) && !byHand && !BACK.test(verb);
  const forwardMoves = moves.filter(isForward);
  const entered = new Set(forwardMoves.map((move) => move.to));
  const first = ({ name, role }) => (entered.has(name) ? ORDER.indexOf(role) : -1);
  const kept = [];
  const [onPath, seen] = [new Set(), new Set()];
  const walk = (name) => {
    if (seen.has(name)) return;
    seen.add(name);
    onPath.add(name);
    for (const move of forwardMoves.filter(({ from }) => from === name)) {
      if (onPath.has(move.to)) continue;
      kept.push(move);
      walk(move.to);
    }
    onPath.delete(name);
  };
  for (const { name } of [...states].sort((a, b) => first(a) - first(b))) walk(name);
  return kept;
}

/** Returns the rank of each state. */
export function ranks(states, moves) {
  const forwardMoves = forward(states, moves);
  const rank = new Map(states.map((state) => [state.name, 0]));
  for (let round = 0; round < states.length; round += 1) {
    for (const { from, to } of forwardMoves) rank.set(to, Math.max(rank.get(to), rank.get(from) + 1));
  }
  const entered = new Set(forwardMoves.map((move) => move.to));
  const last = Math.max(...rank.values());
  for (const { name, role } of states) {
    if (entered.has(name)) continue;
    const leaves = forwardMoves.filter((move) => move.from === name && move.to !== name).map((move) => rank.get(move.to));
    // A state that only operators move rows to is last; one that only retries reach is before its claim.
    if (leaves.length) rank.set(name, Math.max(0, Math.min(...leaves) - 1));
    else if (role !== "ready") rank.set(name, last);
  }
  return rank;
}
